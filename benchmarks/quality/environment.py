"""What a run of the benchmark ran on, and what its thresholds and rules were tuned on."""

from __future__ import annotations

import os
import platform
import subprocess
from importlib.metadata import version
from shutil import which

from .bench import ROOT, Bench, Json

_PACKAGES = ("slowwave", "numpy", "scipy", "scikit-learn", "torch", "sentence-transformers")

TUNED_ON = (
    "No rule was written for fixtures/quality/*-held-out.toml, and nobody who wrote rules read "
    "them; their totals, and which guards objected how often, were looked at on the way.",
    "Thresholds and rules were tuned on fixtures/quality/*-tuned*.toml and "
    "fixtures/night/assistant.",
    "Of fixtures/night/office and lab what was mixed, and which rules were missed, was looked at, "
    "and guards were written for it; their [[update]] texts while the rules of updates were.",
    "Of the shared pairs the categories were looked at while the guards were written; the LoCoMo "
    "memories and shared updates while the rules of updates were.",
)


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
        "tuned on": list(TUNED_ON),
    }


def commit() -> str | None:
    """Return the commit, marked if the tree is not as it was committed."""
    git = which("git")
    if git is None:
        return None
    command = [git, "-C", str(ROOT), "describe", "--always", "--dirty", "--abbrev=12"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)  # noqa: S603 - git
    return done.stdout.strip() or None
