"""Kill workers and drivers of a fleet at random moments, until the nights are done."""

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
from .commands import measure_parallel, start_command
from .files import applied_in, differences, faults_in, paths_in
from .trial import RECEIPTS, Result, Trial, command, count_outcomes

KILLS = 20
# The share of kills that hit the driver, whose workers end with it.
_DRIVER_SHARE = 1 / 3
# The minimum and maximum interval between two kills, in seconds; a night takes some 0.4 s.
_INTERVAL_S = (0.2, 4.0)
# The maximum number of nights after the last kill: a killed worker may hold its lock a bit longer.
_MAX_NIGHTS = 3
# The maximum number of rounds over all files until there were enough kills.
_MAX_ROUNDS = 10


def of_processes(trial: Trial) -> Result:
    """Kill worker processes and drivers."""
    return _in_folder(trial, "kills", ["--workers", "2"])


def on_ray(trial: Trial) -> Result:
    """Kill Ray actors and drivers."""
    return _in_folder(trial, "kills-on-ray", ["--workers", "2", "--engine", "ray"])


def in_bucket(trial: Trial) -> Result:
    """Kill worker processes and drivers while the files are in a bucket."""
    paths = paths_in(trial.files)
    with bucket("kills") as remote:

        def prepare(number: int) -> _Night:
            remote.upload(paths)
            receipts = f"{remote.address}/.receipts-{number}"
            arguments = command(remote.address, "--workers", "2", "--receipts", receipts)
            return _Night(arguments, receipts)

        def fetch() -> Path:
            return remote.download(
                trial.folder / "kills-in-a-bucket", [path.name for path in paths]
            )

        return _kill(trial, prepare, fetch)


def _in_folder(trial: Trial, name: str, options: list[str]) -> Result:
    def prepare(number: int) -> _Night:
        folder = trial.copy(name)
        return _Night(command(folder, *options), str(folder / RECEIPTS))

    return _kill(trial, prepare, lambda: trial.folder / name)


class _Night(NamedTuple):
    """The arguments of a night, and the place of its receipts."""

    arguments: list[str]
    receipts: str


def _kill(trial: Trial, prepare: Callable[[int], _Night], fetch: Callable[[], Path]) -> Result:
    """Kill processes during nights of fresh files, until there were enough kills; check the files.

    prepare: copies the original files to where the night reads them. fetch: returns a folder with
    the files after the night.
    """
    dice = random.Random(20)  # noqa: S311 - moments, not secrets
    kills: Counter[str] = Counter()
    faults: list[str] = []
    differing = rounds = 0
    while kills.total() < KILLS and rounds < _MAX_ROUNDS:
        night = prepare(rounds)
        rounds += 1
        _run_with_kills(night.arguments, dice, kills)
        faults += _run_without_kills(night.arguments)
        folder = fetch()
        faults += faults_in(folder, night.receipts)
        differing += len(list(differences(applied_in(folder), trial.expected)))
    if kills.total() < KILLS:
        faults.append(f"only {kills.total()} kills in {rounds} rounds")
    figures = {
        "workers killed": kills["worker"],
        "drivers killed": kills["driver"],
        "rounds over all files": rounds,
        "files with different proposals": differing,
    }
    return Result(figures, faults)


def _run_without_kills(arguments: list[str]) -> list[str]:
    """Run nights until one changes nothing; return a fault if none does."""
    for _ in range(_MAX_NIGHTS):
        outcomes = count_outcomes(measure_parallel([arguments], (0, 1, 3)))
        if set(outcomes) == {"unchanged"}:
            return []
    return [f"the last of {_MAX_NIGHTS} nights without a kill opened files: {dict(outcomes)}"]


def _run_with_kills(arguments: list[str], dice: random.Random, kills: Counter[str]) -> None:
    """Run a night to its end, and restart it after each kill of the driver."""
    driver = start_command(arguments)
    while True:
        is_enough = kills.total() >= KILLS
        try:
            driver.communicate(timeout=None if is_enough else dice.uniform(*_INTERVAL_S))
            return
        except subprocess.TimeoutExpired:
            pass
        workers = _workers_of(driver.pid)
        if not workers:
            continue
        if dice.random() < _DRIVER_SHARE:
            driver.kill()
            driver.communicate()
            kills["driver"] += 1
            driver = start_command(arguments)
        else:
            with suppress(psutil.NoSuchProcess):
                dice.choice(workers).kill()
                kills["worker"] += 1


def _workers_of(driver: int) -> list[psutil.Process]:
    """Return the worker processes of a driver, including Ray actors."""
    workers: list[psutil.Process] = []
    children: list[psutil.Process] = []
    with suppress(psutil.NoSuchProcess):
        children = psutil.Process(driver).children(recursive=True)
    for process in children:
        with suppress(psutil.NoSuchProcess):
            words = " ".join(process.cmdline())
            if "ray::MapWorker" in words or "multiprocessing.spawn" in words:
                workers.append(process)
    return workers
