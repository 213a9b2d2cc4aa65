"""Compare slowwave and its peers on the same file, from the import to a result.

    python -m benchmarks.speed.peers [--sizes 1000,5000] [--rounds 3] [--dream dream.py]

Peers take turns in each round. Each has its own virtual environment in build/, and each round runs
in a new process, whose imports count, too. `dream` is a single file, github.com/Da7-Tech/dream.
"""

from __future__ import annotations

import argparse
import shutil
import sys
import venv
from collections.abc import Sequence
from pathlib import Path
from statistics import median

from benchmarks.quality.bench import Json

from .machine import BUILD, about, run, step

_CALLS = Path(__file__).with_name("calls_of_peers.py")
_LEARN = ("numpy==2.4.6", "scikit-learn==1.9.1", "scipy==1.17.1")
# For each peer, packages installed without dependencies, and those that its import needs.
_INSTALLED: dict[str, tuple[tuple[str, ...], tuple[str, ...]]] = {
    "DBSCAN": ((), _LEARN),
    "semhash": ((), ("semhash==0.5.0",)),
    "mcp-memory-service": (("mcp-memory-service-lite==12.4.0",), _LEARN),
    "consolidation-memory": (
        ("consolidation-memory==0.20.1",),
        (*_LEARN, "faiss-cpu==1.12.0", "platformdirs==4.14.7", "httpx==0.28.1"),
    ),
}


def main() -> None:
    """Print a table in Markdown."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.speed.peers", description=__doc__)
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    parser.add_argument("--sizes", default="1000,5000", help="numbers of memories")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--dream", type=Path, help="dream.py; without it, dream is not measured")
    args = parser.parse_args()
    machine = about()
    pythons = {"slowwave": Path(sys.executable)}
    if args.dream is not None:
        pythons["dream"] = pythons["slowwave"]
    pythons |= {name: _python(name) for name in _INSTALLED}
    sizes = [int(size) for size in args.sizes.split(",")]
    cells = {name: [name] for name in pythons}
    for size in sizes:
        for name, rounds in _measure(pythons, size, args.rounds, args.dream).items():
            cells[name] += [_format(rounds)]
    head = ["", *(f"{size:,} memories" for size in sizes)]
    rows = [head, ["---"] * len(head), *cells.values()]
    sys.stdout.write(f"{machine}\n\n")
    sys.stdout.writelines(f"| {' | '.join(row)} |\n" for row in rows)


def _measure(
    pythons: dict[str, Path], size: int, rounds: int, dream: Path | None
) -> dict[str, list[Json]]:
    """Return the figures of each peer's rounds."""
    folder = BUILD / f"peers-{size}"
    step("make", folder, size)
    file = folder / "with-vectors.jsonl"
    step("with vectors", folder, file)
    results: dict[str, list[Json]] = {name: [] for name in pythons}
    for _ in range(rounds):
        for name, python in pythons.items():
            command = [python, _CALLS, name, file]
            output, figures = run(command, {"DREAM": str(dream)})
            results[name].append(figures | {"result": output.splitlines()[-1]})
    shutil.rmtree(folder)
    return results


def _format(rounds: Sequence[Json]) -> str:
    processor, seconds = (
        median(figures[key] for figures in rounds) for key in ("processor", "seconds")
    )
    peak = max(figures["peak"] for figures in rounds) / 2**30
    return (
        f"{processor:.1f} s, {seconds:.1f} s of wall clock, {peak:.2f} GB; {rounds[-1]['result']}"
    )


def _python(name: str) -> Path:
    """Return the interpreter of a peer's environment, which is created or updated if needed."""
    standalone, needed = _INSTALLED[name]
    folder = BUILD / "peers" / name
    python, ready = folder / "bin" / "python", folder / "ready"
    wanted = "\n".join((*standalone, *needed))
    if not ready.is_file() or ready.read_text("utf-8") != wanted:
        sys.stderr.write(f"Creating the environment of {name}.\n")
        venv.create(folder, clear=True, with_pip=True)
        pip = [python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
        run([*pip, *needed])
        if standalone:
            run([*pip, "--no-deps", *standalone])
        ready.write_text(wanted, "utf-8")
    return python


if __name__ == "__main__":
    main()
