"""Nights of the same files with each engine: applied proposals, and the cost per file."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from .bucket import bucket
from .commands import Measurement, measure, measure_parallel
from .files import applied_in, differences, faults_in, paths_in
from .trial import RECEIPTS, Result, Trial, command, count_outcomes, fastest, two_shards


def serially(trial: Trial) -> Result:
    """Run `slowwave maintain` on all files in one process."""
    nights = []
    for _ in range(trial.repeats):
        place = trial.copy("serially")
        maintain = ["maintain", *map(str, paths_in(place)), "--consolidate", "--quiet"]
        nights.append([measure(maintain)])
    trial.expect(applied_in(place))
    return Result(_costs(trial, nights))


def one_worker(trial: Trial) -> Result:
    """Run a fleet without worker processes."""
    return _in_folder(trial, "one-worker", ["--workers", "1"])


def two_processes(trial: Trial) -> Result:
    """Run a fleet with two worker processes."""
    return _in_folder(trial, "two-processes", ["--workers", "2"])


def shards(trial: Trial) -> Result:
    """Run two shards in parallel."""
    return _in_folder(trial, "two-shards", None)


def on_ray(trial: Trial) -> Result:
    """Run a fleet with two Ray workers."""
    return _in_folder(trial, "ray", ["--workers", "2", "--engine", "ray"])


def in_bucket(trial: Trial) -> Result:
    """Run a fleet with one worker on a bucket on loopback."""
    paths = paths_in(trial.files)
    with bucket("nights") as remote:
        nights = []
        for number in range(trial.repeats):
            remote.upload(paths)
            receipts = f"{remote.address}/.receipts-{number}"
            night = [command(remote.address, "--workers", "1", "--receipts", receipts)]
            nights.append(measure_parallel(night))
        remote.requests.clear()
        second = measure_parallel(night)
        faults = _faults_of_second(trial, second)
        for method in ("GET", "PUT"):
            if count := remote.count(method):
                faults.append(f"the second night sent {count} {method} requests for memory files")
        folder = remote.download(trial.folder / "bucket", [path.name for path in paths])
        faults += _faults(trial, folder, receipts)
    return Result(_figures(trial, nights, second), faults)


def _in_folder(trial: Trial, name: str, options: list[str] | None) -> Result:
    """Run the nights of a folder; options: None for two shards."""
    folder = trial.folder / name
    commands = two_shards(folder) if options is None else [command(folder, *options)]
    nights = []
    for _ in range(trial.repeats):
        trial.copy(name)
        nights.append(measure_parallel(commands))
    second = measure_parallel(commands)
    faults = _faults_of_second(trial, second)
    faults += _faults(trial, folder, str(folder / RECEIPTS))
    return Result(_figures(trial, nights, second), faults)


def _faults_of_second(trial: Trial, second: Sequence[Measurement]) -> list[str]:
    outcomes = dict(count_outcomes(second))
    if outcomes == {"unchanged": trial.count}:
        return []
    return [f"a second night opened files: {outcomes}"]


def _faults(trial: Trial, folder: Path, receipts: str) -> list[str]:
    return [*differences(applied_in(folder), trial.expected), *faults_in(folder, receipts)]


def _figures(
    trial: Trial,
    nights: Sequence[Sequence[Measurement]],
    second: Sequence[Measurement],
) -> dict[str, Any]:
    return _costs(trial, nights) | {
        "second night, processor s": round(second[0].processor, 1),
        "second night, ms per file": _ms(trial, second[0]),
    }


def _costs(trial: Trial, nights: Sequence[Sequence[Measurement]]) -> dict[str, Any]:
    best = fastest(nights)
    return {
        "s": round(best.seconds, 1),
        "processor s": round(best.processor, 1),
        "processor s, all repeats": [round(night[0].processor, 1) for night in nights],
        "ms per file": _ms(trial, best),
    }


def _ms(trial: Trial, night: Measurement) -> float:
    return round(1000 * night.processor / trial.count, 1)
