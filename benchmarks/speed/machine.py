"""What it runs on, and how much memory a process takes."""

from __future__ import annotations

import os
import platform
import resource
import sys
from importlib.metadata import version
from pathlib import Path

from benchmarks.quality.bench import Json
from benchmarks.quality.environment import commit

_PACKAGES = ("slowwave", "numpy", "scipy", "scikit-learn", "sqlite-utils")
_STATUS, _RESET = Path("/proc/self/status"), Path("/proc/self/clear_refs")


def about() -> Json:
    """Return what a run of the benchmark runs on, and how busy that is."""
    import sqlite3

    import numpy  # noqa: F401 - loads the library that is asked about
    from threadpoolctl import threadpool_info

    return {
        "processor": _processor(),
        "cores": cores(),
        "memory": f"{os.sysconf('SC_PAGE_SIZE') * os.sysconf('SC_PHYS_PAGES') / 2**30:.0f} GiB",
        "matrix product": [
            f"{item['internal_api']} {item['version']}, {item.get('architecture', 'unknown')}, "
            f"{item['num_threads']} threads"
            for item in threadpool_info()
            if item["user_api"] == "blas"
        ],
        "load": " ".join(f"{item:.1f}" for item in os.getloadavg()),
        "platform": platform.platform(),
        "python": platform.python_version(),
        "sqlite": sqlite3.sqlite_version,
        "packages": {name: version(name) for name in _PACKAGES},
        "commit": commit(),
    }


def cores() -> int:
    """Return how many cores this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def peak() -> int:
    """Return the most bytes that this process held, since `forget_peak` where that works."""
    try:
        lines = _STATUS.read_text("ascii").splitlines()
        return next(int(line.split()[1]) * 1024 for line in lines if line.startswith("VmHWM"))
    except (OSError, StopIteration):
        return in_bytes(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss)


def in_bytes(most: int) -> int:
    """Return the bytes of what the system tells in its own unit."""
    return most if sys.platform == "darwin" else most * 1024


def forget_peak() -> None:
    """Let the peak begin anew from what is taken now: on Linux only, else it goes on."""
    if _RESET.exists():
        _RESET.write_text("5")


def _processor() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text("utf-8").splitlines()
        return next(line.split(":")[1].strip() for line in lines if line.startswith("model name"))
    except (OSError, StopIteration):
        return platform.processor() or platform.machine()
