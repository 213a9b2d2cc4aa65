"""Workers and drivers of a fleet killed at moments of chance, until the nights are done."""

from __future__ import annotations

import random
import subprocess
from collections import Counter
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

import psutil

from .bucket import bucket
from .commands import begin, measured_together
from .files import applied_in, differences, faults_in, paths_in
from .trial import RECEIPTS, Found, Trial, became, command

KILLS = 20
# One kill of three is of the driver; it takes all its workers with it.
_DRIVERS = 1 / 3
# So long goes by between two kills, in seconds, and longer where no worker has begun yet: less than
# a night at the least, some ten at the most.
_BETWEEN = (0.2, 4.0)
# Nights after the last kill: one meets a lock that a killed one's worker holds a little longer.
_NIGHTS = 3
# How often all files have their nights at the most, until there were enough kills.
_TURNS = 10


def of_processes(trial: Trial) -> Found:
    """Kill worker processes and drivers."""
    return _in_folder(trial, "kills", ["--workers", "2"])


def on_ray(trial: Trial) -> Found:
    """Kill actors of Ray's and drivers."""
    return _in_folder(trial, "kills-on-ray", ["--workers", "2", "--engine", "ray"])


def in_bucket(trial: Trial) -> Found:
    """Kill worker processes and drivers while the files are in a bucket."""
    paths = paths_in(trial.files)
    with bucket("kills") as there:

        def begun(turn: int) -> _Begun:
            there.fill(paths)
            receipts = f"{there.address}/.receipts-{turn}"
            night = command(there.address, "--workers", "2", "--receipts", receipts)
            return _Begun(night, receipts)

        def left() -> Path:
            return there.copied_to(
                trial.folder / "kills-in-a-bucket", [path.name for path in paths]
            )

        return _killed(trial, begun, left)


def _in_folder(trial: Trial, name: str, options: list[str]) -> Found:
    def begun(turn: int) -> _Begun:
        place = trial.copy(name)
        return _Begun(command(place, *options), str(place / RECEIPTS))

    return _killed(trial, begun, lambda: trial.folder / name)


class _Begun(NamedTuple):
    """The files as they were made, with the command of their night, and where its receipts lie."""

    night: list[str]
    receipts: str


def _killed(trial: Trial, begun: Callable[[int], _Begun], left: Callable[[], Path]) -> Found:
    """Kill while nights go on, of the files anew where one is done too soon; look at what is left.

    begun: has the files as they were made where a night finds them. left: gets them from there.
    """
    chance = random.Random(20)  # noqa: S311 - moments, not secrets
    kills: Counter[str] = Counter()
    faults: list[str] = []
    others = turns = 0
    while sum(kills.values()) < KILLS and turns < _TURNS:
        night, receipts = begun(turns)
        turns += 1
        _until_done(night, chance, kills)
        faults += _ended_without_a_kill(night)
        place = left()
        faults += faults_in(place, receipts)
        others += len(list(differences(applied_in(place), trial.expected)))
    if sum(kills.values()) < KILLS:
        faults.append(f"only {sum(kills.values())} kills in {turns} nights")
    figures = {
        "workers killed": kills["worker"],
        "drivers killed": kills["driver"],
        "nights of all files": turns,
        "files with other proposals": others,
    }
    return Found(figures, faults)


def _ended_without_a_kill(night: list[str]) -> list[str]:
    for _ in range(_NIGHTS):
        ended = measured_together([night], (0, 1, 3))
        if set(became(ended)) == {"unchanged"}:
            return []
    return [f"the last of {_NIGHTS} nights without a kill opened files: {became(ended)}"]


def _until_done(night: list[str], chance: random.Random, kills: Counter[str]) -> None:
    """Begin a night, again after each driver that is killed, until one comes to its end."""
    driver = begin(night)
    while True:
        enough = sum(kills.values()) >= KILLS
        try:
            driver.communicate(timeout=None if enough else chance.uniform(*_BETWEEN))
            return
        except subprocess.TimeoutExpired:
            pass
        workers = _workers_of(driver.pid)
        if not workers:
            continue  # none has begun yet
        if chance.random() < _DRIVERS:
            driver.kill()
            driver.communicate()
            kills["driver"] += 1
            driver = begin(night)
        else:
            with suppress(psutil.NoSuchProcess):
                chance.choice(workers).kill()
                kills["worker"] += 1


def _workers_of(driver: int) -> list[psutil.Process]:
    """Return the worker processes that a driver has, or Ray for it."""
    found: list[psutil.Process] = []
    family: list[psutil.Process] = []
    with suppress(psutil.NoSuchProcess):  # it has just ended
        family = psutil.Process(driver).children(recursive=True)
    for item in family:
        with suppress(psutil.NoSuchProcess):
            words = " ".join(item.cmdline())
            if "ray::MapWorker" in words or "multiprocessing.spawn" in words:
                found.append(item)
    return found
