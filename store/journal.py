"""Change rows so that the change can be taken back to the bit: each with its image before."""

from __future__ import annotations

from .errors import StoreError
from .file import MemoryFile
from .rows import Row, add_row, current_row, encoded, set_columns


def insert_row(
    file: MemoryFile, run_id: str, proposal: str, table: str, row: Row, key: Row
) -> None:
    """Insert a row within the transaction of the caller, and journal it."""
    add_row(file, table, row)
    _record(file, run_id, proposal, table, key, None, row)


def update_row(
    file: MemoryFile, run_id: str, proposal: str, table: str, key: Row, changes: Row
) -> None:
    """Update columns of one row within the transaction of the caller, and journal them.

    What the file's triggers change along with them is journaled too.
    """
    was = current_row(file, table, key)
    if was is None:
        raise StoreError(f"A row of {table} that is to change is not there: {dict(key)}.")
    set_columns(file, table, key, changes)
    became = current_row(file, table, key) or {}
    after = {name: value for name, value in became.items() if value != was[name]}
    if after:
        before = {name: was[name] for name in after}
        _record(file, run_id, proposal, table, key, before, after)


def write_row(
    file: MemoryFile, run_id: str, proposal: str, table: str, key: Row, columns: Row
) -> None:
    """Update the row with this key, or insert it if it is not there, and journal it."""
    if current_row(file, table, key) is None:
        insert_row(file, run_id, proposal, table, {**key, **columns}, key)
    else:
        update_row(file, run_id, proposal, table, key, columns)


def keep_image(file: MemoryFile, run_id: str, table: str, key: Row) -> None:
    """Journal a row that is about to go, or to be replaced by one that carries the run's id."""
    row = current_row(file, table, key)
    if row is not None:
        _record(file, run_id, "", table, key, row, {})


def drop_unused_entities(file: MemoryFile) -> None:
    """Remove the names that runs found and nothing mentions any more."""
    file.db.conn.execute(
        "DELETE FROM entities WHERE run_id IS NOT NULL "
        "AND id NOT IN (SELECT entity_id FROM memory_entities)"
    )


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
            encoded(key),
            None if before is None else encoded(before),
            encoded(after),
        ],
    )
