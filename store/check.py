"""Check the integrity of a file, independent of the meaning of its memories."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from itertools import chain
from typing import Any

from .connection import connect, is_immutable
from .errors import SAVE_HINT, DamagedRow, UnusableFile
from .extension_points import extension_tables
from .file import MemoryFile, schema_version
from .journal_form import read_entry
from .kept_form import find_row_fault
from .ledger import read_pending, to_run
from .memories import SELECT
from .records import Memory, content_hash, from_row, parse_claims, parse_list, parse_object
from .schema_of_file import expected_parts, schema_parts
from .vectors import is_sound, length_of

# SQLite's messages for values that violate a constraint; the pages themselves are intact.
_VALUES = ("CHECK constraint failed", "NULL value in", "non-")
_CHANGED = "changed schema"

Row = dict[str, Any]
# Columns with JSON, except those of `memories` and `runs`.
_JSON: tuple[tuple[str, str, Callable[[object, str, str], object]], ...] = (
    ("proposals", "sources", parse_list),
    ("proposals", "numbers", parse_object),
    ("derivations", "claims", parse_claims),
    ("memory_messages", "quotes", parse_list),
    ("waiting_messages", "content", parse_object),
)

# By the name of a problem, a query that returns a message for each row that has it.
_QUERIES = {
    "dangling reference": (
        "SELECT 'memory ' || m.id || ' is superseded by ' || m.superseded_by || "
        "', which is missing' FROM memories m LEFT JOIN memories s ON s.id = m.superseded_by "
        "WHERE m.superseded_by IS NOT NULL AND s.id IS NULL "
        "UNION ALL SELECT \"table\" || ' refers to missing rows of ' || parent || ', ' || "
        "count(*) || ' times' FROM pragma_foreign_key_check WHERE \"table\" <> 'memories' "
        'GROUP BY "table", parent'
    ),
    "dangling lineage": (
        "SELECT derived_id || ' cites ' || source_id || ', which is missing, and so is its text' "
        "FROM synthesized_from LEFT JOIN memories ON id = source_id "
        "WHERE id IS NULL AND source_content IS NULL"
    ),
    "lost descendant": (
        "SELECT 'lineage names ' || derived_id || ', which is missing' "
        "FROM synthesized_from AS edge LEFT JOIN memories ON id = derived_id "
        # A deleted memory may link to others, or contain the only text of a source.
        "WHERE id IS NULL AND source_content IS NULL AND NOT EXISTS (SELECT 1 FROM "
        "synthesized_from WHERE source_id = edge.derived_id AND source_content IS NOT NULL) "
        "GROUP BY derived_id"
    ),
    "derived without sources": (
        "SELECT 'memory ' || id || ' is derived, but has no sources' FROM memories "
        "WHERE generation > 0 AND id NOT IN (SELECT derived_id FROM synthesized_from)"
    ),
    "superseded by an inactive memory": (
        "WITH RECURSIVE up (id, at) AS (SELECT id, superseded_by FROM memories "
        "WHERE status = 'superseded' UNION SELECT up.id, m.superseded_by FROM up "
        "JOIN memories m ON m.id = up.at WHERE m.status = 'superseded') "
        "SELECT 'memory ' || id || ' is superseded, but not by an active memory' FROM up "
        "GROUP BY id HAVING max(at IS NOT NULL AND at IN "
        "(SELECT id FROM memories WHERE status <> 'superseded')) = 0"
    ),
    "tenants crossed": (
        "SELECT derived_id || ' and ' || source_id || ' belong to different tenants' "
        "FROM synthesized_from JOIN memories d ON d.id = derived_id "
        "JOIN memories s ON s.id = source_id WHERE d.tenant <> s.tenant"
    ),
    "lost witness": (
        "SELECT 'memory ' || id || ' was purged, and lineage has lost its text' "
        "FROM witnesses WHERE NOT EXISTS (SELECT 1 FROM synthesized_from "
        "WHERE source_id = id AND source_content IS NOT NULL)"
    ),
    "mixed dimensions": (
        "SELECT 'the vectors of ' || model || ' have ' || min(dimensions) || ' to ' || "
        "max(dimensions) || ' dimensions' FROM embeddings GROUP BY model "
        "HAVING min(dimensions) <> max(dimensions)"
    ),
}


@dataclass(frozen=True, order=True)
class Problem:
    """A problem that a check found."""

    name: str
    detail: str


@dataclass(frozen=True)
class Health:
    """The result of `check_file`; the file is intact if there are no problems."""

    schema_version: int
    memories: int
    embeddings: int
    edges: int
    problems: tuple[Problem, ...]


def check_file(file: MemoryFile) -> Health:
    """Check SQLite's integrity, references, lineage, hashes and vectors."""
    problems = _integrity(file)
    if all(problem.detail.startswith(_VALUES) for problem in problems):
        problems += [*_schema(file)] or [*_values(file)]
    if problems:  # queries on damaged pages or missing tables would repeat them
        if all(problem.name == _CHANGED for problem in problems):
            with suppress(sqlite3.DatabaseError):  # their missing parts are reported already
                problems += _extensions(file)
        return Health(schema_version(file), *_counts(file), tuple(problems))
    for name, sql in _QUERIES.items():
        problems += [Problem(name, row[0]) for row in file.conn.execute(sql)]
    for check in (_texts, _vectors, _extensions, _pending):
        problems += check(file)
    problems.sort()  # the same for files with the same content
    return Health(schema_version(file), *_counts(file), tuple(problems))


def _counts(file: MemoryFile) -> tuple[int, int, int]:
    """Count memories, embeddings and lineage edges."""
    return _count(file, "memories"), _count(file, "embeddings"), _count(file, "synthesized_from")


def _count(file: MemoryFile, table: str) -> int:
    """Count the rows of a table; 0 if damage makes that impossible."""
    try:
        return int(file.value(f"SELECT count(*) FROM {table}"))
    except sqlite3.DatabaseError:
        return 0


def refuse_damaged(file: MemoryFile) -> None:
    """Raise `UnusableFile` if SQLite finds the file damaged, before a write makes it worse."""
    problems = _integrity(file)
    if problems:
        raise UnusableFile(
            f"{file.path} is damaged: {problems[0].detail}.",
            "Nothing was changed. Restore it from a backup, or save the readable part with "
            "'slowwave export FILE'.",
        )


def refuse_unreadable(file: MemoryFile) -> None:
    """Raise `UnusableFile` if pages are damaged or values are invalid."""
    refuse_damaged(file)
    for problem in chain(_schema(file), _values(file)):
        raise UnusableFile(f"{file.path} is damaged: {problem.detail}.", SAVE_HINT)


def split_corrupt(
    file: MemoryFile, memories: Iterable[Memory]
) -> tuple[list[Memory], list[Memory]]:
    """Split memories into those with intact and those with corrupt text.

    A corrupt text does not match its hash, or is not UTF-8. Edits by an agent remove the hash.
    """
    intact: list[Memory] = []
    corrupt: list[Memory] = []
    for memory in memories:
        (intact if _has_intact_text(file, memory) else corrupt).append(memory)
    return intact, corrupt


def count_corrupt(file: MemoryFile) -> int:
    """Count the texts that are not UTF-8, or do not match their hash."""
    return len(list(_texts(file)))


def _has_intact_text(file: MemoryFile, memory: Memory) -> bool:
    if memory.content_hash != content_hash(memory.content):
        return False
    if "\ufffd" not in memory.content:
        return True
    # The replacement character, itself or for invalid bytes.
    raw = file.value(
        "SELECT CAST(content AS BLOB) FROM memories WHERE id = ?1 UNION ALL "
        "SELECT CAST(source_content AS BLOB) FROM synthesized_from "
        "WHERE source_id = ?1 AND source_content IS NOT NULL",
        [memory.id],
    )
    return bool(raw == memory.content.encode())


def _integrity(file: MemoryFile) -> list[Problem]:
    try:
        # A read-only connection skips the CHECKs. Nothing is written: `query_only` is set, and
        # `file` keeps this connection from being the last one, which would clean up the log.
        with connect(file.path, "ro" if is_immutable(file.path) else "rw") as db:
            db.execute("PRAGMA query_only = ON")
            messages = [row[0] for row in db.execute("PRAGMA integrity_check(20)")]
    except (sqlite3.DatabaseError, UnicodeDecodeError) as error:
        messages = [str(error)]
    return [Problem("damaged", line) for line in messages if line != "ok"]


def _values(file: MemoryFile) -> Iterator[Problem]:
    """Find the rows with invalid values, and journal entries that undo would reject."""

    def faults(
        values: Iterable[object], read: Callable[..., object], *named: str
    ) -> Iterator[Problem]:
        for value in values:
            try:
                read(value, *named)
            except DamagedRow as error:
                yield Problem("unreadable", error.fault)

    yield from faults(file.rows(SELECT), from_row)
    for table, column, parse in _JSON:
        rows = file.tuples(f"SELECT {column} FROM {table} WHERE {column} IS NOT NULL")
        yield from faults((row[0] for row in rows), parse, column, f"a row of {table}")
    yield from faults(file.rows("SELECT * FROM runs"), partial(to_run, file))
    yield from faults(file.rows("SELECT * FROM journal"), partial(read_entry, file))


def _schema(file: MemoryFile) -> Iterator[Problem]:
    """Find missing tables, columns, indexes and triggers; an agent may add its own."""
    parts = schema_parts(file.conn)
    for part, columns in expected_parts(parts).items():
        missing = columns - parts.get(part, set())
        if part not in parts:
            yield Problem(_CHANGED, f"{part} is missing")
        elif missing:
            yield Problem(_CHANGED, f"{part} lacks {', '.join(sorted(missing))}")


def _texts(file: MemoryFile) -> Iterator[Problem]:
    for memory_id, raw, stored_hash in file.conn.execute(
        "SELECT id, CAST(content AS BLOB), content_hash FROM memories"
    ):
        try:
            text = raw.decode()
        except UnicodeDecodeError:
            yield Problem("not UTF-8", f"memory {memory_id} has invalid bytes")
            continue
        if stored_hash not in (None, content_hash(text)):
            yield Problem("wrong hash", f"the text of memory {memory_id} does not match its hash")


def _extensions(file: MemoryFile) -> Iterator[Problem]:
    for tables in extension_tables():
        yield from (Problem(name, detail) for name, detail in tables.find_faults(file))


def _pending(file: MemoryFile) -> Iterator[Problem]:
    """Check the form of pending proposals."""
    for decision in read_pending(file):
        if (fault := find_row_fault(decision)) is not None:
            detail = f"pending proposal {decision.key} is invalid: {fault}"
            yield Problem("damaged proposal", detail)


def _vectors(file: MemoryFile) -> Iterator[Problem]:
    for memory_id, model, blob in file.conn.execute(
        "SELECT memory_id, model, vector FROM embeddings "
        "UNION ALL SELECT id, model, vector FROM witness_vectors"
    ):
        if not is_sound(blob):
            detail = f"{model} of memory {memory_id} has length {length_of(blob):.4f}"
            yield Problem("bad vector", detail)
