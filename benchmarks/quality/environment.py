"""The environment that a benchmark runs in."""

from __future__ import annotations

import os
import platform
import subprocess
from importlib.metadata import version
from shutil import which

from .bench import ROOT, Json

_PACKAGES = ("slowwave", "numpy", "scipy", "scikit-learn", "torch", "sentence-transformers")


def environment(embedder: str) -> Json:
    """Return a description of the environment; embedder: its name."""
    return {
        "cpus": os.cpu_count(),
        "python": platform.python_version(),
        "platform": platform.platform(),
        "packages": {name: version(name) for name in _PACKAGES},
        "commit": commit(),
        "embedder": embedder,
    }


def commit() -> str | None:
    """Return the commit, marked as dirty if the tree has changes; None without git."""
    git = which("git")
    if git is None:
        return None
    command = [git, "-C", str(ROOT), "describe", "--always", "--dirty", "--abbrev=12"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)  # noqa: S603 - git
    return done.stdout.strip() or None
