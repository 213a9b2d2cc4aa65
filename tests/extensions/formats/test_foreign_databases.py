"""Databases of other agents: rows are hidden and brought back, and nothing else is touched."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from agents_files import consolidated
from cli_calls import Cli
from disturbed import assert_kills_leave_all_or_nothing
from nights import each_adding_something, execute, more_of_it, rows, unchanged
from places import FORMATS

from slowwave.extensions.formats.known_formats import recognised

TABLES = {"mcp-memory-service": "memories", "langgraph": "store"}
# What its agent finds.
VISIBLE = {
    "mcp-memory-service": "SELECT content AS said FROM memories WHERE deleted_at IS NULL "
    "AND coalesce(superseded_by, '') = '' ORDER BY id",
    "langgraph": "SELECT CAST(value AS text) AS said FROM store WHERE prefix LIKE 'memories.%' "
    "OR prefix LIKE 'profiles.%' ORDER BY prefix, key",
}
DELETED = {
    "mcp-memory-service": "UPDATE memories SET deleted_at = 1 WHERE content LIKE '%9090%'",
    "langgraph": "DELETE FROM store WHERE CAST(value AS text) LIKE '%8080%'",
}


@pytest.fixture(params=TABLES)
def sample(request: pytest.FixtureRequest, tmp_path: Path) -> tuple[str, Path]:
    """Provide the name of a format, and a database as its package leaves it."""
    name = str(request.param)
    path = tmp_path / "agent.db"
    with closing(sqlite3.connect(path)) as db:
        db.executescript((FORMATS / f"{name}.sql").read_text("utf-8"))
    return name, path


of_langgraph, of_memory_service = (
    pytest.mark.parametrize("sample", [name], indirect=True)
    for name in ("langgraph", "mcp-memory-service")
)


def table(name: str, path: Path) -> list[dict[str, Any]]:
    return rows(path, f"SELECT * FROM {TABLES[name]} ORDER BY 1, 2")


def said(name: str, path: Path) -> list[str]:
    return [row["said"] for row in rows(path, VISIBLE[name])]


def test_only_its_own_format_takes_a_database(sample: tuple[str, Path], tmp_path: Path) -> None:
    name, path = sample
    assert [item.name for item in recognised(path)] == [name]
    execute(tmp_path / "other.db", "CREATE TABLE memories (id INTEGER PRIMARY KEY, content TEXT)")
    assert recognised(tmp_path / "other.db") == []


def test_only_the_column_that_hides_a_row_is_changed(sample: tuple[str, Path], cli: Cli) -> None:
    name, path = sample
    before, visible = table(name, path), said(name, path)
    consolidated(cli, name, path)
    assert set(said(name, path)) < set(visible)
    assert len(table(name, path)) == len(before)
    hiding = {"mcp-memory-service": "superseded_by", "langgraph": "prefix"}[name]
    by_content = {item.get("content_hash") or item["key"]: item for item in table(name, path)}
    for item in before:
        now = by_content[item.get("content_hash") or item["key"]]
        assert {**now, hiding: None} == {**item, hiding: None}


@of_langgraph
def test_langgraph_profiles_are_left_alone(sample: tuple[str, Path], cli: Cli) -> None:
    name, path = sample
    execute(path, "UPDATE store SET expires_at = '2099-01-01' WHERE key = 'm4'")
    consolidated(cli, name, path)
    left = {(item["prefix"], item["key"]) for item in table(name, path)}
    kept = {("profiles.ravi", "p"), ("memories.eva", "m3"), ("memories.ravi", "m4")}
    assert kept < left


def put(path: Path, key: str, text: str, day: str) -> None:
    """Tell something as LangGraph's put does."""
    value = json.dumps({"content": text}, ensure_ascii=False, separators=(",", ":")).encode()
    columns = "prefix, key, value, created_at, updated_at"
    insert = f"INSERT INTO store ({columns}) VALUES ('memories.helvi', ?1, ?2, ?3, ?3)"
    execute(path, insert, key, value, f"{day} 09:00:00")


def put_in_turn(path: Path, texts: list[str], first_day: int = 1) -> None:
    """Tell a text a day, under the name of its day."""
    for day, text in enumerate(texts, first_day):
        put(path, f"h{day}", text, f"2026-02-{day:02d}")


@of_langgraph
def test_of_langgraph_a_store_without_vectors_takes_new_texts_and_gives_the_rows_back(
    sample: tuple[str, Path], cli: Cli, scripted: tuple[str, ...]
) -> None:
    name, path = sample
    execute(path, "DELETE FROM store")
    texts = each_adding_something()
    put_in_turn(path, texts)
    before = table(name, path)
    run = consolidated(cli, name, path, *scripted)
    (made,) = [item for item in table(name, path) if item["prefix"] == "memories.helvi"]
    assert made["created_at"] == f"2026-02-{len(texts):02d} 09:00:00"
    assert json.loads(made["value"]).keys() == {"content"}
    assert rows(path, "SELECT typeof(value) AS kind FROM store WHERE key LIKE 'slowwave-%'") == [
        {"kind": "blob"}
    ]
    assert cli("maintain", path, "--json", *scripted).json["proposals"] == []
    put_in_turn(path, more_of_it()[:1], len(texts) + 1)
    more = consolidated(cli, name, path, *scripted)
    for item in (more, run):
        assert cli("log", path, item, "--json").json["proposals"]
        assert cli("undo", path, item).code == 0
    left = [item for item in table(name, path) if item["key"] != f"h{len(texts) + 1}"]
    assert left == before


@of_langgraph
def test_a_langgraph_key_may_be_superseded_twice(sample: tuple[str, Path], cli: Cli) -> None:
    name, path = sample
    execute(path, "DELETE FROM store")
    put(path, "first", "The api listens on port 8080.", "2026-02-03")
    put(path, "again", "The api listens on port 8080.", "2026-02-04")
    runs = [consolidated(cli, name, path)]
    (gone,) = {"first", "again"} - {
        item["key"] for item in table(name, path) if item["prefix"] == "memories.helvi"
    }
    put(path, gone, "The api listens on port 8080.", "2026-02-05")
    with unchanged(table, name, path):
        runs.append(consolidated(cli, name, path))
        assert len([item for item in table(name, path) if item["prefix"] == "memories.helvi"]) == 1
        assert cli("undo", path, runs[1]).code == 0


@of_langgraph
def test_of_langgraph_a_store_with_vectors_takes_no_new_texts(
    sample: tuple[str, Path], cli: Cli, scripted: tuple[str, ...]
) -> None:
    name, path = sample
    execute(path, "CREATE TABLE store_vectors (prefix, key, field_name, embedding)")
    execute(path, "INSERT INTO store_vectors VALUES ('memories.ravi', 'm0', '$', x'00')")
    execute(path, "DELETE FROM store WHERE prefix <> 'memories.helvi'")
    put_in_turn(path, each_adding_something())
    done = cli("maintain", path, "--format", name, "--json", *scripted).json
    assert {proposal["operation"] for proposal in done["proposals"]} <= {"merge"}
    assert not [item for item in table(name, path) if item["key"].startswith("slowwave-")]


@of_memory_service
def test_a_row_that_lacks_its_vector_replaces_nothing(sample: tuple[str, Path], cli: Cli) -> None:
    name, path = sample
    execute(path, "UPDATE memories SET embedding_pending = 1")
    assert cli("maintain", path, "--format", name, "--json").json["proposals"] == []


@of_memory_service
def test_the_winner_exists_and_protected_tags_stay(sample: tuple[str, Path], cli: Cli) -> None:
    name, path = sample
    execute(path, "UPDATE memories SET tags = 'critical,t' WHERE content LIKE 'Refunds%'")
    consolidated(cli, name, path)
    hidden = rows(path, "SELECT content, superseded_by FROM memories WHERE superseded_by <> ''")
    assert len(hidden) == 1
    assert "8080" in hidden[0]["content"]
    winner = "SELECT content FROM memories WHERE content_hash = ? AND superseded_by IS NULL"
    assert "8080" in rows(path, winner, hidden[0]["superseded_by"])[0]["content"]


@of_memory_service
def test_a_file_that_others_follow_is_refused(sample: tuple[str, Path], cli: Cli) -> None:
    name, path = sample
    execute(path, "DROP TABLE IF EXISTS sync_events")
    execute(path, "CREATE TABLE sync_events (id INTEGER)")
    execute(path, "INSERT INTO sync_events VALUES (1)")
    with unchanged(table, name, path):
        cli("maintain", path, "--format", name).ends(10, "replicas")


NEWER = {
    "mcp-memory-service": (
        "CREATE TABLE migration_registry (version INTEGER)",
        "INSERT INTO migration_registry VALUES (99)",
    ),
    "langgraph": ("INSERT INTO store_migrations VALUES (99)",),
}
WITHOUT_A_COLUMN = {
    "mcp-memory-service": "ALTER TABLE memories RENAME COLUMN superseded_by TO replaced_by",
    "langgraph": "ALTER TABLE store RENAME COLUMN prefix TO namespace",
}


def test_a_newer_version_has_a_warning(sample: tuple[str, Path], cli: Cli) -> None:
    name, path = sample
    assert "has schema" not in cli("maintain", path, "--dry-run").err
    for statement in NEWER[name]:
        execute(path, statement)
    cli("maintain", path, "--format", name).ends(0, "has schema 99")


def test_an_unknown_layout_is_refused(sample: tuple[str, Path], cli: Cli) -> None:
    name, path = sample
    execute(path, WITHOUT_A_COLUMN[name])
    with unchanged(path.read_bytes):
        assert recognised(path) == []
        cli("maintain", path, "--format", name).ends(10, "is not ")


def test_a_deleted_row_is_archived_and_stays_deleted(sample: tuple[str, Path], cli: Cli) -> None:
    name, path = sample
    consolidated(cli, name, path)
    execute(path, DELETED[name])
    with unchanged(table, name, path):
        assert cli("maintain", path).code == 0
    gone = cli("list", path, "--status", "archived", "--json").json["memories"]
    assert gone


def test_a_database_that_its_agent_is_writing_to_is_waited_for_and_then_told(
    sample: tuple[str, Path], cli: Cli, monkeypatch: pytest.MonkeyPatch
) -> None:
    name, path = sample
    monkeypatch.setattr("slowwave.store.connection.BUSY_TIMEOUT_MS", 300)
    with unchanged(table, name, path):
        with closing(sqlite3.connect(path, isolation_level=None)) as agent:
            agent.execute("BEGIN IMMEDIATE")
            ended = cli("maintain", path, "--format", name)
            agent.execute("ROLLBACK")
        assert ended.code == 11


def test_a_kill_at_any_step_leaves_a_whole_database_and_the_next_run_finishes(
    sample: tuple[str, Path], cli: Cli, rounds: Callable[[int, int], int]
) -> None:
    name, path = sample
    if name != "langgraph" and rounds(1, 0):
        pytest.skip("in make test-long")
    command = ["maintain", str(path), "--format", name, "--json"]
    assert_kills_leave_all_or_nothing(cli, command, path, lambda: table(name, path), rounds)
