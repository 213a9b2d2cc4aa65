"""Change rows so that the change can be taken back to the bit, and take it back."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from .errors import ChangedSince, StoreError
from .file import MemoryFile
from .records import json_text

# No reason to refuse an undo: reading a memory leaves its marks in the first two, and the file's
# own triggers write the others.
_BOOKKEEPING = frozenset({"access_count", "accessed_at", "content_hash", "source_content"})
# What a run found in texts; the rows carry the run's id.
_INDEX = ("embeddings", "memory_entities", "entity_scans")

_HINT = (
    "Nothing was undone. If a later run did it, undo that one first; else undo the other "
    "proposals one by one, or 'restore' single memories."
)

Row = Mapping[str, Any]


def insert_row(
    file: MemoryFile, run_id: str, proposal: str, table: str, row: Row, key: Row
) -> None:
    """Insert a row within the transaction of the caller, and journal it."""
    names = ", ".join(row)
    marks = ", ".join("?" * len(row))
    file.db.conn.execute(f"INSERT INTO {table} ({names}) VALUES ({marks})", list(row.values()))
    _record(file, run_id, proposal, table, key, None, row)


def update_row(
    file: MemoryFile, run_id: str, proposal: str, table: str, key: Row, changes: Row
) -> None:
    """Update columns of one row within the transaction of the caller, and journal them.

    What the file's triggers change along with them is journaled too.
    """
    was = _current(file, table, key)
    if was is None:
        raise StoreError(f"A row of {table} that is to change is not there: {dict(key)}.")
    _write(file, table, key, changes)
    became = _current(file, table, key) or {}
    after = {name: value for name, value in became.items() if value != was[name]}
    if after:
        before = {name: was[name] for name in after}
        _record(file, run_id, proposal, table, key, before, after)


def write_row(
    file: MemoryFile, run_id: str, proposal: str, table: str, key: Row, columns: Row
) -> None:
    """Update the row with this key, or insert it if it is not there, and journal it."""
    if _current(file, table, key) is None:
        insert_row(file, run_id, proposal, table, {**key, **columns}, key)
    else:
        update_row(file, run_id, proposal, table, key, columns)


def keep_image(file: MemoryFile, run_id: str, table: str, key: Row) -> None:
    """Journal a row that is about to be replaced by one that carries the run's id."""
    row = _current(file, table, key)
    if row is not None:
        _record(file, run_id, "", table, key, row, {})


def undo_run(file: MemoryFile, run_id: str, now: str) -> list[str]:
    """Take back all that a run did, in one transaction, and give the keys of its proposals.

    Raises `ChangedSince`, with nothing changed, if a row is no longer what the run left.
    """
    with file.transaction():
        keys = _applied(file, run_id)
        _replay_backwards(file, run_id, [*keys, ""])
        _drop_index(file, run_id)
        _drop_unused_entities(file)
        _mark_undone(file, run_id, keys, now)
        file.db.conn.execute("UPDATE runs SET outcome = 'undone' WHERE id = ?", [run_id])
    return keys


def undo_proposal(file: MemoryFile, run_id: str, key: str, now: str) -> None:
    """Take one applied proposal back, in one transaction. Raises `ChangedSince`."""
    with file.transaction():
        _replay_backwards(file, run_id, [key])
        _drop_unused_entities(file)
        _mark_undone(file, run_id, [key], now)


def _applied(file: MemoryFile, run_id: str) -> list[str]:
    rows = file.rows("SELECT key FROM proposals WHERE run_id = ? AND state = 'applied'", [run_id])
    return [row["key"] for row in rows]


def _replay_backwards(file: MemoryFile, run_id: str, proposals: list[str]) -> None:
    chosen = set(proposals)
    entries = list(
        file.rows("SELECT * FROM journal WHERE run_id = ? ORDER BY sequence DESC", [run_id])
    )
    for entry in entries:
        if entry["proposal"] in chosen:
            _take_back(file, entry)


def _take_back(file: MemoryFile, entry: dict[str, Any]) -> None:
    table, key = entry["table_name"], _decoded(entry["row_key"])
    before = None if entry["before"] is None else _decoded(entry["before"])
    after = _decoded(entry["after"])
    if before is None:
        _take_back_insert(file, table, key, after)
    elif after:
        _take_back_update(file, table, key, before, after)
    else:
        # An image goes where the run's row still stands, and nowhere if that was replaced or left.
        _write(file, table, {**key, "run_id": entry["run_id"]}, before)


def _take_back_insert(file: MemoryFile, table: str, key: Row, after: Row) -> None:
    now = _current(file, table, key)
    if now is None and table in _INDEX:
        return
    _refuse_changed(table, key, now, after)
    if table == "memories":
        _refuse_successor(file, key["id"])
    where, values = _where(key)
    file.db.conn.execute(f"DELETE FROM {table} WHERE {where}", values)


def _take_back_update(
    file: MemoryFile, table: str, key: Row, before: dict[str, Any], after: Row
) -> None:
    now = _refuse_changed(table, key, _current(file, table, key), after)
    if "access_count" in before:
        # Reads since then are counted still: only what the run added goes.
        read = before["access_count"] + now["access_count"] - after["access_count"]
        before["access_count"] = max(0, read)
    _write(file, table, key, before)


def _refuse_changed(table: str, key: Row, now: Row | None, after: Row) -> Row:
    name = " ".join(str(value) for value in key.values())
    row = f"Memory {name}" if table == "memories" else f"A row of {table} ({name})"
    if now is None:
        raise ChangedSince(f"{row} was deleted after the run.", _HINT)
    for column, value in after.items():
        if column not in _BOOKKEEPING and now[column] != value:
            raise ChangedSince(
                f"{row} was changed after the run: {column} is {_short(now[column])} now, "
                f"the run left {_short(value)}.",
                _HINT,
            )
    return now


def _refuse_successor(file: MemoryFile, memory_id: str) -> None:
    """Refuse to delete a memory that stands for another since: that one's fact would be lost."""
    other = file.value("SELECT id FROM memories WHERE superseded_by = ?", [memory_id])
    if other is not None:
        raise ChangedSince(
            f"Memory {other} was superseded by memory {memory_id} after the run.", _HINT
        )


def _short(value: object) -> str:
    text = repr(value)
    return text if len(text) <= 60 else f"{text[:57]}..."


def _drop_index(file: MemoryFile, run_id: str) -> None:
    for table in _INDEX:
        file.db.conn.execute(f"DELETE FROM {table} WHERE run_id = ?", [run_id])


def _drop_unused_entities(file: MemoryFile) -> None:
    """Remove the names that runs found and nothing mentions any more."""
    file.db.conn.execute(
        "DELETE FROM entities WHERE run_id IS NOT NULL "
        "AND id NOT IN (SELECT entity_id FROM memory_entities)"
    )


def _mark_undone(file: MemoryFile, run_id: str, keys: list[str], now: str) -> None:
    file.db.conn.executemany(
        "UPDATE proposals SET state = 'undone', decided_at = ? WHERE run_id = ? AND key = ?",
        [(now, run_id, key) for key in keys],
    )


def _current(file: MemoryFile, table: str, key: Row) -> dict[str, Any] | None:
    where, values = _where(key)
    return next(file.rows(f"SELECT * FROM {table} WHERE {where}", values), None)


def _write(file: MemoryFile, table: str, key: Row, changes: Row) -> None:
    where, values = _where(key)
    names = ", ".join(f"{name} = ?" for name in changes)
    file.db.conn.execute(
        f"UPDATE {table} SET {names} WHERE {where}",
        [*changes.values(), *values],
    )


def _where(key: Row) -> tuple[str, list[Any]]:
    return " AND ".join(f"{name} = ?" for name in key), list(key.values())


def _record(
    file: MemoryFile,
    run_id: str,
    proposal: str,
    table: str,
    key: Row,
    before: Row | None,
    after: Row,
) -> None:
    file.db.conn.execute(
        "INSERT INTO journal (run_id, sequence, proposal, table_name, row_key, before, after) "
        "VALUES (?, (SELECT coalesce(max(sequence), 0) + 1 FROM journal WHERE run_id = ?), "
        "?, ?, ?, ?, ?)",
        [
            run_id,
            run_id,
            proposal,
            table,
            _encoded(key),
            None if before is None else _encoded(before),
            _encoded(after),
        ],
    )


def _encoded(row: Row) -> str:
    return json_text(
        {
            name: {"hex": value.hex()} if isinstance(value, bytes) else value
            for name, value in row.items()
        }
    )


def _decoded(text: str) -> dict[str, Any]:
    return {
        name: bytes.fromhex(value["hex"]) if isinstance(value, dict) else value
        for name, value in json.loads(text).items()
    }
