"""Run slowwave commands, and measure their time, including that of child processes."""

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
# The interval, in seconds, at which the processor time of Ray's processes is read.
_INTERVAL_S = 0.25


class Measurement(NamedTuple):
    """The time of a command, in seconds, and the JSON that it printed."""

    seconds: float
    processor: float
    output: dict[str, Any]


class Failed(Exception):
    """A command exited with an unexpected code."""


def measure(arguments: Sequence[str], codes: Sequence[int] = (0,)) -> Measurement:
    """Run a command. Raises `Failed` if it exits with another code."""
    return measure_parallel([arguments], codes)[0]


def measure_parallel(
    commands: Sequence[Sequence[str]], codes: Sequence[int] = (0,)
) -> list[Measurement]:
    """Run commands in parallel. The first measurement has the time of all of them."""
    start, used = time.monotonic(), _child_seconds()
    with tempfile.TemporaryFile("w+") as errors:
        processes = [start_command(command, errors) for command in commands]
        on_ray = [
            process.pid
            for process, command in zip(processes, commands, strict=True)
            if "ray" in command
        ]
        with _watch(on_ray) as usage:
            outputs = [process.communicate()[0] for process in processes]
        seconds = time.monotonic() - start
        processor = max(_child_seconds() - used, usage.seconds)
        errors.seek(0)
        for process, command in zip(processes, commands, strict=True):
            if process.returncode not in codes:
                reason = f"exited with {process.returncode}: {errors.read()[-2000:]}"
                raise Failed(f"slowwave {' '.join(command[:2])} {reason}")
    first, *rest = (json.loads(output) if output.startswith("{") else {} for output in outputs)
    return [Measurement(seconds, processor, first), *(Measurement(0.0, 0.0, json) for json in rest)]


def _child_seconds() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def start_command(
    arguments: Sequence[str], errors: Any = subprocess.DEVNULL
) -> subprocess.Popen[str]:
    """Start a command that does not join a running Ray cluster."""
    environment = {name: value for name, value in os.environ.items() if name != "RAY_ADDRESS"}
    return subprocess.Popen(  # noqa: S603 - our own
        [*COMMAND, *arguments],
        stdout=subprocess.PIPE,
        stderr=errors,
        text=True,
        env=environment,
    )


class _Usage:
    """The processor time of processes and their descendants.

    Nobody waits for Ray's workers, so the system does not count them as children.
    """

    def __init__(self, roots: Sequence[int]) -> None:
        self._roots = [psutil.Process(root) for root in roots]
        self._used: dict[tuple[int, float], float] = {}

    @property
    def seconds(self) -> float:
        """The processor time at the last update."""
        return sum(self._used.values())

    def update(self) -> None:
        """Read the processor time of each process."""
        for root in self._roots:
            try:
                family = [root, *root.children(recursive=True)]
            except psutil.NoSuchProcess:
                continue
            for process in family:
                try:
                    used = process.cpu_times()
                    self._used[process.pid, process.create_time()] = used.user + used.system
                except psutil.NoSuchProcess:
                    continue


@contextmanager
def _watch(roots: Sequence[int]) -> Iterator[_Usage]:
    usage, ended = _Usage(roots), Event()
    if not roots:
        yield usage
        return

    def update() -> None:
        while not ended.wait(_INTERVAL_S):
            usage.update()

    thread = Thread(target=update)
    thread.start()
    try:
        yield usage
    finally:
        ended.set()
        thread.join()
