"""Commands on the memory file of another agent."""

from __future__ import annotations

import json
import shlex
import shutil
from pathlib import Path

import pytest
from cli_calls import Cli
from nights import execute, rows, unchanged
from places import FORMATS
from reviews import planned, reviewed_night


@pytest.fixture
def theirs(tmp_path: Path) -> Path:
    """Provide a file of the MCP memory server's."""
    return Path(shutil.copy(FORMATS / "mcp-server-memory" / "memory.jsonl", tmp_path))


def test_only_mirrors_have_tables_of_a_mirror(theirs: Path, memory_file: Path, cli: Cli) -> None:
    tables = "SELECT name FROM sqlite_schema WHERE name = 'links'"
    assert cli("maintain", theirs, "--format", "mcp-server-memory").code == 0
    mirror = Path(f"{theirs}.slowwave.db")
    assert len(rows(mirror, tables)) == 1
    execute(mirror, "DROP INDEX links_by_key")
    problems = cli("check", mirror, "--json").json["problems"]
    assert [problem["detail"] for problem in problems] == ["index links_by_key is missing"]
    assert cli("maintain", memory_file).code == 0
    assert rows(memory_file, tables) == []


def test_a_refused_format_is_a_log_line_if_configured(theirs: Path, cli: Cli) -> None:
    theirs.with_name("slowwave.toml").write_text('log_format = "json"\n')
    ended = cli("maintain", theirs, "--format", "hermes").ends(2)
    assert "not like hermes" in json.loads(ended.err)["message"]


@pytest.mark.parametrize(
    ("option", "value"),
    [("--table", "memories:content,deleted=status:expired"), ("--state", "mirror.db")],
)
def test_a_memory_file_takes_no_options_of_others(
    option: str, value: str, memory_file: Path, cli: Cli
) -> None:
    cli("add", memory_file, "The port is 8080.")
    with unchanged(memory_file.read_bytes):
        cli("maintain", memory_file, option, value).ends(2, f"omit {option}")


def test_an_invalid_git_link_is_ignored(
    tmp_path: Path, cli: Cli, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / ".git").write_bytes(b"gitdir: \xff")
    monkeypatch.chdir(tmp_path)
    assert cli("formats", "--find").code == 0


def test_a_deleted_working_folder_is_named(
    tmp_path: Path, cli: Cli, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "gone").mkdir()
    monkeypatch.chdir(tmp_path / "gone")
    (tmp_path / "gone").rmdir()
    cli("formats", "--find").ends(1, "The current folder no longer exists.")


def test_a_plan_is_applied_to_another_agents_file(theirs: Path, cli: Cli) -> None:
    with unchanged(theirs.read_bytes):
        before, plan = theirs.read_bytes(), planned(cli, theirs)
        ended = cli("apply", theirs, plan, "--format", "mcp-server-memory", "--json").ends(0)
        assert theirs.read_bytes() != before
        assert cli("undo", theirs, ended.json["run"]).code == 0


def test_recall_searches_another_agents_file(theirs: Path, cli: Cli) -> None:
    with unchanged(theirs.read_bytes):
        assert cli("recall", theirs, "port", "--limit", "2", "--json").json["hits"]
    assert list(theirs.parent.iterdir()) == [theirs]


def test_a_run_over_another_agents_file_has_a_report(theirs: Path, cli: Cli) -> None:
    page = theirs.with_name("night.html")
    maintain = ("maintain", theirs, "--report", page)
    assert cli(*maintain, "--format", "mcp-server-memory").code == 0
    assert shlex.join(["slowwave", "undo", str(theirs)]) in page.read_text("utf-8")
    assert cli("report", theirs, "--md", "-").code == 0


# The last: from here on each night of this module asks a model.
@pytest.mark.usefixtures("smoke_model")
def test_an_approval_changes_another_agents_file(theirs: Path, cli: Cli) -> None:
    with unchanged(theirs.read_bytes):
        with unchanged(theirs.read_bytes):
            reviewed_night(cli, theirs, "always", "--format", "mcp-server-memory")
        before = theirs.read_bytes()
        ended = cli("review", theirs, "approve", "--all", "--json").ends(0)
        assert theirs.read_bytes() != before
        assert cli("undo", theirs, ended.json["run"]).code == 0


def test_correct_changes_an_entry_of_another_agents_file(theirs: Path, cli: Cli) -> None:
    before = theirs.read_text("utf-8")
    wrong, right = "Billing listens on port 9090.", "Billing listens on port 9091."
    memories = cli("list", theirs, "--json").json["memories"]
    (port,) = (memory["id"] for memory in memories if memory["content"] == wrong)
    correct = ("correct", theirs, port, "--text", right, "--format", "mcp-server-memory")
    with unchanged(theirs.read_text, "utf-8"):
        assert cli(*correct, "--dry-run").code == 0
    for command, after in (
        (correct, before.replace(wrong, right)),
        (("correct", theirs, port, "--retract"), None),
    ):
        assert cli(*command).code == 0
        assert after is None or theirs.read_text("utf-8") == after
        assert wrong not in theirs.read_text("utf-8")
        assert cli("undo", theirs).code == 0
        assert theirs.read_text("utf-8") == before


@pytest.mark.parametrize("name", ["MEMORY.md", "memory.jsonl"])
def test_a_text_in_another_encoding_is_named(name: str, tmp_path: Path, cli: Cli) -> None:
    path = tmp_path / name
    path.write_bytes("- Käthe backt Brot.\n".encode("latin-1"))
    cli("maintain", path, "--dry-run").ends(10, f"{path} is not valid UTF-8")
