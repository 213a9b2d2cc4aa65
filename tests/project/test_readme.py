"""Examples and tables of the documentation."""

from __future__ import annotations

import shlex
import shutil
import subprocess
from pathlib import Path

import pytest
import readme
from cli_calls import Cli
from commands import setting
from model_nights import SMOKE
from places import ROOT
from readme import commands_of

# Fixtures that no example reads.
_LARGE = shutil.ignore_patterns("injection", "night", "quality", "recall")


@pytest.mark.parametrize("name", readme.PARTS)
def test_generated_parts_of_the_pages_are_current(name: str) -> None:
    page, make = readme.PARTS[name]
    assert readme.block(page.read_text("utf-8"), name) == make(), "run: python tests/readme.py"


def test_the_first_example_works(tmp_path: Path, cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "fixtures").mkdir()
    shutil.copy(SMOKE, tmp_path / "fixtures")
    monkeypatch.chdir(tmp_path)
    example = readme.example("example")
    commands = commands_of(example)
    assert len(commands) == 6
    for command in commands:
        program, *arguments = shlex.split(command)
        assert program == "slowwave"
        ended = cli(*arguments)
        assert (ended.code, ended.err) == (0, ""), command


@pytest.mark.skipif(shutil.which("git") is None, reason="there is no git")
def test_the_first_example_leaves_no_untracked_file(tmp_path: Path, cli: Cli) -> None:
    shutil.copy(ROOT / ".gitignore", tmp_path)
    cli("import", tmp_path / "memory.db", SMOKE).ends(0)
    cli("maintain", tmp_path / "memory.db", "--backup").ends(0)
    git = ("git", "-C", tmp_path)
    subprocess.run([*git, "init", "--quiet"], check=True)
    status = [*git, "status", "--porcelain", "--untracked-files=all"]
    ended = subprocess.run(status, check=True, capture_output=True, text=True)
    assert ended.stdout == "?? .gitignore\n"


@pytest.mark.parametrize("name", readme.LATER_EXAMPLES)
def test_an_example_after_the_first_one_works(
    name: str, tmp_path: Path, cli: Cli, monkeypatch: pytest.MonkeyPatch
) -> None:
    shutil.copytree(ROOT / "fixtures", tmp_path / "fixtures", ignore=_LARGE)
    monkeypatch.chdir(tmp_path)
    for command in commands_of(readme.example("example")) + commands_of(readme.example(name)):
        ended = cli(*shlex.split(command)[1:])
        assert (ended.code, ended.out != "") == (0, True), command


def test_the_file_example_works(tmp_path: Path, cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    copied, *commands = commands_of(readme.example("foreign"))
    program, source, to = copied.split()
    assert (program, to) == ("cp", ".")
    shutil.copy(ROOT / source, tmp_path)
    before = (tmp_path / Path(source).name).read_bytes()
    ended = [cli(*shlex.split(command)[1:]) for command in commands]
    assert [each.code for each in ended] == [0, 0, 0]
    assert len((tmp_path / Path(source).name).read_bytes()) < len(before)


def test_the_review_page_works(tmp_path: Path, cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "fixtures").mkdir()
    shutil.copy(SMOKE, tmp_path / "fixtures")
    monkeypatch.chdir(tmp_path)
    commands = commands_of(readme.example("review"))
    ended = [cli(*shlex.split(command)[1:]) for command in commands]
    assert [each.code for each in ended] == [0] * len(commands)


def test_the_smoke_fixture_of_ci_has_duplicates(tmp_path: Path, cli: Cli) -> None:
    assert cli("import", tmp_path / "smoke.db", SMOKE).code == 0
    cli("maintain", tmp_path / "smoke.db", "--dry-run", "--exit-code").ends(4)


def test_the_recorded_run_of_ci_equals_its_dry_run(tmp_path: Path, cli: Cli) -> None:
    memories, answers = tmp_path / "retold.db", tmp_path / "answers.jsonl"
    shutil.copy(readme.ANSWERS, answers)
    assert cli("import", memories, readme.RETOLD).code == 0
    maintain = ("maintain", memories, setting("replay", answers), "--json")
    planned, done = cli(*maintain, "--dry-run", "--ask"), cli(*maintain)
    assert (done.code, done.err) == (0, "")
    reports = (ended.json["proposals"] for ended in (planned, done))
    drafts, by_model = ([each for each in proposals if each["by_model"]] for proposals in reports)
    assert {each["operation"] for each in by_model} == {"merge", "synthesize", "extract", "update"}
    assert {each["state"] for each in by_model} == {"applied"}
    assert {each["draft"] for each in drafts} == {each["draft"] for each in by_model}
    (conflict,) = done.json["conflicts"]
    assert conflict["slot"] == "statement"
    (listed,) = cli("conflicts", memories, "--json").json["conflicts"]
    assert listed["sources"] == conflict["sources"]
    # Each detail is still in an active memory.
    exported = cli("export", memories).out
    for detail in ("25 minutes", "03:00", "!418", "Tove", "fixtures", "Imke", "1 April"):
        assert detail in exported
    assert cli(*maintain).json["proposals"] == []
