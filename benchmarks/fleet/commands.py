"""Run slowwave as a command, and see what it and all that it began took."""

from __future__ import annotations

import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from threading import Event, Thread
from typing import Any, NamedTuple

import psutil

COMMAND = (sys.executable, "-m", "slowwave.cli")
# How often it is looked what Ray's processes have used: what one uses after that is missed.
_LOOK_S = 0.25


class Took(NamedTuple):
    """What a command took, in seconds, and the JSON it wrote."""

    seconds: float
    processor: float
    said: dict[str, Any]


class Failed(Exception):
    """A command ended with a code that it should not have."""


def measured(arguments: Sequence[str], codes: Sequence[int] = (0,)) -> Took:
    """Run a command to its end. Raises `Failed` if it ends with another code."""
    (took,) = measured_together([arguments], codes)
    return took


def measured_together(commands: Sequence[Sequence[str]], codes: Sequence[int] = (0,)) -> list[Took]:
    """Run commands side by side. What all of them took stands with the first."""
    began, used = time.monotonic(), _of_children()
    with tempfile.TemporaryFile("w+") as errors:
        running = [begin(command, errors) for command in commands]
        on_ray = [item.pid for item, said in zip(running, commands, strict=True) if "ray" in said]
        with _watched(on_ray) as watch:
            written = [item.communicate()[0] for item in running]
        took = time.monotonic() - began, max(_of_children() - used, watch.seconds)
        errors.seek(0)
        for item, arguments in zip(running, commands, strict=True):
            if item.returncode not in codes:
                said = f"ended with {item.returncode}: {errors.read()[-2000:]}"
                raise Failed(f"slowwave {' '.join(arguments[:2])} {said}")
    found = [json.loads(item) if item.startswith("{") else {} for item in written]
    return [Took(*took, found[0]), *(Took(0.0, 0.0, match) for match in found[1:])]


def _of_children() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def begin(arguments: Sequence[str], errors: Any = subprocess.DEVNULL) -> subprocess.Popen[str]:
    """Begin a command, which belongs to no cluster of Ray's that is there already."""
    environment = {name: value for name, value in os.environ.items() if name != "RAY_ADDRESS"}
    return subprocess.Popen(  # noqa: S603 - our own
        [*COMMAND, *arguments],
        stdout=subprocess.PIPE,
        stderr=errors,
        text=True,
        env=environment,
    )


class _Watch:
    """Adds up processor time over processes and all that they began.

    Ray's workers are not waited for by whoever began them, so the system does not add them up.
    """

    def __init__(self, roots: Sequence[int]) -> None:
        self._roots = [psutil.Process(root) for root in roots]
        self._used: dict[tuple[int, float], float] = {}

    @property
    def seconds(self) -> float:
        """What they have used by the last look."""
        return sum(self._used.values())

    def look(self) -> None:
        """See what each has used by now."""
        for root in self._roots:
            try:
                family = [root, *root.children(recursive=True)]
            except psutil.NoSuchProcess:
                continue
            for item in family:
                try:
                    used = item.cpu_times()
                    self._used[item.pid, item.create_time()] = used.user + used.system
                except psutil.NoSuchProcess:
                    continue


@contextmanager
def _watched(roots: Sequence[int]) -> Iterator[_Watch]:
    watch, ended = _Watch(roots), Event()
    if not roots:
        yield watch
        return

    def look() -> None:
        while not ended.wait(_LOOK_S):
            watch.look()

    thread = Thread(target=look)
    thread.start()
    try:
        yield watch
    finally:
        ended.set()
        thread.join()
