"""Commands on the memory file of another agent."""

from __future__ import annotations

import json
import shlex
import shutil
from pathlib import Path

import pytest
from cli_calls import Cli
from nights import execute, rows
from places import FORMATS
from reviews import planned, reviewed_night

from slowwave.extensions.formats.known_formats import recognised

RECORDED = FORMATS / "mcp-server-memory" / "memory.jsonl"


def test_only_a_mirror_has_the_tables_of_a_mirror(
    tmp_path: Path, memory_file: Path, cli: Cli
) -> None:
    path, tables = tmp_path / "memory.jsonl", "SELECT name FROM sqlite_schema WHERE name = 'links'"
    shutil.copy(RECORDED, path)
    assert cli("maintain", path, "--consolidate", "--format", "mcp-server-memory").code == 0
    mirror = Path(f"{path}.slowwave.db")
    assert len(rows(mirror, tables)) == 1
    execute(mirror, "DROP INDEX links_by_key")
    problems = cli("check", mirror, "--json").json["problems"]
    assert [problem["detail"] for problem in problems] == ["index links_by_key is missing"]
    assert cli("maintain", memory_file, "--consolidate").code == 0
    assert rows(memory_file, tables) == []


def test_a_refused_format_is_a_log_line_where_the_config_file_asks_for_lines(
    tmp_path: Path, cli: Cli
) -> None:
    path = tmp_path / "memory.jsonl"
    shutil.copy(RECORDED, path)
    (tmp_path / "slowwave.toml").write_text('log_format = "json"\n')
    ended = cli("maintain", path, "--consolidate", "--format", "hermes")
    assert ended.code == 2
    assert "not like hermes" in json.loads(ended.err)["message"]


def test_a_plan_of_another_agents_file_is_carried_out_in_it(tmp_path: Path, cli: Cli) -> None:
    path = tmp_path / "memory.jsonl"
    shutil.copy(RECORDED, path)
    before = path.read_bytes()
    plan = planned(cli, path)
    ended = cli("apply", path, plan, "--format", "mcp-server-memory", "--json")
    assert ended.code == 0
    assert path.read_bytes() != before
    assert cli("undo", path, ended.json["run"]).code == 0
    assert path.read_bytes() == before


def test_the_memory_file_of_another_agent_is_searched_and_left_as_it_is(
    tmp_path: Path, cli: Cli
) -> None:
    theirs = tmp_path / "memory.jsonl"
    shutil.copy(RECORDED, theirs)
    assert [item.name for item in recognised(theirs)] == ["mcp-server-memory"]
    before = theirs.read_bytes()
    assert cli("recall", theirs, "port", "--limit", "2", "--json").json["hits"]
    assert (theirs.read_bytes(), [item.name for item in tmp_path.iterdir()]) == (
        before,
        ["memory.jsonl"],
    )


def test_the_night_of_another_agents_file_has_a_report_too(tmp_path: Path, cli: Cli) -> None:
    file, page = tmp_path / "memory.jsonl", tmp_path / "night.html"
    shutil.copy(RECORDED, file)
    maintain = ("maintain", file, "--consolidate", "--report", page)
    assert cli(*maintain, "--dry-run").code == 0
    assert "What a run would do" in page.read_text("utf-8")
    assert cli(*maintain, "--format", "mcp-server-memory").code == 0
    assert shlex.join(["slowwave", "undo", str(file)]) in page.read_text("utf-8")
    assert cli("report", file, "--md", "-").code == 0


# The last: from here on each night of this module asks a model.
@pytest.mark.usefixtures("smoke_model")
def test_another_agents_file_is_changed_when_its_proposals_are_approved(
    tmp_path: Path, cli: Cli
) -> None:
    path = tmp_path / "memory.jsonl"
    shutil.copy(RECORDED, path)
    before = path.read_bytes()
    reviewed_night(cli, path, "always", "--format", "mcp-server-memory")
    assert path.read_bytes() == before
    ended = cli("review", path, "approve", "--all", "--json")
    assert ended.code == 0
    assert path.read_bytes() != before
    assert cli("undo", path, ended.json["run"]).code == 0
    assert path.read_bytes() == before


def test_an_entry_of_another_agents_file_is_corrected_in_its_place(
    tmp_path: Path, cli: Cli
) -> None:
    path = tmp_path / "memory.jsonl"
    shutil.copy(RECORDED, path)
    before = path.read_text("utf-8")
    wrong, right = "Billing listens on port 9090.", "Billing listens on port 9091."
    memories = cli("list", path, "--json").json["memories"]
    (port,) = (memory["id"] for memory in memories if memory["content"] == wrong)
    named = ("--format", "mcp-server-memory")
    assert cli("correct", path, port, "--text", right, *named, "--dry-run").code == 0
    assert path.read_text("utf-8") == before
    assert cli("correct", path, port, "--text", right, *named).code == 0
    assert path.read_text("utf-8") == before.replace(wrong, right)
    assert cli("undo", path).code == 0
    assert cli("correct", path, port, "--retract").code == 0
    assert wrong not in path.read_text("utf-8")
    assert cli("undo", path).code == 0
    assert path.read_text("utf-8") == before
