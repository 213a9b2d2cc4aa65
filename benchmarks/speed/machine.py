"""A description of the machine, and measurements of commands in separate processes."""

from __future__ import annotations

import json
import os
import platform
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from importlib.metadata import version
from pathlib import Path
from shutil import which

from benchmarks.quality.bench import ROOT, Json

BUILD = ROOT / "build" / "speed"
_PACKAGES = ("numpy", "scipy", "scikit-learn", "onnxruntime")


def about() -> str:
    """Return a sentence that describes commit, processor, versions and load."""
    packages = ", ".join(f"{name} {version(name)}" for name in _PACKAGES)
    load = " ".join(f"{number:.1f}" for number in os.getloadavg())
    day = time.strftime("%Y-%m-%d")
    return (
        f"Commit {_commit()}, {day}, {os.cpu_count()} cores of {_processor()}, "
        f"{memory() / 2**30:.0f} GiB, Python {platform.python_version()}, {packages}; "
        f"load before: {load}."
    )


def memory() -> int:
    """Return the memory of the machine, in bytes."""
    return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")


def step(name: str, path: Path, value: object = "") -> Json:
    """Run a step of steps.py; return its figures, and those of its process."""
    command = [sys.executable, "-m", "benchmarks.speed.steps", name, str(path), str(value)]
    output, figures = run(command)
    result: Json = json.loads(output)
    return figures | result


def slowwave(*arguments: str | Path, **variables: str) -> Json:
    """Run a slowwave command with environment variables; return its figures."""
    command = [sys.executable, "-m", "slowwave.cli", *arguments]
    return run(command, variables)[1]


def run(command: Sequence[object], variables: Mapping[str, str] | None = None) -> tuple[str, Json]:
    """Return the stdout of a command, and its start, times in seconds, and peak memory in bytes.

    Raises `RuntimeError` with its stderr if it failed. This process must be small, since the system
    counts its memory as that of the child until exec. Compiled modules are stored, as for a user.
    """
    words = list(map(str, command))
    environment = {**os.environ, "PYTHONDONTWRITEBYTECODE": "", **(variables or {})}
    with tempfile.TemporaryFile() as output, tempfile.TemporaryFile() as errors:
        start = time.monotonic()
        process = subprocess.Popen(  # noqa: S603 - our own commands
            words, cwd=ROOT, stdout=output, stderr=errors, env=environment
        )
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
        seconds = time.monotonic() - start
        for stream in (output, errors):
            stream.seek(0)
        if process.returncode != 0:
            raise RuntimeError(f"{' '.join(words)} failed:\n{errors.read().decode()}")
        figures = {
            "start": start,
            "seconds": seconds,
            "processor": usage.ru_utime + usage.ru_stime,
            "peak": usage.ru_maxrss * (1 if sys.platform == "darwin" else 1024),
        }
        return output.read().decode(), figures


def _commit() -> str | None:
    """Return the commit, marked as dirty if the tree has changes; None without git."""
    git = which("git")
    if git is None:
        return None
    command = [git, "-C", str(ROOT), "describe", "--always", "--dirty", "--abbrev=12"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)  # noqa: S603 - git
    return done.stdout.strip() or None


def _processor() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text("utf-8").splitlines()
        return next(line.split(":")[1].strip() for line in lines if line.startswith("model name"))
    except (OSError, StopIteration):
        return platform.processor() or platform.machine()
