"""The same files' nights by each engine: what is applied, and what a file costs."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from .bucket import bucket
from .commands import Took, measured, measured_together
from .files import applied_in, differences, faults_in, paths_in
from .trial import RECEIPTS, Found, Trial, became, command, smallest, two_shards


def serially(trial: Trial) -> Found:
    """Do the night of each file by `slowwave maintain` with all of them in one process."""
    nights = []
    for _ in range(trial.repeats):
        place = trial.copy("serially")
        maintain = ["maintain", *map(str, paths_in(place)), "--consolidate", "--quiet"]
        nights.append([measured(maintain)])
    trial.expect(applied_in(place))
    return Found(_costs(trial, nights))


def one_worker(trial: Trial) -> Found:
    """Do the nights of a folder in this process alone."""
    return _in_folder(trial, "one-worker", ["--workers", "1"])


def two_processes(trial: Trial) -> Found:
    """Do them in two worker processes."""
    return _in_folder(trial, "two-processes", ["--workers", "2"])


def shards(trial: Trial) -> Found:
    """Do them in two shards, side by side."""
    return _in_folder(trial, "two-shards", None)


def on_ray(trial: Trial) -> Found:
    """Do them by two workers of Ray's."""
    return _in_folder(trial, "ray", ["--workers", "2", "--engine", "ray"])


def in_bucket(trial: Trial) -> Found:
    """Do them in a bucket on loopback, with one worker."""
    paths = paths_in(trial.files)
    with bucket("nights") as there:
        nights = []
        for turn in range(trial.repeats):
            there.fill(paths)
            receipts = f"{there.address}/.receipts-{turn}"
            night = [command(there.address, "--workers", "1", "--receipts", receipts)]
            nights.append(measured_together(night))
        there.requests.clear()
        second = measured_together(night)
        found = _second_night(trial, second)
        for method in ("GET", "PUT"):
            if count := there.count(method):
                found.append(f"the second night sent {count} {method} for memory files")
        place = there.copied_to(trial.folder / "bucket", [path.name for path in paths])
        found += _compared(trial, place, receipts)
    return Found(_figures(trial, nights, second), found)


def _in_folder(trial: Trial, name: str, options: list[str] | None) -> Found:
    """Do the nights of a folder; without options, in two shards."""
    nights = []
    for _ in range(trial.repeats):
        place = trial.copy(name)
        nights.append(measured_together(_commands(place, options)))
    second = measured_together(_commands(place, options))
    faults = _second_night(trial, second)
    faults += _compared(trial, place, str(place / RECEIPTS))
    return Found(_figures(trial, nights, second), faults)


def _commands(place: Path, options: list[str] | None) -> list[list[str]]:
    return two_shards(place) if options is None else [command(place, *options)]


def _second_night(trial: Trial, second: Sequence[Took]) -> list[str]:
    if became(second) == {"unchanged": trial.count}:
        return []
    return [f"a second night opened files: {became(second)}"]


def _compared(trial: Trial, place: Path, receipts: str) -> list[str]:
    return [*differences(applied_in(place), trial.expected), *faults_in(place, receipts)]


def _figures(
    trial: Trial,
    nights: Sequence[Sequence[Took]],
    second: Sequence[Took],
) -> dict[str, Any]:
    return _costs(trial, nights) | {
        "second night, processor s": round(second[0].processor, 1),
        "second night, ms a file": _ms(trial, second[0]),
    }


def _costs(trial: Trial, nights: Sequence[Sequence[Took]]) -> dict[str, Any]:
    least = smallest(nights)
    return {
        "s": round(least.seconds, 1),
        "processor s": round(least.processor, 1),
        "processor s, all tries": [round(night[0].processor, 1) for night in nights],
        "ms a file": _ms(trial, least),
    }


def _ms(trial: Trial, took: Took) -> float:
    return round(1000 * took.processor / trial.count, 1)
