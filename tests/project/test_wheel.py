"""The wheel holds all that the program needs, and nothing of the checkout."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from cli_calls import Ended, in_a_process
from commands import configure
from places import ROOT

from slowwave.store.file import create_file


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Provide a folder in which the built wheel is installed, and nothing else."""
    folder = tmp_path_factory.mktemp("wheel")
    source = folder / "source"
    # Elsewhere, so that neither finds what the other builds.
    for name in ("cli", "consolidation", "extensions", "store"):
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


def run(installed: Path, *arguments: str) -> Ended:
    """Run Python on what is installed there, away from the checkout."""
    env = {"PATH": os.environ["PATH"], "PYTHONPATH": str(installed), "HOME": str(installed)}
    return in_a_process(sys.executable, *arguments, cwd=installed.parent, env=env)


def test_the_wheel_is_what_runs(installed: Path) -> None:
    ended = run(installed, "-c", "import slowwave.cli as cli; print(cli.__file__)")
    assert ended.out.startswith(str(installed)), ended.err


def test_a_night_runs_from_the_wheel_alone(installed: Path) -> None:
    slowwave = ("-m", "slowwave.cli")
    smoke = str(ROOT / "fixtures" / "smoke.jsonl")
    assert run(installed, *slowwave, "import", "memory.db", smoke).code == 0
    night = run(installed, *slowwave, "maintain", "memory.db")
    night.ends(0).says("9 -> 8 memories")
    page = run(installed, *slowwave, "log", "memory.db", "--html", "-")
    assert page.out.startswith("<!DOCTYPE html>"), page.err


def test_the_wheel_brings_the_prompts(installed: Path) -> None:
    for name in ("retold.jsonl", "retold.answers.jsonl"):
        shutil.copy(ROOT / "fixtures" / name, installed.parent)
    slowwave = ("-m", "slowwave.cli")
    assert run(installed, *slowwave, "import", "retold.db", "retold.jsonl").code == 0
    configure(installed.parent / "retold.db", replay="retold.answers.jsonl")
    night = run(installed, *slowwave, "maintain", "retold.db")
    night.ends(0).says("27 -> 13 memories")
    assert (installed / "slowwave/extensions/organisation/experience/prompt.md").is_file()


def test_the_wheel_brings_the_command_and_no_tests(installed: Path) -> None:
    (entry,) = installed.glob("slowwave-*.dist-info/entry_points.txt")
    assert "slowwave = slowwave.cli" in entry.read_text("utf-8")
    assert {path.name for path in (installed / "slowwave").iterdir()} - {"__pycache__"} == {
        "cli",
        "consolidation",
        "extensions",
        "store",
    }


@pytest.fixture(scope="module")
def core(installed: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Provide a folder in which the core is installed, and no extension."""
    site = tmp_path_factory.mktemp("core") / "site"
    shutil.copytree(installed, site)
    shutil.rmtree(site / "slowwave" / "extensions")
    (entry,) = site.glob("slowwave-*.dist-info/entry_points.txt")
    script, _, _ = entry.read_text("utf-8").partition("\n\n[slowwave.")
    entry.write_text(script, "utf-8")
    return site


def test_a_night_runs_from_the_core_without_an_extension(core: Path) -> None:
    slowwave = ("-m", "slowwave.cli")
    smoke = str(ROOT / "fixtures" / "smoke.jsonl")
    assert run(core, *slowwave, "import", "memory.db", smoke).code == 0
    night = run(core, *slowwave, "maintain", "memory.db")
    night.ends(0).says("9 -> 8 memories")
    for command in (["check", "memory.db"], ["export", "memory.db", "--all"], ["--help"]):
        assert run(core, *slowwave, *command).code == 0
    assert "fleet" not in run(core, *slowwave, "--help").out


def test_the_core_refuses_what_needs_an_extension_before_it_does_anything(core: Path) -> None:
    slowwave = ("-m", "slowwave.cli")
    smoke = str(ROOT / "fixtures" / "smoke.jsonl")
    assert run(core, *slowwave, "import", "other.db", smoke).code == 0
    before = (core.parent / "other.db").read_bytes()
    for command in (
        ["maintain", "other.db", "--wiki", "wiki"],
        ["export", "other.db", "--wiki", "wiki"],
        ["review", "other.db", "--tui"],
    ):
        run(core, *slowwave, *command).ends(2, "an extension that is not installed")
    for command in (
        ["list", "notes.md", "--format", "markdown"],
        ["import", "other.db", "notes.md", "--from", "markdown"],
    ):
        run(core, *slowwave, *command).ends(1, "No extension that is installed")
    assert run(core, *slowwave, "shared", "other.db").code == 2
    assert (core.parent / "other.db").read_bytes() == before


def test_what_was_shared_is_changed_by_no_run_of_a_core_without_the_extension(core: Path) -> None:
    path = core.parent / "shared.db"
    slowwave = [sys.executable, "-m", "slowwave.cli", "shared", str(path)]
    create_file(path)
    for words in (["admit", "ada", "--human"], ["publish", "port", "Billing listens on port 80."]):
        subprocess.run([*slowwave, *words, "--author", "ada"], check=True, capture_output=True)
    night = run(core, "-m", "slowwave.cli", "maintain", "shared.db", "--all", "--tenant", "shared")
    night.ends(1, "contains shared facts")
    added = run(core, "-m", "slowwave.cli", "add", "shared.db", "A note.", "--tenant", "shared")
    added.ends(1, "only published shared facts")
    assert run(core, "-m", "slowwave.cli", "maintain", "shared.db", "--all").code == 0
    assert run(core, "-m", "slowwave.cli", "check", "shared.db").code == 0
