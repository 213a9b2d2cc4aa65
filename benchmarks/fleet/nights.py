"""The same files' nights by each engine: what is applied, and what a file costs."""

from __future__ import annotations

import shutil
from collections.abc import Iterator, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from .bucket import bucket
from .commands import Took, measured, measured_together
from .files import applied_in, differences, faults_in, paths_in
from .trial import RECEIPTS, Found, Trial, became, command, smallest, two_shards

# So many files tell what a command takes to begin, with its workers and their model.
_FEW = 2


def serially(trial: Trial) -> Found:
    """Do the night of each file by `slowwave maintain` with all of them in one process."""
    nights = []
    for _ in range(trial.repeats):
        place = trial.copy("serially")
        maintain = ["maintain", *map(str, paths_in(place)), "--consolidate", "--quiet"]
        nights.append([measured(maintain)])
    trial.expect(applied_in(place))
    at_rest = [[measured(maintain)] for _ in range(trial.repeats)]
    begun = [[measured([*maintain[: 1 + _FEW], *maintain[-2:]])] for _ in range(trial.repeats)]
    return Found(_costs(trial, nights) | _rest(trial, at_rest, begun))


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
        at_rest = _looks(trial, [command(there.address, "--workers", "1")])
        few = f"{there.address}/agent-00000[0-{_FEW - 1}].db"
        begun = _looks(trial, [command(few, "--workers", "1")])
        place = there.copied_to(trial.folder / "bucket", [one.name for one in paths])
        found += _compared(trial, place, receipts)
    return Found(_figures(trial, nights, second, at_rest, begun), found)


def _in_folder(trial: Trial, name: str, options: list[str] | None) -> Found:
    """Do the nights of a folder; without options, in two shards."""
    nights = []
    for _ in range(trial.repeats):
        place = trial.copy(name)
        nights.append(measured_together(_commands(place, options)))
    night = _commands(place, options)
    second = measured_together(night)
    faults = _second_night(trial, second)
    at_rest = _looks(trial, night)
    begun = _looks(trial, _commands(few_of(place), options))
    faults += _compared(trial, place, str(place / RECEIPTS))
    return Found(_figures(trial, nights, second, at_rest, begun), faults)


def _commands(place: Path, options: list[str] | None) -> list[list[str]]:
    return two_shards(place) if options is None else [command(place, *options)]


def few_of(place: Path) -> Path:
    """Copy some files to a folder beside."""
    few = place.with_name(f"{place.name}-few")
    shutil.rmtree(few, ignore_errors=True)
    few.mkdir()
    for path in paths_in(place)[:_FEW]:
        shutil.copy(path, few)
    return few


def _looks(trial: Trial, night: Sequence[Sequence[str]]) -> list[list[Took]]:
    """Have files looked at once more by who has no receipts: nothing is to be done in any."""
    found = []
    for _ in range(trial.repeats):
        with TemporaryDirectory(dir=trial.folder) as receipts:
            found.append(measured_together([[*one, "--receipts", receipts] for one in night]))
    return found


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
    at_rest: Sequence[Sequence[Took]],
    begun: Sequence[Sequence[Took]],
) -> dict[str, Any]:
    return (
        _costs(trial, nights)
        | _rest(trial, at_rest, begun)
        | {
            "second night, processor s": round(second[0].processor, 1),
            "second night, ms a file": _ms(trial, second[0]),
        }
    )


def _rest(
    trial: Trial, at_rest: Sequence[Sequence[Took]], begun: Sequence[Sequence[Took]]
) -> dict[str, Any]:
    """Return what looking at a file costs in which nothing is to be done, without the start."""
    all_of_them, start = smallest(at_rest).processor, smallest(begun).processor
    each = (all_of_them - start) / max(1, trial.count - _FEW)
    return {"start, processor s": round(start, 1), "ms a file at rest": round(1000 * each, 1)}


def _costs(trial: Trial, nights: Sequence[Sequence[Took]]) -> dict[str, Any]:
    least = smallest(nights)
    return {
        "s": round(least.seconds, 1),
        "processor s": round(least.processor, 1),
        "processor s, all tries": [round(one[0].processor, 1) for one in nights],
        "ms a file": _ms(trial, least),
    }


def _ms(trial: Trial, took: Took) -> float:
    return round(1000 * took.processor / trial.count, 1)


def overheads(found: dict[str, Found]) -> Iterator[tuple[str, float, float, int]]:
    """Yield of each way what a file costs more than serially, in ms, and the most wished for.

    On the first night, with the start; and at rest, without it, which is what a file's receipt,
    listing and copying cost.
    """
    base = found.get("serially")
    for way, most in WISHED.items():
        if base is None or way not in found:
            continue
        figures = found[way].figures
        first, rest = (
            round(figures[name] - base.figures[name], 1)
            for name in ("ms a file", "ms a file at rest")
        )
        yield way, first, rest, most


# The most that was wished for, in ms a file.
WISHED = {"one worker": 15, "two processes": 15, "two shards": 15, "a bucket": 25}
