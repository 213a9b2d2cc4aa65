"""Measure the speed and memory of slowwave, and print the table of docs/performance.md.

    python -m benchmarks.speed [--only PART,...] [--rounds N]

Each command runs in a separate process, on memories that data.py generates. Figures are medians of
the rounds; nights on 100,000 memories, nights with a model and the setup run once.
"""

from __future__ import annotations

import argparse
import shutil
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from statistics import median

from benchmarks.quality.bench import ROOT, Json
from benchmarks.scripted_model import scripted_model

from .machine import BUILD, about, run, slowwave, step
from .report import DEFAULT, page

# The seconds per answer of the scripted model, and its maximum number of requests.
_ANSWER_S = 2.0
_MAX_REQUESTS = 10_000


def main() -> None:
    """Measure the chosen parts, and print the table."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.speed", description=__doc__)
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    parser.add_argument("--only", default=",".join(DEFAULT), help=f"among {', '.join(PARTS)}")
    parser.add_argument("--rounds", type=int, default=3, help="number of measurements per figure")
    args = parser.parse_args()
    machine = about()
    measured: dict[str, list[str]] = {}
    for part in args.only.split(","):
        start = time.monotonic()
        folder = BUILD / part
        shutil.rmtree(folder, ignore_errors=True)
        try:
            for figure in PARTS[part](folder, args.rounds):
                measured.setdefault(part, []).append(figure)
                sys.stderr.write(f"{part}: {figure}\n")
        except RuntimeError as error:
            sys.stderr.write(f"{error}\n")
        shutil.rmtree(folder, ignore_errors=True)
        sys.stderr.write(f"{part}: measured in {time.monotonic() - start:.0f} s\n")
    sys.stdout.write(f"{page(machine, measured)}\n")


def small(folder: Path, rounds: int) -> Iterator[str]:
    """Yield the figures of nights on 10,000 memories, and of dry runs compared with DBSCAN."""
    file = _filled(folder, 10_000)
    yield from _nights(file, rounds)
    yield _compare(
        rounds,
        lambda: slowwave("maintain", file, "--dry-run"),
        lambda: step("DBSCAN", folder),
        lambda ours, theirs: f"{ours / theirs:.1f} ({ours:.1f} s and {theirs:.1f} s)",
    )
    few = _filled(folder / "few", 1_000)
    imports = "import sklearn.cluster; sklearn.cluster.DBSCAN"
    yield _compare(
        rounds,
        lambda: slowwave("maintain", few, "--dry-run"),
        lambda: run([sys.executable, "-c", imports])[1],
        lambda ours, theirs: f"{ours - theirs:.1f} s ({ours:.1f} s and {theirs:.1f} s)",
    )


def large(folder: Path, rounds: int) -> Iterator[str]:
    """Yield the figures of nights on 100,000 memories, and of commands on their file."""
    yield from _nights(_filled(folder, 100_000), 1)
    file = folder / "night-0.db"
    commands: Sequence[Sequence[str | Path]] = (
        ("--version",),
        ("list", file),
        ("show", file, _first_id(folder)),
        ("log", file, "--stats"),
        ("recall", file, "When is the wiki backed up?"),
    )
    for command in commands:
        yield _format([slowwave(*command) for _ in range(rounds)])
    search = step("recall", file)
    yield f"{1_000 * search['median']:.0f} ms, at most {1_000 * search['slowest']:.0f} ms"
    yield _format([slowwave("add", file, f"Rack {number} is full.") for number in range(rounds)])


def model(folder: Path, rounds: int) -> Iterator[str]:
    """Yield the figures of a night on 10,000 memories with a scripted model."""
    file = _filled(folder, 10_000)
    embedded = step("embed", folder, 1_000)
    yield (
        f"{embedded['a processor second']:.0f} a second, {embedded['a second']:.0f} by wall clock"
    )
    with scripted_model(_ANSWER_S, _MAX_REQUESTS) as server:
        options = ("--model", "openai/scripted", "--api-base", server.base)
        night = slowwave("maintain", file, *options, OPENAI_API_KEY="none")
    idle = night["seconds"] - _busy_seconds(server.moments)
    calls = sum(end - start for start, end in server.moments)
    yield (
        f"{100 * idle / night['seconds']:.0f}% of {night['seconds']:.0f} s; "
        f"{len(server.moments)} answers, {calls / _busy_seconds(server.moments):.1f} at a time"
    )
    yield f"{min(start for start, _ in server.moments) - night['start']:.1f} s"
    yield f"{100 * server.cacheable:.0f}%"


def setup(folder: Path, rounds: int) -> Iterator[str]:
    """Yield the figures of the demo in a new clone, including downloads."""
    run(["git", "clone", "--quiet", ROOT, folder])
    yield _format([run(["make", "--directory", folder, f"PYTHON={sys.executable}", "demo"])[1]])


def million(folder: Path, rounds: int) -> Iterator[str]:
    """Yield the figures of clustering 1,000,000 vectors."""
    path = folder / "vectors.npy"
    step("make vectors", path, 1_000_000)
    clustered = step("cluster", path)
    pairs, share = clustered["pairs"], 100 * clustered["found"]
    yield f"{_format([clustered])}; {pairs:,} pairs, {share:.2f}% of all"


PARTS: Mapping[str, Callable[[Path, int], Iterator[str]]] = {
    "small": small,
    "large": large,
    "model": model,
    "setup": setup,
    "million": million,
}


def _filled(folder: Path, count: int) -> Path:
    """Create a file with a number of memories and their vectors."""
    step("make", folder, count)
    file = folder / "memory.db"
    slowwave("import", file, folder / "memories.jsonl")
    step("vectors", file, "memories")
    return file


def _nights(file: Path, rounds: int) -> Iterator[str]:
    """Yield the figures of a first night, of the next one, and of one with new memories.

    Each round uses a copy of the file: `night-0.db` and so on.
    """
    first, second, third = [], [], []
    for number in range(rounds):
        night = file.with_name(f"night-{number}.db")
        shutil.copyfile(file, night)
        first.append(slowwave("maintain", night))
        second.append(slowwave("maintain", night))
        slowwave("import", night, file.with_name("later.jsonl"))
        step("vectors", night, "later")
        third.append(slowwave("maintain", night))
    yield _format(first)
    for later in (second, third):
        share = _median(later, "processor") / _median(first, "processor")
        yield f"{100 * share:.1f}%: {_format(later)}"


def _compare(
    rounds: int,
    ours: Callable[[], Json],
    theirs: Callable[[], Json],
    format: Callable[[float, float], str],
) -> str:
    pairs = [(ours(), theirs()) for _ in range(rounds)]
    return format(*(_median(side, "processor") for side in zip(*pairs, strict=True)))


def _format(rounds: Sequence[Json]) -> str:
    processor, seconds = (_median(rounds, key) for key in ("processor", "seconds"))
    peak = max(figures["peak"] for figures in rounds) / 2**30
    return f"{processor:.2f} s, {seconds:.2f} s of wall clock, {peak:.2f} GB"


def _median(rounds: Sequence[Json], key: str) -> float:
    return float(median(figures[key] for figures in rounds))


def _busy_seconds(moments: Sequence[tuple[float, float]]) -> float:
    """Return the time during which at least one answer was pending."""
    seconds, last_end = 0.0, 0.0
    for start, end in sorted(moments):
        seconds += max(0.0, end - max(start, last_end))
        last_end = max(last_end, end)
    return seconds


def _first_id(folder: Path) -> str:
    return (folder / "memories.ids.json").read_text("utf-8").split('"')[1]


if __name__ == "__main__":
    main()
