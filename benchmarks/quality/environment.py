"""What a run of the benchmark ran on, and what its thresholds and rules were tuned on."""

from __future__ import annotations

import os
import platform
import subprocess
from importlib.metadata import version
from shutil import which

from .bench import ROOT, Bench, Json

_PACKAGES = ("slowwave", "numpy", "scipy", "scikit-learn", "torch", "sentence-transformers")


def environment(bench: Bench) -> Json:
    """Return what it ran on."""
    return {
        "cpus": os.cpu_count(),
        "python": platform.python_version(),
        "platform": platform.platform(),
        "packages": {name: version(name) for name in _PACKAGES},
        "commit": commit(),
        "embedder": bench.embedder.name,
        "model": bench.model,
        "shared data": str(bench.data) if bench.data else None,
        "quick": bench.quick,
    }


def commit() -> str | None:
    """Return the commit, marked if the tree is not as it was committed."""
    git = which("git")
    if git is None:
        return None
    command = [git, "-C", str(ROOT), "describe", "--always", "--dirty", "--abbrev=12"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)  # noqa: S603 - git
    return done.stdout.strip() or None
