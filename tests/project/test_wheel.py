"""The wheel contains all that the program needs, and nothing else."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tarfile
from pathlib import Path

import pytest
from cli_calls import Ended, in_a_process
from commands import configure
from places import ROOT

from slowwave.store.file import create_file

FOLDERS = ("cli", "consolidation", "extensions", "store")
SMOKE = str(ROOT / "fixtures" / "smoke.jsonl")


BUILD = "import sys; from setuptools import build_meta; print(build_meta.build_sdist(sys.argv[1]))"


@pytest.fixture(scope="module")
def archive(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Provide the source distribution of a copy of the project in which nothing was built."""
    folder = tmp_path_factory.mktemp("source")
    source = folder / "source"
    # What the build reads, and tests/, which MANIFEST.in excludes.
    for name in (*FOLDERS, "src", "tests"):
        ignored = shutil.ignore_patterns("__pycache__", "*.jsonl")
        shutil.copytree(ROOT / name, source / name, symlinks=True, ignore=ignored)
    for name in ("pyproject.toml", "README.md", "LICENSE", "MANIFEST.in"):
        shutil.copy(ROOT / name, source)
    in_a_process(sys.executable, "-c", BUILD, str(folder), cwd=source).ends(0)
    (built,) = folder.glob("slowwave-*.tar.gz")
    return built


@pytest.fixture(scope="module")
def installed(archive: Path) -> Path:
    """Provide a folder with an installed wheel, which was built from the source distribution."""
    folder = archive.parent
    pip = [sys.executable, "-m", "pip", "--quiet", "--disable-pip-version-check"]
    wheel = ["wheel", "--no-deps", "--no-build-isolation", "--wheel-dir", str(folder), str(archive)]
    subprocess.run([*pip, *wheel], check=True, capture_output=True)
    (built,) = folder.glob("slowwave-*.whl")
    site = folder / "site"
    target = ["install", "--no-deps", "--no-index", "--target", str(site), str(built)]
    subprocess.run([*pip, *target], check=True, capture_output=True)
    return site


def files_below(folder: Path) -> set[str]:
    """Return the files of the four packages in a folder, by relative path."""
    paths = (path for name in FOLDERS for path in (folder / name).rglob("*") if path.is_file())
    return {path.relative_to(folder).as_posix() for path in paths if path.suffix != ".pyc"}


def run(installed: Path, *arguments: str) -> Ended:
    """Run Python on the installed package, away from the checkout."""
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


def test_the_wheel_contains_all_files_of_the_packages_and_nothing_else(installed: Path) -> None:
    assert files_below(installed / "slowwave") == files_below(ROOT)
    (entry,) = installed.glob("slowwave-*.dist-info/entry_points.txt")
    assert "slowwave = slowwave.cli" in entry.read_text("utf-8")
    for folder, names in ((installed / "slowwave", set(FOLDERS)), (installed, {"slowwave"})):
        installed_names = {path.name for path in folder.iterdir() if path.suffix != ".dist-info"}
        assert installed_names - {"__pycache__", "bin"} == names


def test_the_source_distribution_contains_no_tests(archive: Path) -> None:
    with tarfile.open(archive) as opened:
        folders = {name.split("/")[1] for name in opened.getnames() if name.count("/") > 1}
    assert folders == {"src"}


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
        slowwave(core, *command.split()).ends(1, "No installed extension")
    assert slowwave(core, "shared", "other.db").code == 2
    assert (core.parent / "other.db").read_bytes() == before


def test_the_core_does_not_change_shared_facts(core: Path) -> None:
    path = core.parent / "shared.db"
    shared = (sys.executable, "-m", "slowwave.cli", "shared")
    create_file(path)
    for verb, *words in (["admit", "ada", "--human"], ["publish", "port", "Billing has port 80."]):
        in_a_process(*shared, verb, path, *words, "--author", "ada").ends(0)
    tenant = ("--tenant", "shared")
    night = slowwave(core, "maintain", "shared.db", "--all", *tenant)
    night.ends(1, "contains shared facts")
    added = slowwave(core, "add", "shared.db", "A note.", *tenant)
    added.ends(1, "only published shared facts")
    assert slowwave(core, "maintain", "shared.db", "--all").code == 0
    assert slowwave(core, "check", "shared.db").code == 0
