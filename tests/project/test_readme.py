"""The README says what the program does: its examples are run, its tables compared."""

from __future__ import annotations

import shlex
import shutil
from pathlib import Path

import pytest
import readme
from cli_calls import Cli
from commands import setting
from model_nights import SMOKE
from places import ROOT
from readme import commands_of


@pytest.mark.parametrize("name", readme.PARTS)
def test_what_the_program_writes_is_on_the_pages(name: str) -> None:
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


def test_the_smoke_fixture_of_ci_has_something_to_do(tmp_path: Path, cli: Cli) -> None:
    assert cli("import", tmp_path / "smoke.db", SMOKE).code == 0
    cli("maintain", tmp_path / "smoke.db", "--dry-run", "--exit-code").ends(4)


def test_the_recorded_night_of_ci_goes_a_models_way_without_one(tmp_path: Path, cli: Cli) -> None:
    memories, answers = tmp_path / "retold.db", tmp_path / "answers.jsonl"
    shutil.copy(readme.ANSWERS, answers)
    assert cli("import", memories, readme.RETOLD).code == 0
    maintained = ("maintain", memories, setting("replay", answers), "--json")
    night = cli(*maintained)
    assert (night.code, night.err) == (0, "")
    by_model = [proposal for proposal in night.json["proposals"] if proposal["by_model"]]
    assert {each["operation"] for each in by_model} == {"merge", "synthesize", "extract", "update"}
    assert {each["state"] for each in by_model} == {"applied"}
    (conflict,) = night.json["conflicts"]
    assert conflict["slot"] == "statement"
    listed = cli("conflicts", memories, "--json").json["conflicts"]
    assert [each["sources"] for each in listed] == [conflict["sources"]]
    # Each detail is still in an active memory.
    exported = cli("export", memories).out
    for detail in ("25 minutes", "03:00", "!418", "Tove", "fixtures", "Imke", "1 April"):
        assert detail in exported
    assert cli(*maintained).json["proposals"] == []


def test_a_dry_run_with_a_recording_plans_what_happens(tmp_path: Path, cli: Cli) -> None:
    memories, answers = tmp_path / "retold.db", tmp_path / "answers.jsonl"
    shutil.copy(readme.ANSWERS, answers)
    assert cli("import", memories, readme.RETOLD).code == 0
    night = ("maintain", memories, setting("replay", answers), "--json")
    planned, done = cli(*night, "--dry-run", "--ask"), cli(*night)
    drafts = [
        {
            (proposal["operation"], proposal["draft"])
            for proposal in ended.json["proposals"]
            if proposal["by_model"]
        }
        for ended in (planned, done)
    ]
    assert drafts[0] == drafts[1]
