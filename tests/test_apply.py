"""A plan as a file: written by a dry run, thinned out by a person, and carried out."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from copy import deepcopy
from pathlib import Path
from typing import Any

import pytest
from nights import execute, picture, rows
from readme import ANSWERS, RETOLD, SMOKE
from test_cli import Cli, cli
from test_foreign import FORMATS
from test_review import active

__all__ = ["cli"]  # a fixture of test_cli, asked for by name

TABLES = ("memories", "proposals", "runs", "journal")


@pytest.fixture
def smoke(memory_file: Path, cli: Cli) -> Path:
    """Provide the nine memories of the README."""
    assert cli("import", memory_file, SMOKE).code == 0
    return memory_file


def planned(cli: Cli, path: Path, *options: object) -> Path:
    plan = path.with_name("plan.json")
    ended = cli("maintain", path, "--consolidate", "--dry-run", "--plan-out", plan, *options)
    assert ended.code == 0, ended.err
    return plan


def change(plan: Path, do: Callable[[list[dict[str, Any]]], object]) -> None:
    """Change the proposals of a plan, as a person would in an editor."""
    whole = json.loads(plan.read_text())
    do(whole["proposals"])
    plan.write_text(json.dumps(whole))


def test_a_plan_that_is_left_whole_leads_where_the_night_leads(
    smoke: Path, tmp_path: Path, cli: Cli
) -> None:
    other = tmp_path / "other.db"
    shutil.copy(smoke, other)
    cli("maintain", other, "--consolidate")
    before = smoke.read_bytes()
    plan = planned(cli, smoke)
    assert smoke.read_bytes() == before
    assert cli("apply", smoke, plan).code == 0
    assert active(smoke) == active(other)
    assert cli("check", smoke).code == 0


def test_what_was_taken_out_of_a_plan_is_not_done_and_the_rest_can_be_undone(
    smoke: Path, cli: Cli
) -> None:
    before = picture(smoke)
    plan = planned(cli, smoke)
    change(plan, lambda proposals: proposals.pop(1))
    ended = cli("apply", smoke, plan, "--json")
    assert [one["operation"] for one in ended.json["proposals"]] == ["merge", "synthesize"]
    assert "The backup of the wiki runs at 02:30 every night." in active(smoke)
    assert cli("undo", smoke, ended.json["run"]).code == 0
    assert picture(smoke) == before


def test_what_was_declined_since_is_told_and_not_done_unless_the_plan_reconsiders(
    smoke: Path, cli: Cli
) -> None:
    plan = planned(cli, smoke)
    assert cli("maintain", smoke, "--consolidate", "--review", "always").code == 0
    assert cli("review", smoke, "decline", "--operation", "update", "--reason", "no").code == 0
    ended = cli("apply", smoke, plan)
    assert (ended.code, "declined by a person: no" in ended.out) == (3, True)
    assert "none: a plan" in cli("log", smoke).out
    plan.unlink()
    assert cli("apply", smoke, planned(cli, smoke, "--reconsider")).code == 0


def test_a_plan_of_which_nothing_is_left_does_nothing(smoke: Path, cli: Cli) -> None:
    plan = planned(cli, smoke)
    change(plan, list.clear)
    assert cli("apply", smoke, plan).code == 0
    assert rows(smoke, "SELECT * FROM runs") == []


def test_a_proposal_whose_source_has_changed_is_stale_and_the_others_are_done(
    smoke: Path, cli: Cli
) -> None:
    plan = planned(cli, smoke)
    execute(smoke, "UPDATE memories SET content = 'It is gone.' WHERE content LIKE '%03:30%'")
    ended = cli("apply", smoke, plan, "--json")
    assert ended.code == 3
    states = {one["operation"]: one["state"] for one in ended.json["proposals"]}
    assert states == {"merge": "applied", "synthesize": "applied", "update": "stale"}


def test_a_plan_that_was_carried_out_is_stale_altogether(smoke: Path, cli: Cli) -> None:
    plan = planned(cli, smoke)
    cli("apply", smoke, plan)
    before = picture(smoke, TABLES)
    ended = cli("apply", smoke, plan)
    assert (ended.code, "3 stale. Nothing was changed." in ended.out) == (1, True)
    assert picture(smoke, TABLES) == before


def test_a_proposal_that_was_changed_in_a_plan_is_refused_with_all_others(
    smoke: Path, cli: Cli
) -> None:
    plan = planned(cli, smoke)
    whole = json.loads(plan.read_text())
    before = picture(smoke, TABLES)
    # By the names of what leads there: all that a person reads, and what is carried out.
    changes: list[tuple[list[str | int], object]] = [
        (["draft"], "Helvi settles nothing."),
        (["kept", "proposal", "leaving"], []),
        (["id"], "0" * 32),
        (["operation"], "merge"),
        (["reason"], "They say the same."),
        (["sources"], []),
        (["sources"], None),
        (["sources", 0], "Helvi settles nothing."),
        (["sources", 0, "content"], "Helvi settles nothing."),
        (["sources", 0, "content"], "half a character: \ud800"),
        (["sources", 0, "goes"], False),
        (["sources", 0, "note"], "Take this out."),
        (["note"], "Take this out."),
    ]
    for way, value in changes:
        changed = deepcopy(whole)
        there = changed["proposals"][2]
        for name in way[:-1]:
            there = there[name]
        there[way[-1]] = value
        plan.write_text(json.dumps(changed))
        ended = cli("apply", smoke, plan)
        assert (way, ended.code, "Proposal 3 of" in ended.err) == (way, 1, True)
    assert picture(smoke, TABLES) == before


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        (None, "Cannot read"),
        ("{", "not valid JSON"),
        ("[1]", "not a plan"),
        ('{"format": 1, "proposals": [7]}', "Proposal 1"),
        ('{"format": 9, "proposals": []}', "not a plan"),
    ],
)
def test_what_is_no_plan_is_told(
    smoke: Path, tmp_path: Path, cli: Cli, text: str | None, sentence: str
) -> None:
    plan = tmp_path / "plan.json"
    if text is not None:
        plan.write_text(text)
    ended = cli("apply", smoke, plan)
    assert (ended.code, sentence in ended.err) == (1, True)


def test_a_plan_is_written_over_nothing_and_only_its_owner_reads_it(smoke: Path, cli: Cli) -> None:
    plan = planned(cli, smoke)
    assert plan.stat().st_mode & 0o077 == 0
    before = smoke.read_bytes()
    ended = cli("maintain", smoke, "--consolidate", "--dry-run", "--plan-out", smoke)
    assert (ended.code, "exists already" in ended.err) == (2, True)
    assert smoke.read_bytes() == before


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["FILE", "--plan-out", "plan.json"], "--dry-run"),
        (["FILE", "FILE", "--dry-run", "--plan-out", "plan.json"], "one file"),
    ],
)
def test_where_no_plan_can_be_written_is_wrong_usage(
    smoke: Path, cli: Cli, arguments: list[str], sentence: str
) -> None:
    named = (smoke if one == "FILE" else one for one in arguments)
    ended = cli("maintain", *named, "--consolidate")
    assert (ended.code, sentence in ended.err) == (2, True)


def test_what_a_model_proposed_in_a_dry_run_is_carried_out_without_it(
    memory_file: Path, cli: Cli
) -> None:
    cli("import", memory_file, RETOLD)
    plan = planned(cli, memory_file, "--ask", "--replay", ANSWERS)
    change(plan, list.reverse)
    ended = cli("apply", memory_file, plan, "--json")
    assert {one["state"] for one in ended.json["proposals"]} == {"applied"}
    assert {"merge", "synthesize", "extract", "update"} == {
        one["operation"] for one in ended.json["proposals"]
    }


def test_a_plan_of_another_agents_file_is_carried_out_in_it(tmp_path: Path, cli: Cli) -> None:
    path = tmp_path / "memory.jsonl"
    shutil.copy(FORMATS / "mcp-server-memory" / "memory.jsonl", path)
    before = path.read_bytes()
    plan = planned(cli, path)
    ended = cli("apply", path, plan, "--format", "mcp-server-memory", "--json")
    assert ended.code == 0
    assert path.read_bytes() != before
    assert cli("undo", path, ended.json["run"]).code == 0
    assert path.read_bytes() == before
