"""The nights of a fleet in each way: the same proposals, nothing lost, and what a file costs.

    python -m benchmarks.fleet [--files 200] [--memories 48] [--only WAYS] [--again]

Each way begins with a copy of the same files. What a way came to is kept in the folder, so that
one that was ended goes on with the ways that are left. Ends with 1 if something is not as it
should be, each said in a sentence. What a fleet adds to a file's night is no reason: it stands
beside what was wished for, measured by `--only "overhead,overhead in a bucket"`. Needs
`slowwave[fleet]`, moto, and ray for what is done on Ray.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import sys
from collections.abc import Callable, Mapping
from dataclasses import asdict
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from . import kills, money, nights, overhead, uploads
from .commands import Failed
from .files import make_files
from .trial import Found, Trial

_FOLDER = Path("build/bench-fleet")
_BY_THEMSELVES: Mapping[str, Callable[[Trial], Found]] = {
    "overhead": overhead.in_place,
    "overhead in a bucket": overhead.in_bucket,
}
# "serially" comes first if any other is compared with it.
WAYS: Mapping[str, Callable[[Trial], Found]] = {
    "serially": nights.serially,
    "one worker": nights.one_worker,
    "two processes": nights.two_processes,
    "two shards": nights.shards,
    "Ray": nights.on_ray,
    "a bucket": nights.in_bucket,
    "kills": kills.of_processes,
    "kills on Ray": kills.on_ray,
    "kills in a bucket": kills.in_bucket,
    "uploads": uploads.between,
    "money": money.of_processes,
    "money on Ray": money.on_ray,
    **_BY_THEMSELVES,
}


def main() -> None:
    """Do what is left of all ways, and say what each came to."""
    chosen = _parser().parse_args()
    folder: Path = (chosen.folder / f"{chosen.files}x{chosen.memories}").absolute()
    if chosen.again:
        shutil.rmtree(folder, ignore_errors=True)
    trial = Trial(folder, chosen.repeats)
    if not trial.files.is_dir():
        make_files(trial.files, chosen.files, chosen.memories)
    _say(f"{chosen.files} files of {chosen.memories} memories in {folder}, {os.cpu_count()} cores.")
    wanted = chosen.only.split(",") if chosen.only else list(WAYS)
    found: dict[str, Found] = {}
    compared = set(wanted) - {*_BY_THEMSELVES}
    for way in dict.fromkeys([*(["serially"] if compared else []), *wanted]):
        found[way] = _kept(trial, way) or _come_to(trial, way)
        _tell(way, found[way])
    wrong = [way for way, item in found.items() if item.faults]
    _say(f"NOT as it should be: {', '.join(wrong)}." if wrong else "All is as it should be.")
    sys.exit(bool(wrong))


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.fleet")
    parser.add_argument("--files", type=int, default=200)
    parser.add_argument("--memories", type=int, default=48)
    parser.add_argument("--repeats", type=int, default=2, help="nights that are measured")
    parser.add_argument("--folder", type=Path, default=_FOLDER, help="where the files lie")
    parser.add_argument("--only", metavar="WAYS", help=f"some of {', '.join(WAYS)}; by commas")
    parser.add_argument("--again", action="store_true", help="forget what is done already")
    return parser


def _kept(trial: Trial, way: str) -> Found | None:
    """Return what a way came to before."""
    kept = _results(trial).get(way)
    return None if kept is None else Found(kept["figures"], kept["faults"])


def _come_to(trial: Trial, way: str) -> Found:
    """Go a way, and keep what it came to; not where it could not be gone to its end."""
    began = datetime.now(UTC)
    try:
        found = WAYS[way](trial)
    except Failed as error:
        return Found(faults=[str(error)])
    told = {"began": f"{began:%Y-%m-%d %H:%M}Z", "load": f"{os.getloadavg()[1]:.1f}"}
    found = Found(found.figures | told, found.faults)
    results = _results(trial) | {way: asdict(found)}
    made = trial.folder / "results.new"
    made.write_text(json.dumps(results, indent=1))
    made.replace(trial.folder / "results.json")
    return found


def _results(trial: Trial) -> dict[str, Any]:
    path = trial.folder / "results.json"
    found: dict[str, Any] = json.loads(path.read_text()) if path.exists() else {}
    return found


def _tell(way: str, found: Found) -> None:
    verdict = "NOT as it should be" if found.faults else "as it should be"
    figures = "; ".join(f"{name}: {value}" for name, value in found.figures.items())
    _say(f"{way}: {verdict}. {figures}")
    for fault in found.faults[:10]:
        _say(f"  {fault}")
    if len(found.faults) > 10:
        _say(f"  and {len(found.faults) - 10} more")


def _say(line: str) -> None:
    """Write a line at once: the whole takes a while."""
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()


if __name__ == "__main__":
    main()
