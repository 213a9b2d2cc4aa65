"""Run the nights of a fleet with each engine: correctness, and the cost per file.

    python -m benchmarks.fleet [--files 200] [--memories 48] [--only NAMES] [--again]

Each measurement starts with a copy of the same files. Results are saved in the folder, so that an
interrupted benchmark resumes with the measurements that are missing. Exits with 1 if there is a
fault; each is printed as a sentence. `--only "overhead,overhead in a bucket"` compares the time
that a fleet adds to a night with its goal; missing it is not a fault. Needs `slowwave[fleet]`,
moto, and ray for the measurements on Ray.
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

from . import kills, money, nights, overhead, uploads
from .commands import Failed
from .files import make_files
from .trial import Result, Trial

_FOLDER = Path("build/bench-fleet")
_MAX_FAULTS_SHOWN = 10
# These are not compared with "serially", which is measured before any other.
_INDEPENDENT: Mapping[str, Callable[[Trial], Result]] = {
    "overhead": overhead.in_place,
    "overhead in a bucket": overhead.in_bucket,
}
MEASUREMENTS: Mapping[str, Callable[[Trial], Result]] = {
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
    **_INDEPENDENT,
}


def main() -> None:
    """Run the measurements without a saved result, and print all results."""
    args = _parser().parse_args()
    folder: Path = (args.folder / f"{args.files}x{args.memories}").absolute()
    if args.again:
        shutil.rmtree(folder, ignore_errors=True)
    trial = Trial(folder, args.repeats)
    if not trial.files.is_dir():
        make_files(trial.files, args.files, args.memories)
    _print(f"{args.files} files of {args.memories} memories in {folder}, {os.cpu_count()} cores.")
    names = args.only.split(",") if args.only else list(MEASUREMENTS)
    if set(names) - _INDEPENDENT.keys():
        names.insert(0, "serially")
    faulty = []
    for name in dict.fromkeys(names):
        result = _read_saved(trial).get(name) or _measure(trial, name)
        _print_result(name, result)
        if result.faults:
            faulty.append(name)
    _print(f"FAULTS in: {', '.join(faulty)}." if faulty else "No faults.")
    sys.exit(bool(faulty))


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.fleet")
    parser.add_argument("--files", type=int, default=200)
    parser.add_argument("--memories", type=int, default=48)
    parser.add_argument("--repeats", type=int, default=2, help="number of nights per measurement")
    parser.add_argument("--folder", type=Path, default=_FOLDER, help="the folder of the files")
    parser.add_argument("--only", metavar="NAMES", help=f"among {', '.join(MEASUREMENTS)}")
    parser.add_argument("--again", action="store_true", help="discard saved results")
    return parser


def _measure(trial: Trial, name: str) -> Result:
    """Run a measurement, and save its result unless a command failed."""
    started = datetime.now(UTC)
    try:
        result = MEASUREMENTS[name](trial)
    except Failed as error:
        return Result(faults=[str(error)])
    load = {"started": f"{started:%Y-%m-%d %H:%M}Z", "load": f"{os.getloadavg()[1]:.1f}"}
    result = Result(result.figures | load, result.faults)
    results = _read_saved(trial) | {name: result}
    new = trial.folder / "results.new"
    new.write_text(json.dumps({name: asdict(saved) for name, saved in results.items()}, indent=1))
    new.replace(trial.folder / "results.json")
    return result


def _read_saved(trial: Trial) -> dict[str, Result]:
    path = trial.folder / "results.json"
    saved = json.loads(path.read_text()) if path.exists() else {}
    return {name: Result(**result) for name, result in saved.items()}


def _print_result(name: str, result: Result) -> None:
    verdict = "FAULTS" if result.faults else "no faults"
    figures = "; ".join(f"{figure}: {value}" for figure, value in result.figures.items())
    _print(f"{name}: {verdict}. {figures}")
    for fault in result.faults[:_MAX_FAULTS_SHOWN]:
        _print(f"  {fault}")
    if len(result.faults) > _MAX_FAULTS_SHOWN:
        _print(f"  and {len(result.faults) - _MAX_FAULTS_SHOWN} more")


def _print(line: str) -> None:
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()


if __name__ == "__main__":
    main()
