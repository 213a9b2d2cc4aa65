"""The wheel holds all that the program needs, and nothing of the checkout."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from places import ROOT


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Provide a folder in which the built wheel is installed, and nothing else."""
    folder = tmp_path_factory.mktemp("wheel")
    source = folder / "source"
    # Elsewhere, so that neither finds what the other builds.
    for name in ("cli", "consolidation", "store"):
        shutil.copytree(ROOT / name, source / name, ignore=shutil.ignore_patterns("__pycache__"))
    for name in ("pyproject.toml", "README.md", "LICENSE"):
        shutil.copy(ROOT / name, source)
    pip = [sys.executable, "-m", "pip", "--quiet", "--disable-pip-version-check"]
    wheel = ["wheel", "--no-deps", "--no-build-isolation", "--wheel-dir", str(folder), str(source)]
    subprocess.run([*pip, *wheel], check=True, capture_output=True)
    (built,) = folder.glob("slowwave-*.whl")
    site = folder / "site"
    target = ["install", "--no-deps", "--no-index", "--target", str(site), str(built)]
    subprocess.run([*pip, *target], check=True, capture_output=True)
    return site


def run(installed: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    """Run Python on what is installed there, away from the checkout."""
    return subprocess.run(
        [sys.executable, *arguments],
        capture_output=True,
        text=True,
        check=False,
        cwd=installed.parent,
        env={"PATH": os.environ["PATH"], "PYTHONPATH": str(installed), "HOME": str(installed)},
    )


def test_the_wheel_is_what_runs(installed: Path) -> None:
    ended = run(installed, "-c", "import slowwave.cli as cli; print(cli.__file__)")
    assert ended.stdout.startswith(str(installed)), ended.stderr


def test_a_night_runs_from_the_wheel_alone(installed: Path) -> None:
    slowwave = ("-m", "slowwave.cli")
    smoke = str(ROOT / "fixtures" / "smoke.jsonl")
    assert run(installed, *slowwave, "import", "memory.db", smoke).returncode == 0
    night = run(installed, *slowwave, "maintain", "memory.db", "--consolidate")
    assert night.returncode == 0, night.stderr
    assert "9 -> 8 memories" in night.stdout
    page = run(installed, *slowwave, "report", "memory.db", "--html", "-")
    assert page.stdout.startswith("<!DOCTYPE html>"), page.stderr


def test_the_wheel_brings_the_prompts(installed: Path) -> None:
    for name in ("retold.jsonl", "retold.answers.jsonl"):
        shutil.copy(ROOT / "fixtures" / name, installed.parent)
    slowwave = ("-m", "slowwave.cli")
    assert run(installed, *slowwave, "import", "retold.db", "retold.jsonl").returncode == 0
    replayed = ("--replay", "retold.answers.jsonl")
    night = run(installed, *slowwave, "maintain", "retold.db", "--consolidate", *replayed)
    assert night.returncode == 0, night.stderr
    assert "27 -> 13 memories" in night.stdout


def test_the_wheel_brings_the_command_and_no_tests(installed: Path) -> None:
    (entry,) = installed.glob("slowwave-*.dist-info/entry_points.txt")
    assert "slowwave = slowwave.cli" in entry.read_text("utf-8")
    assert {one.name for one in (installed / "slowwave").iterdir()} - {"__pycache__"} == {
        "cli",
        "consolidation",
        "store",
    }
