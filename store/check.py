"""Is the file whole? Every test that needs no knowledge of what memories mean."""

from __future__ import annotations

import sqlite3
from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass

from .connection import connect, is_immutable
from .errors import UnusableFile
from .extension_tables import extension_tables
from .file import MemoryFile, schema_version
from .journal_form import JournalReader
from .kept_form import find_row_fault
from .ledger import read_pending
from .memories import SELECT
from .records import SAVE, Memory, content_hash, from_row, parse_claims, parse_list, parse_object
from .schema_of_file import expected_parts, schema_parts
from .vectors import from_blob, is_sound

# What SQLite says of a value that a column may not have: the pages themselves are sound.
_VALUES = ("CHECK constraint failed", "NULL value in", "non-")
_CHANGED = "changed schema"
# Columns that keep JSON, but for those of memories.
_JSON: dict[str, dict[str, Callable[[object, str, str], object]]] = {
    "runs": {"options": parse_object, "report": parse_object},
    "proposals": {"sources": parse_list, "numbers": parse_object},
    "derivations": {"claims": parse_claims},
    "memory_messages": {"quotes": parse_list},
    "waiting_messages": {"content": parse_object},
}

# A problem's name, and a query that gives a line of text for each row that has it.
_QUERIES = {
    "dangling reference": (
        "SELECT 'memory ' || m.id || ' is superseded by ' || m.superseded_by || "
        "', which is not there' FROM memories m LEFT JOIN memories s ON s.id = m.superseded_by "
        "WHERE m.superseded_by IS NOT NULL AND s.id IS NULL"
    ),
    "dangling lineage": (
        "SELECT derived_id || ' cites ' || source_id || ', which is gone without its text' "
        "FROM synthesized_from LEFT JOIN memories ON id = source_id "
        "WHERE id IS NULL AND source_content IS NULL"
    ),
    "lost descendant": (
        "SELECT 'lineage speaks of ' || derived_id || ', which is gone' "
        "FROM synthesized_from AS edge LEFT JOIN memories ON id = derived_id "
        # One that somebody deleted may lead on to others, or hold the only text of a source.
        "WHERE id IS NULL AND source_content IS NULL AND NOT EXISTS (SELECT 1 FROM "
        "synthesized_from WHERE source_id = edge.derived_id AND source_content IS NOT NULL) "
        "GROUP BY derived_id"
    ),
    "derived without sources": (
        "SELECT 'memory ' || id || ' says it was derived, but cites nothing' FROM memories "
        "WHERE generation > 0 AND id NOT IN (SELECT derived_id FROM synthesized_from)"
    ),
    "superseded by an inactive memory": (
        "WITH RECURSIVE up (id, at) AS (SELECT id, superseded_by FROM memories "
        "WHERE status = 'superseded' UNION SELECT up.id, m.superseded_by FROM up "
        "JOIN memories m ON m.id = up.at WHERE m.status = 'superseded') "
        "SELECT 'what memory ' || id || ' says stands in no active memory' FROM up "
        "GROUP BY id HAVING max(at IS NOT NULL AND at IN "
        "(SELECT id FROM memories WHERE status <> 'superseded')) = 0"
    ),
    "tenants crossed": (
        "SELECT derived_id || ' and ' || source_id || ' belong to different tenants' "
        "FROM synthesized_from JOIN memories d ON d.id = derived_id "
        "JOIN memories s ON s.id = source_id WHERE d.tenant <> s.tenant"
    ),
    "lost witness": (
        "SELECT 'memory ' || id || ' was purged, and lineage has not its text any more' "
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
    """One thing that is not as it should be."""

    name: str
    detail: str


@dataclass(frozen=True)
class Health:
    """What `check_file` found; the file is whole if there are no problems."""

    schema_version: int
    memories: int
    embeddings: int
    edges: int
    problems: tuple[Problem, ...]


def check_file(file: MemoryFile) -> Health:
    """Look at the whole file: SQLite's own integrity, references, lineage, hashes, vectors."""
    problems = _integrity(file)
    if all(one.detail.startswith(_VALUES) for one in problems):
        problems += _schema(file) or _values(file)
    if problems:  # queries on damaged pages or missing tables would only repeat it
        if all(one.name == _CHANGED for one in problems):
            problems += _extensions_as_far_as_readable(file)
        return Health(schema_version(file), 0, 0, 0, tuple(problems))
    for name, sql in _QUERIES.items():
        problems += [Problem(name, row[0]) for row in file.db.conn.execute(sql)]
    problems += _orphans(file) + _texts(file) + _vectors(file) + _extensions(file) + _waiting(file)
    memories, embeddings, edges = (
        file.value(f"SELECT count(*) FROM {table}")
        for table in ("memories", "embeddings", "synthesized_from")
    )
    problems.sort()  # two files that hold the same say the same
    return Health(schema_version(file), memories, embeddings, edges, tuple(problems))


def refuse_damaged(file: MemoryFile) -> None:
    """Raise `UnusableFile` if SQLite finds the file damaged: a write could make it worse."""
    problems = _integrity(file)
    if problems:
        raise UnusableFile(
            f"{file.path} is damaged: {problems[0].detail}.",
            "Nothing was changed. Restore it from a backup, or save what can be read with "
            "'slowwave export'.",
        )


def refuse_unreadable(file: MemoryFile) -> None:
    """Raise `UnusableFile` if pages, or values in them, cannot be read as what they must be."""
    refuse_damaged(file)
    for problem in _schema(file) + _values(file):
        raise UnusableFile(f"{file.path} is damaged: {problem.detail}.", SAVE)


def split_corrupt(file: MemoryFile, memories: Iterable[Memory]) -> tuple[list[Memory], list[Memory]]:
    """Split memories into those whose text is intact and those whose text was spoiled.

    Spoiled is what does not fit its hash, or is not UTF-8: not by an agent's edit, since then the
    hash goes.
    """
    sound: list[Memory] = []
    spoiled: list[Memory] = []
    for memory in memories:
        (sound if _is_sound_text(file, memory) else spoiled).append(memory)
    return sound, spoiled


def count_corrupt(file: MemoryFile) -> int:
    """Count the texts that are not UTF-8, or not what their hash was made from."""
    return len(_texts(file))


def _is_sound_text(file: MemoryFile, memory: Memory) -> bool:
    if memory.content_hash != content_hash(memory.content):
        return False
    if "\ufffd" not in memory.content:
        return True
    # It may stand for bytes that are no text, or be there itself.
    kept = file.value(
        "SELECT CAST(content AS BLOB) FROM memories WHERE id = ?1 UNION ALL "
        "SELECT CAST(source_content AS BLOB) FROM synthesized_from "
        "WHERE source_id = ?1 AND source_content IS NOT NULL",
        [memory.id],
    )
    return bool(kept == memory.content.encode())


def _integrity(file: MemoryFile) -> list[Problem]:
    try:
        # Where it may only read, SQLite leaves out the CHECKs. Nothing is written: `query_only`,
        # and as long as `file` is open this connection is not the last one, which tidies up.
        with connect(file.path, "ro" if is_immutable(file.path) else "rw") as db:
            db.conn.execute("PRAGMA query_only = ON")
            said = [row[0] for row in db.conn.execute("PRAGMA integrity_check(20)")]
    except (sqlite3.DatabaseError, UnicodeDecodeError) as error:
        said = [str(error)]
    return [Problem("damaged", line) for line in said if line != "ok"]


def _values(file: MemoryFile) -> list[Problem]:
    """Look for values that cannot be read as what they must be, and name the rows."""
    problems = []
    for row in file.rows(SELECT):
        try:
            from_row(row)
        except UnusableFile as error:
            problems.append(Problem("unreadable", error.message))
    for table, columns in _JSON.items():
        for row in file.rows(f"SELECT * FROM {table}"):
            for column, read in columns.items():
                try:
                    if row[column] is not None:
                        read(row[column], column, f"a row of {table}")
                except UnusableFile as error:
                    problems.append(Problem("unreadable", error.message))
    return problems + _journal(file)


def _journal(file: MemoryFile) -> list[Problem]:
    """Read each entry as an undo would."""
    problems = []
    form = JournalReader(file)
    for row in file.rows("SELECT * FROM journal"):
        try:
            form.read(row)
        except UnusableFile as error:
            problems.append(Problem("unreadable", error.message))
    return problems


def _schema(file: MemoryFile) -> list[Problem]:
    """Check that all parts of the file are there; what an agent added is its own affair."""
    kept = schema_parts(file.db)
    problems = []
    for part, columns in expected_parts(kept).items():
        lost = columns - kept.get(part, set())
        if part not in kept:
            problems.append(Problem(_CHANGED, f"{part} is gone"))
        elif lost:
            problems.append(Problem(_CHANGED, f"{part} has lost {', '.join(sorted(lost))}"))
    return problems


def _orphans(file: MemoryFile) -> list[Problem]:
    rows = file.db.conn.execute("PRAGMA foreign_key_check")
    counts = Counter((row[0], row[2]) for row in rows if row[0] != "memories")
    return [
        Problem("dangling reference", f"{table} refers to {parent} that are gone, {count} times")
        for (table, parent), count in sorted(counts.items())
    ]


def _texts(file: MemoryFile) -> list[Problem]:
    problems = []
    for memory_id, raw, kept in file.db.conn.execute(
        "SELECT id, CAST(content AS BLOB), content_hash FROM memories"
    ):
        try:
            text = raw.decode()
        except UnicodeDecodeError:
            problems.append(Problem("not UTF-8", f"memory {memory_id} is not readable throughout"))
            continue
        if kept not in (None, content_hash(text)):
            wrong = f"memory {memory_id} is not the text that its hash was made from"
            problems.append(Problem("wrong hash", wrong))
    return problems


def _extensions(file: MemoryFile) -> list[Problem]:
    """Look at what extensions keep in the file."""
    return [
        Problem(name, detail)
        for tables in extension_tables()
        for name, detail in tables.find_faults(file)
    ]


def _extensions_as_far_as_readable(file: MemoryFile) -> list[Problem]:
    """Look at what extensions keep where a part is gone, such as a trigger that protects it."""
    try:
        return _extensions(file)
    except sqlite3.DatabaseError:
        return []  # it is a table of theirs, or a column, that is gone: that was said


def _waiting(file: MemoryFile) -> list[Problem]:
    """Look at what waits for a person, as far as its form goes."""
    return [
        Problem("damaged proposal", f"proposal {one.key}, which waits, cannot be read: {fault}")
        for one in read_pending(file)
        if (fault := find_row_fault(one)) is not None
    ]


def _vectors(file: MemoryFile) -> list[Problem]:
    import numpy as np

    problems = []
    for memory_id, model, blob in file.db.conn.execute(
        "SELECT memory_id, model, vector FROM embeddings "
        "UNION ALL SELECT id, model, vector FROM witness_vectors"
    ):
        if not is_sound(blob):
            length = float(np.linalg.norm(from_blob(blob).astype(np.float64)))
            problems.append(
                Problem("bad vector", f"{model} of memory {memory_id} has length {length:.4f}")
            )
    return problems
