"""Databases of other agents: rows are hidden and restored, and nothing else is changed."""

from __future__ import annotations

import json
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from agents_files import consolidate, recorded
from cli_calls import Cli
from nights import each_adding_something, execute, more_of_it, rows, unchanged

from slowwave.extensions.formats.known_formats import recognised

TABLES = {"mcp-memory-service": "memories", "langgraph": "store"}
VISIBLE = {
    "mcp-memory-service": "SELECT content AS text FROM memories WHERE deleted_at IS NULL "
    "AND coalesce(superseded_by, '') = '' ORDER BY id",
    "langgraph": "SELECT CAST(value AS text) AS text FROM store WHERE prefix LIKE 'memories.%' "
    "OR prefix LIKE 'profiles.%' ORDER BY prefix, key",
}

DELETED = {
    "mcp-memory-service": "UPDATE memories SET deleted_at = 1 WHERE content LIKE '%9090%'",
    "langgraph": "DELETE FROM store WHERE CAST(value AS text) LIKE '%8080%'",
}


@pytest.fixture(params=TABLES)
def name(request: pytest.FixtureRequest) -> str:
    """Provide the name of a format."""
    return str(request.param)


@pytest.fixture
def path(name: str, tmp_path: Path) -> Path:
    """Provide a database as its package leaves it."""
    return recorded(name, tmp_path / "agent.db")


def table(name: str, path: Path) -> list[dict[str, Any]]:
    return rows(path, f"SELECT * FROM {TABLES[name]} ORDER BY 1, 2")


def visible_texts(name: str, path: Path) -> list[str]:
    """Return the texts that its agent finds."""
    return [row["text"] for row in rows(path, VISIBLE[name])]


@pytest.fixture
def langgraph(tmp_path: Path) -> Path:
    """Provide a database of LangGraph's."""
    return recorded("langgraph", tmp_path / "agent.db")


@pytest.fixture
def service(tmp_path: Path) -> Path:
    """Provide a database of mcp-memory-service's."""
    return recorded("mcp-memory-service", tmp_path / "agent.db")


def test_only_its_own_format_recognizes_a_database(name: str, path: Path, tmp_path: Path) -> None:
    assert [format.name for format in recognised(path)] == [name]
    execute(tmp_path / "other.db", "CREATE TABLE memories (id INTEGER PRIMARY KEY, content TEXT)")
    assert recognised(tmp_path / "other.db") == []


def test_only_the_column_that_hides_a_row_is_changed(name: str, path: Path, cli: Cli) -> None:
    before, texts = table(name, path), visible_texts(name, path)
    consolidate(cli, name, path)
    assert set(visible_texts(name, path)) < set(texts)
    assert len(table(name, path)) == len(before)
    hiding = {"mcp-memory-service": "superseded_by", "langgraph": "prefix"}[name]
    by_content = {item.get("content_hash") or item["key"]: item for item in table(name, path)}
    for item in before:
        now = by_content[item.get("content_hash") or item["key"]]
        assert {**now, hiding: None} == {**item, hiding: None}


def test_langgraph_profiles_and_expiring_rows_are_left_alone(langgraph: Path, cli: Cli) -> None:
    execute(langgraph, "UPDATE store SET expires_at = '2099-01-01' WHERE key = 'm4'")
    consolidate(cli, "langgraph", langgraph)
    keys = {(row["prefix"], row["key"]) for row in table("langgraph", langgraph)}
    assert {("profiles.ravi", "p"), ("memories.eva", "m3"), ("memories.ravi", "m4")} < keys


def put(path: Path, key: str, text: str, day: int) -> None:
    """Store a memory as LangGraph does."""
    value = json.dumps({"content": text}, ensure_ascii=False, separators=(",", ":")).encode()
    columns = "prefix, key, value, created_at, updated_at"
    insert = f"INSERT INTO store ({columns}) VALUES ('memories.helvi', ?1, ?2, ?3, ?3)"
    execute(path, insert, key, value, f"2026-02-{day:02d} 09:00:00")


def put_in_turn(path: Path, texts: list[str], first_day: int = 1) -> None:
    """Store one text per day, with the day in its key."""
    for day, text in enumerate(texts, first_day):
        put(path, f"h{day}", text, day)


def visible_rows(path: Path) -> list[dict[str, Any]]:
    """Return the rows of LangGraph's that are not superseded."""
    return [row for row in table("langgraph", path) if row["prefix"] == "memories.helvi"]


def test_langgraph_without_vectors_gets_new_rows_and_undo_deletes_them(
    langgraph: Path, cli: Cli, scripted: tuple[str, ...]
) -> None:
    execute(langgraph, "DELETE FROM store")
    texts = each_adding_something()
    put_in_turn(langgraph, texts)
    before = table("langgraph", langgraph)
    runs = [consolidate(cli, "langgraph", langgraph, *scripted)]
    (new,) = visible_rows(langgraph)
    assert new["created_at"] == f"2026-02-{len(texts):02d} 09:00:00"
    assert json.loads(new["value"]).keys() == {"content"}
    assert isinstance(new["value"], bytes)
    assert cli("maintain", langgraph, "--json", *scripted).json["proposals"] == []
    put_in_turn(langgraph, more_of_it()[:1], len(texts) + 1)
    runs.append(consolidate(cli, "langgraph", langgraph, *scripted))
    for run in reversed(runs):
        assert cli("log", langgraph, run, "--json").json["proposals"]
        assert cli("undo", langgraph, run).code == 0
    remaining = [row for row in table("langgraph", langgraph) if row["key"] != f"h{len(texts) + 1}"]
    assert remaining == before


def test_a_langgraph_key_may_be_superseded_twice(langgraph: Path, cli: Cli) -> None:
    execute(langgraph, "DELETE FROM store")
    text = "The api listens on port 8080."
    put(langgraph, "first", text, 3)
    put(langgraph, "again", text, 4)
    consolidate(cli, "langgraph", langgraph)
    (gone,) = {"first", "again"} - {row["key"] for row in visible_rows(langgraph)}
    put(langgraph, gone, text, 5)
    with unchanged(table, "langgraph", langgraph):
        run = consolidate(cli, "langgraph", langgraph)
        assert len(visible_rows(langgraph)) == 1
        assert cli("undo", langgraph, run).code == 0


def test_langgraph_with_unknown_vectors_gets_no_new_rows(
    langgraph: Path, cli: Cli, scripted: tuple[str, ...]
) -> None:
    execute(langgraph, "CREATE TABLE store_vectors (prefix, key, field_name, embedding)")
    execute(langgraph, "INSERT INTO store_vectors VALUES ('memories.ravi', 'm0', '$', x'00')")
    execute(langgraph, "DELETE FROM store WHERE prefix <> 'memories.helvi'")
    put_in_turn(langgraph, each_adding_something())
    done = cli("maintain", langgraph, "--format", "langgraph", "--json", *scripted).json
    assert {proposal["operation"] for proposal in done["proposals"]} <= {"merge"}
    assert not [row for row in table("langgraph", langgraph) if row["key"].startswith("slowwave-")]


def test_a_row_without_its_vector_replaces_nothing(service: Path, cli: Cli) -> None:
    execute(service, "UPDATE memories SET embedding_pending = 1")
    ended = cli("maintain", service, "--format", "mcp-memory-service", "--json")
    assert ended.json["proposals"] == []


def test_a_hidden_row_names_its_successor_and_protected_tags_stay(service: Path, cli: Cli) -> None:
    execute(service, "UPDATE memories SET tags = 'critical,t' WHERE content LIKE 'Refunds%'")
    consolidate(cli, "mcp-memory-service", service)
    (hidden,) = rows(service, "SELECT * FROM memories WHERE superseded_by <> ''")
    assert "8080" in hidden["content"]
    successor = "SELECT content FROM memories WHERE content_hash = ? AND superseded_by IS NULL"
    assert "8080" in rows(service, successor, hidden["superseded_by"])[0]["content"]


def test_a_replicated_database_is_refused(service: Path, cli: Cli) -> None:
    execute(service, "DROP TABLE IF EXISTS sync_events")
    execute(service, "CREATE TABLE sync_events (id INTEGER)")
    execute(service, "INSERT INTO sync_events VALUES (1)")
    with unchanged(table, "mcp-memory-service", service):
        cli("maintain", service, "--format", "mcp-memory-service").ends(10, "replicas")


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


def test_a_dry_run_leaves_no_log_next_to_a_database(name: str, path: Path, cli: Cli) -> None:
    execute(path, "PRAGMA journal_mode = WAL")
    files = sorted(path.parent.iterdir())
    with unchanged(path.read_bytes):
        assert cli("maintain", path, "--dry-run").code == 0
    assert sorted(path.parent.iterdir()) == files


def test_a_newer_version_has_a_warning(name: str, path: Path, cli: Cli) -> None:
    assert "has schema" not in cli("maintain", path, "--dry-run").err
    for statement in NEWER[name]:
        execute(path, statement)
    cli("maintain", path, "--format", name).ends(0, "has schema 99")


def test_an_unknown_layout_is_refused(name: str, path: Path, cli: Cli) -> None:
    execute(path, WITHOUT_A_COLUMN[name])
    with unchanged(path.read_bytes):
        assert recognised(path) == []
        cli("maintain", path, "--format", name).ends(10, "is not ")


def test_a_deleted_row_is_archived_and_stays_deleted(name: str, path: Path, cli: Cli) -> None:
    consolidate(cli, name, path)
    execute(path, DELETED[name])
    with unchanged(table, name, path):
        assert cli("maintain", path).code == 0
    gone = cli("list", path, "--status", "archived", "--json").json["memories"]
    assert gone


def test_maintain_exits_11_for_a_locked_database(
    name: str, path: Path, cli: Cli, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("slowwave.store.connection.BUSY_TIMEOUT_MS", 300)
    with unchanged(table, name, path), closing(sqlite3.connect(path, isolation_level=None)) as db:
        db.execute("BEGIN IMMEDIATE")
        assert cli("maintain", path, "--format", name).code == 11
        db.execute("ROLLBACK")
