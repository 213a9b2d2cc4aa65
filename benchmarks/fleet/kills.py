"""Workers and drivers of a fleet killed at moments of chance, until the nights are done."""

from __future__ import annotations

import random
import subprocess
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import psutil

from .bucket import bucket
from .commands import begin, measured_together
from .files import applied_in, differences, faults_in, paths_in
from .trial import RECEIPTS, Found, Trial, became, command

KILLS = 20
# Of three kills one is of the driver; it takes all its workers with it.
_DRIVERS = 1 / 3
# So long goes by between two kills, in seconds: less than a driver takes to begin its workers, at
# the least, and some ten nights at the most.
_BETWEEN = (0.2, 4.0)
# Nights after the last kill: one meets a lock that a killed one's worker holds a little longer.
_NIGHTS = 3


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
        night = command(there.address, "--workers", "2")
        names = [one.name for one in paths]

        def begun() -> None:
            there.fill(paths)

        def left() -> Path:
            return there.copied_to(trial.folder / "kills-in-a-bucket", names)

        return _killed(trial, night, begun, left, there.receipts)


def _in_folder(trial: Trial, name: str, options: list[str]) -> Found:
    place = trial.folder / name

    def begun() -> None:
        trial.copy(name)

    return _killed(trial, command(place, *options), begun, lambda: place, str(place / RECEIPTS))


def _killed(
    trial: Trial,
    night: list[str],
    begun: Callable[[], None],
    left: Callable[[], Path],
    receipts: str,
) -> Found:
    """Kill while a night goes on, as often as it takes; then look at what is left."""
    chance = random.Random(len(night))  # noqa: S311 - moments, not secrets
    begun()
    kills = _until_done(night, chance)
    faults = []
    for _ in range(_NIGHTS):
        ended = measured_together([night], (0, 1, 3))
        if set(became(ended)) == {"unchanged"}:
            break
    else:
        faults.append(f"the last of {_NIGHTS} nights without a kill opened files: {became(ended)}")
    place = left()
    faults += faults_in(place, receipts)
    others = list(differences(applied_in(place), trial.expected))
    figures = {
        "workers killed": kills["worker"],
        "drivers killed": kills["driver"],
        "files with other proposals": len(others),
    }
    if sum(kills.values()) < KILLS:
        faults.append(f"only {sum(kills.values())} kills came before the night was done")
    return Found(figures, faults)


def _until_done(night: list[str], chance: random.Random) -> Counter[str]:
    """Begin a night, again after each driver that is killed, until one comes to its end."""
    kills: Counter[str] = Counter()
    driver = begin(night)
    while True:
        if sum(kills.values()) >= KILLS:
            driver.communicate()
            return kills
        try:
            driver.communicate(timeout=chance.uniform(*_BETWEEN))
            return kills
        except subprocess.TimeoutExpired:
            pass
        if chance.random() < _DRIVERS:
            driver.kill()
            driver.communicate()
            kills["driver"] += 1
            driver = begin(night)
        else:
            kills["worker"] += _kill_a_worker(driver.pid, chance)


def _kill_a_worker(driver: int, chance: random.Random) -> int:
    """Kill one of the workers of a driver; return how many were: none, if none has begun yet."""
    workers = []
    for one in psutil.Process(driver).children(recursive=True):
        try:
            words = " ".join(one.cmdline())
        except psutil.NoSuchProcess:
            continue
        if "ray::MapWorker" in words or "multiprocessing.spawn" in words:
            workers.append(one)
    if not workers:
        return 0
    try:
        chance.choice(workers).kill()
    except psutil.NoSuchProcess:
        return 0
    return 1
