"""Run something in a process of its own, and see what it took."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from benchmarks.quality.bench import ROOT, Json

from .machine import in_bytes


def step(name: str, path: Path, value: object = "") -> Json:
    """Do one step of the benchmark (steps.py) and give its figures."""
    command = [sys.executable, "-m", "benchmarks.speed.steps", name, str(path), str(value)]
    figures: Json = json.loads(run(command)[0])
    return figures


def slowwave(*arguments: str | Path) -> Json:
    """Run a command of slowwave and give what the whole process took."""
    command = [sys.executable, "-m", "slowwave.cli", *map(str, arguments), "--quiet"]
    return run(command)[1]


def run(command: Sequence[str]) -> tuple[str, Json]:
    """Return what a command wrote to stdout, and the time and memory that its process took.

    Raises `RuntimeError` with what it wrote to stderr if it failed. What starts the process must
    itself be small: the system counts that as the new one's until it begins.
    """
    environment: dict[str, Any] = {**os.environ, "PYTHONDONTWRITEBYTECODE": "1"}
    with tempfile.TemporaryFile() as output, tempfile.TemporaryFile() as errors:
        began = time.perf_counter()
        process = subprocess.Popen(  # noqa: S603 - our own commands
            command, cwd=ROOT, stdout=output, stderr=errors, env=environment
        )
        _, status, used = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
        seconds = time.perf_counter() - began
        for stream in (output, errors):
            stream.seek(0)
        if process.returncode != 0:
            raise RuntimeError(f"{' '.join(command)} failed:\n{errors.read().decode()}")
        figures = {
            "seconds": seconds,
            "processor": used.ru_utime + used.ru_stime,
            "peak": in_bytes(used.ru_maxrss),
        }
        return output.read().decode(), figures
