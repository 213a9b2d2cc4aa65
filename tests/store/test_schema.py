"""The schema: constraints, defaults and migrations."""

from __future__ import annotations

import re
import sqlite3
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing
from pathlib import Path
from typing import Any

import pytest
from builders import (
    all_memories,
    changing,
    damage_root,
    older_file,
    process,
    run_on_a_small_disk,
    with_steps,
)
from nights import execute, picture, rows, unchanged

from slowwave.store import schema_of_file
from slowwave.store.check import check_file
from slowwave.store.errors import StoreError, UnusableFile
from slowwave.store.extension_points import extension_tables, run_script
from slowwave.store.file import (
    create_file,
    migrate_file,
    open_reading,
    open_writing,
    schema_version,
)
from slowwave.store.records import UNDATED, content_hash
from slowwave.store.schema_of_file import newest_version

TABLES = {
    *("memories", "embeddings", "entities", "memory_entities"),
    *("synthesized_from", "derivations", "runs", "proposals", "journal", "answers"),
    *("memos", "neighbours", "changes", "standing", "asked", "disputes", "witnesses"),
    *("witness_vectors", "read_messages", "memory_messages", "waiting_messages"),
}

# Values of columns that must not be null; others get "x" or 1.
NEEDED: dict[str, Any] = {
    **{"memory_id": "m-1", "source_id": "m-1", "derived_id": "m-2", "run_id": "run-1"},
    **{"operation": "merge", "vector": b"\x00\x00\x80\x3f", "row_key": "{}", "after": "{}"},
    **dict.fromkeys(("options", "numbers", "image"), "{}"),
    **dict.fromkeys(("sources", "claims", "quotes", "names"), "[]"),
}
CONSTRAINED = {
    **{"memories": {}, "embeddings": {}, "entities": {}, "synthesized_from": {}, "runs": {}},
    **{"derivations": {}, "read_messages": {}, "memory_messages": {}, "witnesses": {}},
    **{"proposals": {"state": "applied"}, "journal": {}},
    "waiting_messages": {"state": "waiting", "content": "{}"},
}


def row_of(db: sqlite3.Connection, table: str) -> dict[str, Any]:
    """Return a row of a table, with a value for each column that must have one."""
    sql = 'FROM pragma_table_info(?) WHERE "notnull" AND dflt_value IS NULL'
    columns = db.execute(f"SELECT name, type {sql}", [table])
    needed = {name: NEEDED.get(name, "x" if kind == "TEXT" else 1) for name, kind in columns}
    return needed | CONSTRAINED[table]


NOT_JSON = ("", "[", "{", "null", "1", "[NaN]", '{"a": Infinity}')
NO_DATE = ("", "yesterday", "12:00", "1735689600", "2026-02-30", "2026-13-01", "10/03/2026")
REFUSED: dict[tuple[str, str], tuple[object, ...]] = {
    ("memories", "content"): ("", None),
    ("memories", "tenant"): ("", None),
    ("memories", "id"): (None,),
    ("memories", "kind"): ("", "Fact", "facts", "rule", None, 1),
    ("memories", "layer"): ("", "episodic", None),
    ("memories", "status"): ("", "deleted", "ACTIVE", None),
    ("memories", "origin"): ("", "user", None),
    ("memories", "trust"): (-0.01, 1.01, 50, "high", float("inf"), None),
    ("memories", "importance"): (0, 6, 2.5, "high", None),
    ("memories", "pinned"): (2, -1, "yes", None),
    ("memories", "generation"): (-1, None),
    ("memories", "access_count"): (-1, None),
    ("memories", "tags"): (*NOT_JSON, "{}", None),
    ("memories", "metadata"): (*NOT_JSON, "[]", None),
    ("memories", "observed_at"): (*NO_DATE, None),
    ("memories", "created_at"): (*NO_DATE, None),
    ("memories", "updated_at"): (*NO_DATE, None),
    ("memories", "accessed_at"): NO_DATE,
    ("memories", "expires_at"): NO_DATE,
    ("memories", "superseded_at"): NO_DATE,
    ("embeddings", "dimensions"): (0, -1, 2, None),
    ("embeddings", "vector"): (b"", b"\x00" * 3, b"\x00" * 8, "text", None),
    ("entities", "name"): ("", None),
    ("synthesized_from", "operation"): ("", "copy", "Merge", None),
    ("derivations", "operation"): ("", "copy", None),
    ("derivations", "claims"): (*NOT_JSON, "{}", None),
    ("runs", "outcome"): ("", "ok", None),
    ("runs", "options"): (*NOT_JSON, "[]", None),
    ("runs", "report"): (*NOT_JSON, "[]"),
    ("proposals", "operation"): ("", "copy", None),
    ("proposals", "state"): ("", "planned", "done", None),
    ("proposals", "sources"): (*NOT_JSON, "{}", None),
    ("proposals", "numbers"): (*NOT_JSON, "[]", None),
    ("memory_messages", "quotes"): (*NOT_JSON, "{}", None),
    ("waiting_messages", "content"): (*NOT_JSON, "[]", None),
    ("waiting_messages", "state"): ("", "gone", None),
    ("witnesses", "image"): (*NOT_JSON, "[]", None),
    ("witnesses", "names"): (*NOT_JSON, "{}", None),
    ("journal", "row_key"): (*NOT_JSON, "[]", None),
    ("journal", "before"): (*NOT_JSON, "[]"),
    ("journal", "after"): (*NOT_JSON, "[]", None),
}


@pytest.fixture(scope="module")
def connection(tmp_path_factory: pytest.TempPathFactory) -> Any:
    """Provide an agent's connection to a file with one memory and one run."""
    path = tmp_path_factory.mktemp("schema") / "memory.db"
    create_file(path)
    with closing(sqlite3.connect(path, isolation_level=None)) as db:
        db.execute("INSERT INTO memories (id, content) VALUES ('m-1', 'x')")
        db.execute("INSERT INTO runs VALUES ('run-1', '', NULL, '', '{}', NULL, 'done', NULL)")
        yield db


def insert(db: sqlite3.Connection, table: str, row: dict[str, Any]) -> int:
    """Try to insert a row, roll back, and return the number of inserted rows."""
    names, marks = ", ".join(row), ", ".join("?" * len(row))
    db.execute("BEGIN")
    try:
        sql = f"INSERT INTO {table} ({names}) VALUES ({marks})"
        return db.execute(sql, list(row.values())).rowcount
    finally:
        db.execute("ROLLBACK")


@pytest.mark.parametrize("table", CONSTRAINED)
def test_a_valid_row_can_be_inserted(connection: sqlite3.Connection, table: str) -> None:
    assert insert(connection, table, row_of(connection, table)) == 1


@pytest.mark.parametrize(("table", "column"), REFUSED)
def test_bad_values_are_refused(connection: sqlite3.Connection, table: str, column: str) -> None:
    for value in REFUSED[table, column]:
        with pytest.raises(sqlite3.IntegrityError, match=column):
            insert(connection, table, row_of(connection, table) | {column: value})
            pytest.fail(f"{value!r} was accepted")


def test_a_file_has_the_documented_tables_with_comments(memory_file: Path) -> None:
    tables = rows(
        memory_file,
        "SELECT name, sql FROM sqlite_schema WHERE type = 'table' "
        "AND name NOT LIKE 'sqlite\\_%' ESCAPE '\\' AND name <> '_sqlite_migrations'",
    )
    assert {row["name"] for row in tables} == TABLES
    for row in tables:
        assert re.match(rf"CREATE TABLE \"?{row['name']}\"? \(\n\s+-- A row per \w+", row["sql"])


def test_an_insert_in_sql_needs_only_the_content(memory_file: Path) -> None:
    for _ in range(2):
        execute(memory_file, "INSERT INTO memories (content) VALUES ('the deploy runs at noon')")
    memory, twin = all_memories(memory_file)
    assert len(memory.id) == len(twin.id) == 32
    assert memory.id != twin.id
    assert memory.content_hash == content_hash("the deploy runs at noon")
    assert (memory.tenant, memory.kind, memory.layer) == ("default", "fact", "working")
    assert (memory.status, memory.origin, memory.generation) == ("active", "agent", 0)
    assert (memory.trust, memory.importance, memory.pinned) == (0.5, 3, False)
    assert (memory.tags, memory.metadata, memory.access_count) == ((), {}, 0)
    assert memory.observed_at == memory.created_at == memory.updated_at
    assert re.fullmatch(r"20\d\d-\d\d-\d\dT\d\d:\d\d:\d\d\+00:00", memory.created_at)
    assert (memory.accessed_at, memory.expires_at, memory.superseded_by) == (None, None, None)


@pytest.fixture
def _in_tokyo(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    with monkeypatch.context() as there:
        there.setenv("TZ", "Asia/Tokyo")
        time.tzset()
        yield
    time.tzset()


@pytest.mark.usefixtures("_in_tokyo")
@pytest.mark.parametrize(
    ("written", "read"),
    [
        ("2026-03-10", "2026-03-10T00:00:00+00:00"),
        ("2026-03-10 12:30:00", "2026-03-10T12:30:00+00:00"),
        ("2026-03-10T12:30:00Z", "2026-03-10T12:30:00+00:00"),
        ("2026-03-10T12:30:00.5+02:00", "2026-03-10T10:30:00.500000+00:00"),
        ("2026-03-10T12:30:00-0500", "2026-03-10T17:30:00+00:00"),
        ("2026-03-10 at noon", "2026-03-10T00:00:00+00:00"),
        ("0001-01-01T00:00:00+05:00", "0001-01-01T00:00:00+00:00"),
        ("0000-02-29T00:00:00Z", UNDATED),
    ],
)
def test_times_of_any_format_are_read_as_utc(memory_file: Path, written: str, read: str) -> None:
    sql = "INSERT INTO memories (content, observed_at, expires_at) VALUES ('x', ?, ?)"
    execute(memory_file, sql, written, written)
    (memory,) = all_memories(memory_file)
    assert (memory.observed_at, memory.expires_at) == (read, read)


def test_tags_of_other_types_are_read_as_strings(memory_file: Path) -> None:
    execute(memory_file, "INSERT INTO memories (content, tags) VALUES ('x', '[1, \"two\", null]')")
    assert all_memories(memory_file)[0].tags == ("1", "two", "None")


@pytest.mark.parametrize(
    ("change", "after"),
    [
        ("content = 'new text'", None),
        ("content = 'new text', content_hash = 'new hash'", "new hash"),
        ("content = content", "old hash"),
        ("tags = '[\"a\"]'", "old hash"),
    ],
)
def test_a_new_content_clears_its_hash(memory_file: Path, change: str, after: str | None) -> None:
    execute(memory_file, "INSERT INTO memories (content, content_hash) VALUES ('old', 'old hash')")
    execute(memory_file, f"UPDATE memories SET {change}")
    assert rows(memory_file, "SELECT content_hash FROM memories") == [{"content_hash": after}]


def with_lineage(path: Path) -> None:
    """Store m-2 as derived from m-1, which it supersedes; both have a vector and a name."""
    for row in (
        "memories (id, content) VALUES ('m-2', 'derived')",
        "memories (id, content, superseded_by) VALUES ('m-1', 'source', 'm-2')",
        "entities (id, tenant, name) VALUES (1, 'default', 'Ada')",
        "synthesized_from VALUES ('m-2', 'm-1', 'merge', 'run-1', 'h', NULL, '')",
        "embeddings SELECT id, 'm', 1, x'0000803f', 'h', NULL FROM memories",
        "memory_entities SELECT id, 1, NULL FROM memories",
    ):
        execute(path, f"INSERT INTO {row}")


@pytest.mark.parametrize("text", [None, "as it was then"])
def test_lineage_keeps_the_content_of_a_deleted_source(memory_file: Path, text: str | None) -> None:
    with_lineage(memory_file)
    execute(memory_file, "UPDATE synthesized_from SET source_content = ?", text)
    execute(memory_file, "DELETE FROM memories WHERE id = 'm-1'")
    edges = rows(memory_file, "SELECT source_id, source_content FROM synthesized_from")
    assert edges == [{"source_id": "m-1", "source_content": text or "source"}]


@pytest.mark.parametrize("enforced", ["ON", "OFF"])
@pytest.mark.parametrize("deleted", ["m-1", "m-2"])
def test_a_deletion_leaves_no_dangling_rows(memory_file: Path, enforced: str, deleted: str) -> None:
    with_lineage(memory_file)
    with closing(sqlite3.connect(memory_file)) as db, db:
        db.execute(f"PRAGMA foreign_keys = {enforced}")
        db.execute("DELETE FROM memories WHERE id = ?", [deleted])
    assert rows(memory_file, "PRAGMA foreign_key_check") == []
    for table in ("embeddings", "memory_entities"):
        ids = [row["memory_id"] for row in rows(memory_file, f"SELECT memory_id FROM {table}")]
        assert ids == [{"m-1": "m-2", "m-2": "m-1"}[deleted]]
    if deleted == "m-2":
        assert all_memories(memory_file)[0].superseded_by is None


@pytest.mark.parametrize("enforced", ["ON", "OFF"])
@pytest.mark.parametrize("status", ["active", "archived", "expired"])
def test_a_deletion_passes_on_the_status(memory_file: Path, status: str, enforced: str) -> None:
    with_lineage(memory_file)
    execute(
        memory_file,
        "UPDATE memories SET status = 'superseded', superseded_by = 'm-2', "
        "superseded_at = '2026-03-10' WHERE id = 'm-1'",
    )
    execute(memory_file, "UPDATE memories SET status = ? WHERE id = 'm-2'", status)
    with closing(sqlite3.connect(memory_file)) as db, db:
        db.execute(f"PRAGMA foreign_keys = {enforced}")
        db.execute("DELETE FROM memories WHERE id = 'm-2'")
    (memory,) = rows(memory_file, "SELECT id, status, superseded_by, superseded_at FROM memories")
    assert memory == {"id": "m-1", "status": status, "superseded_by": None, "superseded_at": None}
    assert rows(memory_file, "SELECT * FROM synthesized_from") == []
    with open_reading(memory_file) as file:
        assert "not by an active memory" not in str(check_file(file).problems)
        assert "lineage" not in str(check_file(file).problems)


def test_deleting_an_intermediate_successor_links_to_the_next(memory_file: Path) -> None:
    execute(memory_file, "INSERT INTO memories (id, content) VALUES ('m-3', 'x')")
    for memory, successor in (("m-2", "m-3"), ("m-1", "m-2")):
        execute(
            memory_file,
            "INSERT INTO memories (id, content, status, superseded_by) "
            "VALUES (?, 'x', 'superseded', ?)",
            *(memory, successor),
        )
    execute(memory_file, "DELETE FROM memories WHERE id = 'm-2'")
    memories = rows(memory_file, "SELECT id, status, superseded_by FROM memories ORDER BY id")
    assert memories == [
        {"id": "m-1", "status": "superseded", "superseded_by": "m-3"},
        {"id": "m-3", "status": "active", "superseded_by": None},
    ]


def version_next(db: Any) -> None:
    db.execute("ALTER TABLE memories ADD COLUMN colour TEXT")
    db.execute("UPDATE memories SET colour = 'blue'")


def version_that_loses(db: Any) -> None:
    db.execute("DELETE FROM memories WHERE id = (SELECT min(id) FROM memories)")


def version_that_tears(db: Any) -> None:
    db.execute("UPDATE proposals SET run_id = 'nowhere'")


def version_that_breaks(db: Any) -> None:
    db.execute("DROP TABLE answers")
    raise sqlite3.IntegrityError("in the middle")


def version_that_is_interrupted(db: Any) -> None:
    db.execute("DROP TABLE answers")
    raise KeyboardInterrupt


@pytest.mark.parametrize(
    ("step", "error"),
    [
        (version_that_breaks, "in the middle"),
        (version_that_loses, "would lose some of its"),
        (version_that_tears, "would refer to missing rows"),
        (version_that_is_interrupted, None),
    ],
)
def test_a_failed_migration_leaves_every_byte_of_the_file_unchanged(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, step: Callable[[Any], None], error: str | None
) -> None:
    path = older_file(tmp_path)
    with unchanged(path.read_bytes):
        with monkeypatch.context() as newer:
            with_steps(newer, version_next, step)
            expected: type[BaseException] = StoreError if error else KeyboardInterrupt
            message = f"migrated .* {newest_version()}: .*{error}" if error else None
            with pytest.raises(expected, match=message) as raised:
                migrate_file(path)
        assert not isinstance(raised.value, UnusableFile)
    assert list(tmp_path.iterdir()) == [path]
    migrate_file(path)
    with open_reading(path) as file:
        assert check_file(file).problems == ()


# Tables, indexes, views and triggers that an agent may add.
OF_AN_AGENT = """
CREATE TABLE mine (id INTEGER PRIMARY KEY, text TEXT);
CREATE TABLE notes (run_id TEXT, key TEXT, note TEXT,
    FOREIGN KEY (run_id, key) REFERENCES proposals (run_id, key) ON DELETE CASCADE);
INSERT INTO notes SELECT run_id, key, 'mine' FROM proposals;
CREATE INDEX my_index ON synthesized_from (operation, run_id);
CREATE VIEW my_view AS SELECT derived_id, note FROM derivations d
    JOIN synthesized_from ON derived_id = memory_id JOIN notes n ON n.key = d.proposal;
CREATE TRIGGER my_trigger AFTER INSERT ON proposals
    BEGIN INSERT INTO mine (text) VALUES (new.key); END;
CREATE TRIGGER my_other AFTER UPDATE ON memories
    BEGIN INSERT INTO mine (text) SELECT count(*) FROM synthesized_from; END;
CREATE VIRTUAL TABLE my_search USING fts5 (content);
INSERT INTO my_search SELECT content FROM memories;
"""
# The tables of which a migration changes no row: not the names that runs found, nor the counts.
UNCHANGED = sorted(TABLES - {"entities", "memory_entities", "journal", "changes"})


@pytest.mark.parametrize("mode", ["WAL", "DELETE"])
def test_a_migration_keeps_rows_and_foreign_tables(tmp_path: Path, mode: str) -> None:
    path = older_file(tmp_path)
    path.chmod(0o600)
    with closing(sqlite3.connect(path)) as db:
        db.executescript(OF_AN_AGENT)
        db.execute(f"PRAGMA journal_mode = {mode}")
    # Of the names that a run found, an agent has supplied the first itself.
    execute(path, "UPDATE memory_entities SET run_id = NULL WHERE entity_id = 1")
    for number, table in enumerate(("memory_entities", "entity_scans")):
        entry = "SELECT max(run_id), ?, '', ?, '{}', NULL, '{}' FROM journal"
        execute(path, f"INSERT INTO journal {entry}", 100 + number, table)
    kept = {
        "journal": rows(path, "SELECT * FROM journal WHERE proposal <> ''"),
        "entities": rows(path, "SELECT * FROM entities WHERE id = 1"),
        "memory_entities": rows(path, "SELECT * FROM memory_entities WHERE entity_id = 1"),
    }
    tables = [*UNCHANGED, "mine", "notes", "my_view", "my_search"]
    before = picture(path, tables)
    assert before["notes"]
    assert before["my_view"]
    own = "SELECT type, name, tbl_name, sql FROM sqlite_schema WHERE name LIKE 'my%' ORDER BY name"
    with unchanged(rows, path, own):
        migrate_file(path)
        with open_writing(path) as file:
            assert schema_version(file) == newest_version()
            assert file.value("PRAGMA foreign_keys") == 1
            assert check_file(file).problems == ()
        assert list(tmp_path.iterdir()) == [path]
        assert picture(path, tables) == before
    assert {table: rows(path, f"SELECT * FROM {table}") for table in kept} == kept
    assert rows(path, "PRAGMA foreign_key_list(notes)")[0]["table"] == "proposals"
    assert rows(path, "PRAGMA user_version") == [{"user_version": newest_version()}]
    execute(path, "UPDATE synthesized_from SET operation = 'update'")
    execute(path, "UPDATE memories SET pinned = 1 WHERE id = (SELECT min(id) FROM memories)")
    assert len(rows(path, "SELECT * FROM mine")) == 1


def parts_in(path: Path) -> dict[str, str]:
    """Return the SQL of each part of a schema, without comments and white space."""
    parts = rows(
        path,
        "SELECT name, sql FROM sqlite_schema WHERE name NOT LIKE 'sqlite_%' "
        "AND name NOT LIKE '%sqlite_migrations%' ORDER BY name",
    )
    return {part["name"]: " ".join(re.sub("--.*", "", part["sql"]).split()) for part in parts}


def test_a_new_file_has_the_schema_of_a_migrated_one(tmp_path: Path, memory_file: Path) -> None:
    with changing(memory_file) as file:
        for tables in extension_tables():
            run_script(file.conn, tables.script)
    older = older_file(tmp_path)
    migrate_file(older)
    assert parts_in(memory_file) == parts_in(older)


def test_a_damaged_file_is_not_migrated(tmp_path: Path) -> None:
    path = older_file(tmp_path)
    damage_root(path, "memories_by_status")
    data = path.read_bytes()
    with pytest.raises(UnusableFile, match="is damaged"):
        migrate_file(path)
    assert path.read_bytes() == data


def test_a_file_is_checked_for_damage_before_its_migration_locks_it(tmp_path: Path) -> None:
    path = older_file(tmp_path)
    damage_root(path, "memories_by_status")
    with closing(sqlite3.connect(path, isolation_level=None)) as agent:
        agent.execute("BEGIN IMMEDIATE")
        with pytest.raises(UnusableFile, match="is damaged"):
            migrate_file(path)


def test_a_migration_without_disk_space_changes_nothing(tmp_path: Path) -> None:
    path = older_file(tmp_path)
    before = path.read_bytes()
    assert run_on_a_small_disk(4_096, "maintain", path).returncode == 1
    assert path.read_bytes() == before
    assert {file.suffix for file in tmp_path.iterdir()} == {".db", ".lock"}


OPENING = """
import sys
from pathlib import Path
import sqlite_utils, tenacity
from slowwave.store.file import migrate_file
print("ready", flush=True)
sys.stdin.readline()
migrate_file(Path(sys.argv[1]))
"""


@pytest.mark.slow
def test_processes_can_migrate_one_file_at_the_same_time(tmp_path: Path) -> None:
    path = older_file(tmp_path)
    execute(path, "PRAGMA journal_mode = WAL")
    with unchanged(picture, path, UNCHANGED), ExitStack() as stack:
        processes = [stack.enter_context(process(OPENING, path)) for _ in range(3)]
        for opening in processes:
            assert opening.stdin is not None
            opening.stdin.write("go\n")
            opening.stdin.flush()
        assert [opening.wait(timeout=60) for opening in processes] == [0, 0, 0]
    names = [row["name"] for row in rows(path, "SELECT name FROM _sqlite_migrations")]
    assert set(names) >= schema_of_file.STEPS.keys()
    assert len(names) == len(set(names))
