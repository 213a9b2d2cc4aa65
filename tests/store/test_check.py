"""What `check` finds in a file."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path

import pytest
from builders import a_line, a_memory, damage_root, put, take_in
from nights import execute

from slowwave.store.check import Health, check_file
from slowwave.store.file import open_reading
from slowwave.store.schema_of_file import newest_version


def health(path: Path) -> Health:
    with open_reading(path) as file:
        return check_file(file)


EDGE = {"operation": "synthesize", "run_id": "run-1", "source_hash": "h"}
EDGE |= {"created_at": "2026-03-01T00:00:00Z"}


@pytest.fixture
def used_file(memory_file: Path) -> Path:
    """Provide a file in which m-3 is derived from m-1 and m-2, and m-4 is unrelated."""
    gone = {"status": "superseded", "superseded_by": "m-3"}
    edges = [EDGE | {"source_id": "m-1"}, EDGE | {"source_id": "m-2"}]
    vector = {"embedding": [0.6, 0.8], "embedding_model": "m"}
    take_in(
        memory_file,
        a_line("first", id="m-1", **vector, **gone),
        a_line("second", id="m-2", **vector, **gone),
        a_line("both", id="m-3", generation=1, synthesized_from=edges, **vector),
        a_line("alone", id="m-4", entities=["Ada"]),
    )
    return memory_file


def test_a_used_file_has_no_problems(used_file: Path) -> None:
    counts = {"memories": 4, "embeddings": 3, "edges": 2}
    assert health(used_file) == Health(schema_version=newest_version(), problems=(), **counts)


# By a name: what spoils the file, and the problems that are found.
PROBLEMS: dict[str, tuple[str, ...]] = {
    "successor that is not there": (
        "UPDATE memories SET superseded_by = 'nobody' WHERE id = 'm-1'",
        "dangling reference: memory m-1 is superseded by nobody, which is missing",
        "superseded by an inactive memory: memory m-1 is superseded, but not by an active memory",
    ),
    "vectors of nobody": (
        "INSERT INTO embeddings VALUES ('nobody', 'm', 2, x'000000000000803f', 'h', NULL)",
        "dangling reference: embeddings refers to missing rows of memories, 1 times",
    ),
    "decision of no run": (
        "INSERT INTO proposals VALUES ('run-9', 'k', 'merge', 'default', '[]', NULL, NULL, "
        "'stale', NULL, '', NULL, '{}', '')",
        "dangling reference: proposals refers to missing rows of runs, 1 times",
    ),
    "proposal that waits and of which nothing is kept": (
        "INSERT INTO proposals VALUES ('run-9', 'k', 'merge', 'default', '[]', NULL, NULL, "
        "'pending', NULL, '', NULL, '{}', '')",
        "damaged proposal: pending proposal k is invalid: it was not stored",
        "dangling reference: proposals refers to missing rows of runs, 1 times",
    ),
    "source that is gone without its text": (
        "INSERT INTO synthesized_from VALUES ('m-3', 'gone', 'merge', 'run-1', 'h', NULL, '')",
        "dangling lineage: m-3 cites gone, which is missing, and so is its text",
    ),
    "descendant that is gone": (
        "INSERT INTO synthesized_from VALUES ('gone', 'm-1', 'merge', 'run-1', 'h', NULL, ''), "
        "('gone', 'm-2', 'merge', 'run-1', 'h', NULL, '')",
        "lost descendant: lineage names gone, which is missing",
    ),
    "derived from nothing": (
        "UPDATE memories SET generation = 1 WHERE id = 'm-4'",
        "derived without sources: memory m-4 is derived, but has no sources",
    ),
    "superseded by nothing": (
        "UPDATE memories SET status = 'superseded' WHERE id = 'm-4'",
        "superseded by an inactive memory: memory m-4 is superseded, but not by an active memory",
    ),
    "superseded by what is superseded in a circle": (
        "UPDATE memories SET status = 'superseded', superseded_by = 'm-1' WHERE id = 'm-3'",
        "superseded by an inactive memory: memory m-1 is superseded, but not by an active memory",
        "superseded by an inactive memory: memory m-2 is superseded, but not by an active memory",
        "superseded by an inactive memory: memory m-3 is superseded, but not by an active memory",
    ),
    "tenants crossed": (
        "UPDATE memories SET tenant = 'other' WHERE id = 'm-2'",
        "tenants crossed: m-3 and m-2 belong to different tenants",
    ),
    "mixed dimensions": (
        "INSERT INTO embeddings VALUES ('m-4', 'm', 1, x'0000803f', 'h', NULL)",
        "mixed dimensions: the vectors of m have 1 to 2 dimensions",
    ),
    "wrong hash": (
        "UPDATE memories SET content = 'edited', content_hash = 'of another' WHERE id = 'm-4'",
        "wrong hash: the text of memory m-4 does not match its hash",
    ),
    "text cut within a character": (
        "UPDATE memories SET content = CAST(x'4a6f73c3' AS TEXT) WHERE id = 'm-4'",
        "not UTF-8: memory m-4 has invalid bytes",
    ),
    "vector too long": (
        "UPDATE embeddings SET vector = x'000000400000803f' WHERE memory_id = 'm-1'",
        "bad vector: m of memory m-1 has length 2.2361",
    ),
    "zero vector": (
        "UPDATE embeddings SET vector = zeroblob(8) WHERE memory_id = 'm-1'",
        "bad vector: m of memory m-1 has length 0.0000",
    ),
    "vector that is not a number": (
        "UPDATE embeddings SET vector = x'0000c07f0000803f' WHERE memory_id = 'm-1'",
        "bad vector: m of memory m-1 has length nan",
    ),
    "time of a run that is not a time": (
        "INSERT INTO runs (id, started_at, version, options) VALUES ('r', 'soon', '1', '{}')",
        "unreadable: started_at of run r is not a time",
    ),
    "table gone": ("DROP TABLE answers", "changed schema: table answers is missing"),
    "index gone": (
        "DROP INDEX memories_by_status",
        "changed schema: index memories_by_status is missing",
    ),
    "trigger gone": (
        "DROP TRIGGER memories_leave",
        "changed schema: trigger memories_leave is missing",
    ),
    "column gone": (
        "ALTER TABLE answers DROP COLUMN cost_usd",
        "changed schema: table answers lacks cost_usd",
    ),
}


# What agents may do.
HARMLESS = {
    "text edited": "UPDATE memories SET content = 'edited' WHERE id = 'm-4'",
    "source deleted": "DELETE FROM memories WHERE id = 'm-1'",
    "successor archived": "UPDATE memories SET status = 'archived' WHERE id = 'm-3'",
    "table of the agent": "CREATE TABLE notes (text)",
    "index of the agent": "CREATE INDEX by_source ON memories (source)",
    "search of the agent": "CREATE VIRTUAL TABLE search USING fts5 (content)",
    "statistics": "ANALYZE",
    "memory of an agent": "INSERT INTO memories (content) VALUES ('new')",
    "column of the agent": "ALTER TABLE memories ADD COLUMN colour TEXT",
    "column behind a table's own key": "ALTER TABLE embeddings ADD COLUMN colour TEXT",
    "name that nothing mentions": "INSERT INTO entities (tenant, name) VALUES ('default', 'Bo')",
}
CASES = PROBLEMS | {name: (sql,) for name, sql in HARMLESS.items()}


@pytest.mark.parametrize("case", CASES.values(), ids=CASES)
def test_check_finds_each_problem_and_no_other(used_file: Path, case: tuple[str, ...]) -> None:
    sql, *problems = case
    execute(used_file, sql)
    assert [f"{each.name}: {each.detail}" for each in health(used_file).problems] == problems


def test_problems_are_ordered_by_id(memory_file: Path) -> None:
    put(memory_file, a_memory("m-2", generation=1), a_memory("m-1", generation=1))
    problems = health(memory_file).problems
    assert [problem.detail[:10] for problem in problems] == ["memory m-1", "memory m-2"]


def test_a_table_of_a_missing_module_is_not_a_problem(used_file: Path) -> None:
    with closing(sqlite3.connect(used_file)) as db, db:
        db.execute("PRAGMA writable_schema = ON")
        db.execute(
            "INSERT INTO sqlite_schema VALUES ('table', 'near', 'near', 0, "
            "'CREATE VIRTUAL TABLE near USING vec0(embedding float[3])')"
        )
    assert health(used_file).problems == ()


def test_damaged_pages_are_the_only_problem_of_their_table(memory_file: Path) -> None:
    put(memory_file, *(a_memory(f"m-{number}", "x" * 2_000) for number in range(20)))
    damage_root(memory_file, "memories_by_status")
    report = health(memory_file)
    assert {problem.name for problem in report.problems} == {"damaged"}
    assert (report.memories, report.embeddings) == (20, 0)


def test_an_index_that_differs_from_its_table_is_damage(memory_file: Path) -> None:
    put(memory_file, a_memory("m-1"))
    with closing(sqlite3.connect(memory_file)) as db, db:
        db.execute("PRAGMA writable_schema = ON")
        db.execute(
            "UPDATE sqlite_schema SET sql = replace(sql, '(tenant, status, layer)', "
            "'(status, tenant, layer)') WHERE name = 'memories_by_status'"
        )
    assert {problem.name for problem in health(memory_file).problems} == {"damaged"}
