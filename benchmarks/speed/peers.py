"""Clustering by slowwave and by its peers: the same vectors, in the same run, by turns.

    python -m benchmarks.speed.peers [--size 10000] [--rounds 5]

Each peer has a virtual environment of its own under build/, made here, and each of its rounds a
process of its own. Only the call is timed (calls_of_peers.py), without imports and loading.
"""

from __future__ import annotations

import argparse
import json
import shutil
import sys
import time
import venv
from collections.abc import Iterator, Sequence
from pathlib import Path
from statistics import median

from rich.console import Console
from rich.table import Table

from benchmarks.quality.bench import ROOT, Json

from .processes import run, step
from .report import introduction

OUTPUT = ROOT / "build" / "bench-peers.json"
_CALLS = Path(__file__).with_name("calls_of_peers.py")
_LEARN = ("numpy==2.4.6", "scikit-learn==1.9.1", "scipy==1.17.1")
# Per peer, what is installed without its dependencies, and what its import really needs.
_INSTALLED: dict[str, tuple[tuple[str, ...], tuple[str, ...]]] = {
    "DBSCAN": ((), _LEARN),
    "HDBSCAN": ((), _LEARN),
    "mcp-memory-service": (("mcp-memory-service==12.4.0",), _LEARN),
    "consolidation-memory": (
        ("consolidation-memory==0.20.1",),
        (*_LEARN, "faiss-cpu==1.12.0", "platformdirs==4.14.7", "httpx==0.28.1"),
    ),
}
PEERS = ("slowwave", *_INSTALLED)
# What is to be reached at 10,000: slowwave's share of a peer's time, and of its peak memory.
GOALS = {"DBSCAN": (1 / 2, 1 / 4), "mcp-memory-service": (1 / 5, 1 / 6)}


def main(arguments: Sequence[str] | None = None) -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.speed.peers", description=__doc__)
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    parser.add_argument("--size", type=int, default=10_000, help="how many vectors")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--similarity", type=float, default=0.60, help="slowwave's for synthesis")
    parser.add_argument("--only", default=",".join(PEERS), help="some of the peers")
    parser.add_argument("--output", type=Path, default=OUTPUT, help="the JSON to write")
    chosen = parser.parse_args(arguments)
    results: Json = {
        "environment": step("about", Path()),
        "rounds": chosen.rounds,
        "size": chosen.size,
        "similarity": chosen.similarity,
        "installed": {name: [*own, *needed] for name, (own, needed) in _INSTALLED.items()},
        "peers": {name: [] for name in chosen.only.split(",")},
    }
    pythons = {name: _python(chosen.output.parent / "peers", name) for name in results["peers"]}
    folder = chosen.output.parent / "speed" / f"peers-{chosen.size}"
    step("make", folder, chosen.size)
    try:
        for number in range(chosen.rounds):
            for name, rounds in results["peers"].items():
                sys.stderr.write(f"{time.strftime('%H:%M:%S')} round {number + 1}: {name}\n")
                command = [pythons[name], str(_CALLS), name, str(folder), str(chosen.similarity)]
                # Peers write what they like: the figures are the last line.
                rounds.append(json.loads(run(command)[0].splitlines()[-1]))
            chosen.output.write_text(json.dumps(results, indent=1) + "\n", "utf-8")
    finally:
        shutil.rmtree(folder)
    console = Console(width=150)
    console.print(introduction(results), highlight=False)
    console.print(*tables(results))
    console.print(f"the figures are in {chosen.output}", soft_wrap=True)


def tables(results: Json) -> Iterator[Table]:
    """Yield what each took, and slowwave's share of it, round by round."""
    size, similarity = results["size"], results["similarity"]
    table = Table(
        "median (lowest to highest)",
        "seconds",
        "processor seconds",
        "MiB at the most",
        "MiB above what was loaded",
        "clusters",
        title=f"clustering {size:,} vectors at similarity {similarity}",
    )
    for name, rounds in results["peers"].items():
        cells = [
            _spread([round[key] / unit for round in rounds])
            for key, unit in (
                ("seconds", 1),
                ("processor", 1),
                ("peak", 2**20),
                ("above", 2**20),
            )
        ]
        table.add_row(name, *cells, f"{rounds[-1]['clusters']:,}")
    yield table
    ours = results["peers"].get("slowwave")
    if ours is None:
        return
    table = Table(
        "slowwave's share of",
        "time",
        "processor time",
        "peak memory",
        "memory above what was loaded",
        "goal: time, memory",
    )
    for name, rounds in results["peers"].items():
        if name != "slowwave":
            shares = [
                _spread([own[key] / peer[key] for own, peer in zip(ours, rounds, strict=True)])
                for key in ("seconds", "processor", "peak", "above")
            ]
            goal = ", ".join(f"{item:.2f}" for item in GOALS.get(name, ()))
            table.add_row(name, *shares, goal)
    yield table


def _spread(values: Sequence[float]) -> str:
    middle, low, high = (f"{item:,.{0 if item >= 100 else 2}f}" for item in _three(values))
    return f"{middle} ({low} to {high})"


def _three(values: Sequence[float]) -> tuple[float, float, float]:
    return median(values), min(values), max(values)


def _python(folder: Path, name: str) -> str:
    """Return the interpreter of a peer's environment, made if it is not there as it should be."""
    if name not in _INSTALLED:
        return sys.executable
    alone, needed = _INSTALLED[name]
    place = folder / name
    python = place / "bin" / "python"
    ready = place / "ready"
    wanted = "\n".join((*alone, *needed))
    if not ready.is_file() or ready.read_text("utf-8") != wanted:
        sys.stderr.write(f"making the environment of {name}\n")
        venv.create(place, clear=True, with_pip=True)
        pip = [str(python), "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
        run([*pip, *needed])
        if alone:
            run([*pip, "--no-deps", *alone])
        ready.write_text(wanted, "utf-8")
    return str(python)


if __name__ == "__main__":
    main()
