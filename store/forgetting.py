"""Forget memories: erase every trace of them, in one transaction.

A forgotten memory leaves a tombstone without text: an entry in the journal of the run that forgot
it. Proposals that read it, and their entries in the journal, are deleted, so that the rest of their
runs can still be undone.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, field
from importlib.metadata import version
from pathlib import Path

from .ageing import STATUS_AFTER
from .backup import list_backups
from .connection import ignored_change_error
from .entities import mentioned_names
from .erasing import ERASED, Eraser, erased, find_left, holds, references_explained
from .errors import StoreError, file_errors
from .extension_points import extension_tables
from .file import MemoryFile
from .forgettable import MEMORY_COLUMNS, Forgettable, find_forgettable
from .journal import Journal
from .journal_form import FORGOTTEN
from .memories import read_memories
from .records import content_hash, json_text, new_id
from .rows import json_field
from .schema_of_file import expected_parts, schema_parts

# Caches, which may contain words of any memory, and can be emptied at any time.
_CACHES = ("answers", "memos", "neighbours", "standing")
# Columns that may contain the text of a forgotten memory, by table.
_TEXTS = {
    "memories": MEMORY_COLUMNS,
    "derivations": ("claims",),
    "disputes": ("why",),
    "memory_messages": ("conversation", "speaker", "content", "quotes"),
    "proposals": ("draft", "reason", "why", "numbers"),
    "runs": ("options", "report"),
    "waiting_messages": ("conversation", "content", "why"),
    "witnesses": ("image", "names"),
}
# The columns with the ids and tenants of memories, which stay the same.
_NAMES = {"id": "ids", "row_key": "ids", "tenant": "tenants"}
# Whether an entry of the journal is about one of the memories.
_NAMED = " OR ".join(
    f"{json_field('row_key', name)} IN (SELECT value FROM json_each(:ids))"
    for name in ("id", "memory_id", "derived_id", "source_id")
)


@dataclass(frozen=True)
class Forgotten:
    """What was forgotten."""

    run_id: str
    ids: tuple[str, ...]
    released: tuple[str, ...]
    # The runs that can no longer be undone completely.
    runs: tuple[str, ...]
    # How many rows of other tables were changed or deleted.
    rows: int
    # What still contains the text: columns of an agent's tables, `ids` and `tenants`.
    left: tuple[str, ...]
    # Backups of the file, which still have it.
    backups: tuple[Path, ...]
    # Finds the texts elsewhere.
    eraser: Eraser = field(repr=False, compare=False)


def forget(
    file: MemoryFile, forgettable: Forgettable, now: str, reason: str | None = None
) -> Forgotten:
    """Erase memories, and all texts about them, in one transaction; it cannot be undone.

    reason: stored with the tombstones. Raises `StoreError` if it contains an erased text, if the
    memories have changed since they were found, or if an agent's own rows refer to them.
    """
    run_id, ids, eraser = new_id(), forgettable.ids, forgettable.eraser
    with file_errors("list", file.path.parent):
        backups = list_backups(file.path)
    with file.transaction():
        file.conn.execute("PRAGMA secure_delete = ON")
        request = forgettable.memory, forgettable.text, forgettable.tenants
        if find_forgettable(file, *request) != forgettable:
            hint = "Nothing was changed. Run it again."
            raise StoreError(f"{file.path} has changed since.", hint)
        if reason is not None and eraser.erase(reason) != reason:
            raise StoreError("The reason contains the text to forget.", "Nothing was changed.")
        rows = _erase_messages(file, ids)
        eraser.offer_to(file)
        runs, decisions = _delete_decisions(file, ids)
        rows += decisions + sum(tables.erase(file, ids, eraser) for tables in extension_tables())
        with references_explained(file.conn, file.path, "memories"):
            rows += _delete_rows(file, ids, forgettable.texts)
        rows += sum(eraser.update(file, table, columns) for table, columns in _TEXTS.items())
        # A draft with a gap must never be applied.
        file.conn.execute(
            "UPDATE proposals SET state = 'stale' WHERE state = 'pending' AND instr(numbers, ?)",
            [ERASED],
        )
        _leave_tombstones(file, run_id, ids, runs, now, reason)
    eraser = eraser.sparing_nothing()
    eraser.offer_to(file)
    return Forgotten(
        run_id,
        tuple(ids),
        tuple(memory.id for memory in forgettable.released),
        tuple(runs),
        rows,
        tuple(dict.fromkeys(_places_left(file))),
        tuple(backups),
        eraser,
    )


def _places_left(file: MemoryFile) -> Iterator[str]:
    own_parts = expected_parts(schema_parts(file.conn))
    for place in find_left(file):
        table, _, column = place.partition(".")
        if f"table {table}" not in own_parts:
            yield place
        elif column in _NAMES:
            yield _NAMES[column]


def _erase_messages(file: MemoryFile, ids: Sequence[str]) -> int:
    """Erase the messages behind memories, even if other memories of the tenants cite them.

    Also deletes the reasons of the model in the runs that wrote the memories.
    """
    conn, chosen = file.conn, json_text(ids)
    tenants = "SELECT tenant FROM memories WHERE id IN (SELECT value FROM json_each(?1))"
    messages = file.column(
        "SELECT content FROM memory_messages WHERE memory_id IN (SELECT value FROM json_each(?))",
        [chosen],
    )
    Eraser((), messages).offer_to(file)
    changed = conn.execute(
        f"UPDATE memory_messages SET content = '{ERASED}', quotes = '[]' WHERE chain IN (SELECT "
        "chain FROM memory_messages WHERE memory_id IN (SELECT value FROM json_each(?1))) "
        f"AND memory_id IN (SELECT id FROM memories WHERE tenant IN ({tenants}))",
        [chosen],
    )
    queued = conn.execute(
        f"UPDATE waiting_messages SET content = {erased('content')} "
        f"WHERE {holds('content')} AND tenant IN ({tenants})",
        [chosen],
    )
    reasons = conn.execute(
        "UPDATE runs SET report = json_remove(report, '$.reasons') "
        "WHERE json_type(report, '$.reasons') IS NOT NULL AND id IN (SELECT run_id FROM journal "
        "WHERE table_name = 'memories' AND row_key ->> 'id' IN (SELECT value FROM json_each(?1)))",
        [chosen],
    )
    return changed.rowcount + queued.rowcount + reasons.rowcount


def _delete_decisions(file: MemoryFile, ids: Sequence[str]) -> tuple[list[str], int]:
    """Delete the proposals about memories, and the journal entries with their texts.

    Returns the runs that cannot be undone completely any longer, and the number of deleted rows.
    """
    conn, chosen = file.conn, {"ids": json_text(ids)}
    entries = conn.execute(
        "SELECT run_id, sequence, proposal FROM journal WHERE proposal <> :forgotten AND "
        f"({_NAMED} OR {holds('before')} OR {holds('after')})",
        chosen | {"forgotten": FORGOTTEN},
    ).fetchall()
    decisions = conn.execute(
        "SELECT run_id, key, outcome <> 'undone' AND state = 'applied' FROM proposals p "
        "JOIN runs ON runs.id = run_id WHERE survivor IN (SELECT value FROM json_each(:ids)) "
        "OR derived IN (SELECT value FROM json_each(:ids)) OR EXISTS (SELECT 1 FROM "
        "json_each(sources) s WHERE s.value IN (SELECT value FROM json_each(:ids))) "
        "OR (run_id, key) IN (SELECT value ->> 0, value ->> 1 FROM json_each(:touched))",
        chosen | {"touched": json_text([(run, proposal) for run, _, proposal in entries])},
    ).fetchall()
    keys = [(run, key) for run, key, _ in decisions]
    counts = [
        conn.executemany(f"DELETE FROM {table} WHERE run_id = ? AND {column} = ?", rows).rowcount
        for table, column, rows in (
            ("journal", "sequence", [(run, sequence) for run, sequence, _ in entries]),
            ("journal", "proposal", keys),
            ("derivations", "proposal", keys),
            ("proposals", "key", keys),
        )
    ]
    # Vectors and names that a run found do not count: a later run finds them again.
    aged = {run for run, _, proposal in entries if proposal in STATUS_AFTER}
    return sorted(aged | {run for run, _, applied in decisions if applied}), sum(counts)


def _delete_rows(file: MemoryFile, ids: Sequence[str], texts: Collection[str]) -> int:
    """Delete the rows of memories, and all that is known by the hashes of their texts."""
    conn, chosen = file.conn, "IN (SELECT value FROM json_each(:ids))"
    sources = file.column(
        "SELECT m.content FROM memories m JOIN synthesized_from ON source_id = m.id "
        "WHERE derived_id IN (SELECT value FROM json_each(?))",
        [json_text(ids)],
    )
    hashes = [content_hash(text) for text in texts]
    # A model reads the other sources of a derived memory again.
    shown_hashes = [*hashes, *map(content_hash, sources)]
    conditions: list[tuple[str, str, Sequence[object]]] = [
        # Lineage has the only text of a purged memory.
        (
            "synthesized_from",
            f"source_id {chosen} OR derived_id {chosen} AND source_id IN (SELECT id FROM memories)",
            ids,
        ),
        ("derivations", f"memory_id {chosen}", ids),
        ("memory_messages", f"memory_id {chosen}", ids),
        ("witnesses", f"id {chosen}", ids),
        ("memories", f"id {chosen}", ids),
        ("asked", f"content_hash {chosen}", shown_hashes),
        ("disputes", f"earlier_hash {chosen} OR later_hash {chosen}", hashes),
        (
            "entities",
            f"{holds('name')} OR id {chosen} AND id NOT IN (SELECT entity_id FROM memory_entities)",
            mentioned_names(file, ids),
        ),
        *((cache, "true", ()) for cache in _CACHES),
    ]
    rows = sum(
        conn.execute(f"DELETE FROM {table} WHERE {where}", {"ids": json_text(values)}).rowcount
        for table, where, values in conditions
    )
    if any(read_memories(file, ids)):
        raise ignored_change_error(file.path)
    return rows


def _leave_tombstones(
    file: MemoryFile,
    run_id: str,
    ids: Sequence[str],
    runs: Sequence[str],
    now: str,
    reason: str | None,
) -> None:
    options, report = {FORGOTTEN: reason or True}, {"forgotten": len(ids), "runs": runs}
    file.conn.execute(
        "INSERT INTO runs (id, started_at, finished_at, version, options, outcome, report) "
        "VALUES (?1, ?2, ?2, ?3, ?4, 'done', ?5)",
        [run_id, now, version("slowwave"), json_text(options), json_text(report)],
    )
    Journal(file, run_id, FORGOTTEN).record("memories", [({"id": key}, {}, {}) for key in ids])
