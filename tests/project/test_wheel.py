"""The wheel contains all that the program needs, and nothing else."""

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

SMOKE = str(ROOT / "fixtures" / "smoke.jsonl")


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


def slowwave(installed: Path, *arguments: str) -> Ended:
    return run(installed, "-m", "slowwave.cli", *arguments)


def test_a_run_works_from_the_wheel_alone(installed: Path) -> None:
    ended = run(installed, "-c", "import slowwave.cli as cli; print(cli.__file__)")
    assert ended.out.startswith(str(installed)), ended.err
    assert slowwave(installed, "import", "memory.db", SMOKE).code == 0
    slowwave(installed, "maintain", "memory.db").ends(0).says("9 -> 8 memories")
    page = slowwave(installed, "log", "memory.db", "--html", "-")
    assert page.out.startswith("<!DOCTYPE html>"), page.err


def test_the_wheel_contains_the_prompts(installed: Path) -> None:
    for name in ("retold.jsonl", "retold.answers.jsonl"):
        shutil.copy(ROOT / "fixtures" / name, installed.parent)
    assert slowwave(installed, "import", "retold.db", "retold.jsonl").code == 0
    configure(installed.parent / "retold.db", replay="retold.answers.jsonl")
    slowwave(installed, "maintain", "retold.db").ends(0).says("27 -> 13 memories")
    assert (installed / "slowwave/extensions/organisation/experience/prompt.md").is_file()


def test_the_wheel_contains_the_command_and_no_tests(installed: Path) -> None:
    (entry,) = installed.glob("slowwave-*.dist-info/entry_points.txt")
    assert "slowwave = slowwave.cli" in entry.read_text("utf-8")
    folders = {path.name for path in (installed / "slowwave").iterdir()} - {"__pycache__"}
    assert folders == {"cli", "consolidation", "extensions", "store"}


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


def test_a_run_works_without_an_extension(core: Path) -> None:
    assert slowwave(core, "import", "memory.db", SMOKE).code == 0
    slowwave(core, "maintain", "memory.db").ends(0).says("9 -> 8 memories")
    for command in (["check", "memory.db"], ["export", "memory.db", "--all"], ["--help"]):
        assert slowwave(core, *command).code == 0
    assert "fleet" not in slowwave(core, "--help").out


def test_the_core_refuses_what_needs_an_extension(core: Path) -> None:
    assert slowwave(core, "import", "other.db", SMOKE).code == 0
    before = (core.parent / "other.db").read_bytes()
    for command in (
        "maintain other.db --wiki wiki",
        "export other.db --wiki wiki",
        "review other.db --tui",
    ):
        slowwave(core, *command.split()).ends(2, "an extension that is not installed")
    for command in ("list notes.md --format markdown", "import other.db notes.md --from markdown"):
        slowwave(core, *command.split()).ends(1, "No extension that is installed")
    assert slowwave(core, "shared", "other.db").code == 2
    assert (core.parent / "other.db").read_bytes() == before


def test_the_core_does_not_change_shared_facts(core: Path) -> None:
    path = core.parent / "shared.db"
    shared = (sys.executable, "-m", "slowwave.cli", "shared", path)
    create_file(path)
    for words in (["admit", "ada", "--human"], ["publish", "port", "Billing listens on port 80."]):
        in_a_process(*shared, *words, "--author", "ada").ends(0)
    tenant = ("--tenant", "shared")
    night = slowwave(core, "maintain", "shared.db", "--all", *tenant)
    night.ends(1, "contains shared facts")
    added = slowwave(core, "add", "shared.db", "A note.", *tenant)
    added.ends(1, "only published shared facts")
    assert slowwave(core, "maintain", "shared.db", "--all").code == 0
    assert slowwave(core, "check", "shared.db").code == 0
