"""Change rows and journal their before-images, so that undo restores them bit for bit."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from .connection import ignored_change_error
from .file import MemoryFile
from .journal_form import KEYS
from .rows import Row, add_rows, current_row, current_rows, encode_row, json_field, set_columns

# A trigger of an agent may change other columns of a row that is written.
_DECISIVE = frozenset({"content", "status", "superseded_by"})


@dataclass(frozen=True)
class Journal:
    """Changes rows for a run, and journals the changes, in the caller's transaction."""

    file: MemoryFile
    run_id: str
    # The key of the proposal, or of the phase; "" for changes outside of both.
    proposal: str

    def insert(self, table: str, *rows: Row) -> None:
        """Insert rows with the same columns, as triggers leave them. Raises `RejectedChange`."""
        add_rows(self.file, table, rows)
        keys = [{name: row[name] for name in KEYS[table]} for row in rows]
        inserted = zip(keys, rows, self._read(table, keys, rows), strict=True)
        self.record(
            table, ((key, None, {name: new[name] for name in row}) for key, row, new in inserted)
        )

    def update(self, table: str, keys: Sequence[Row], changes: Row) -> None:
        """Update the same columns of rows; changes of these by triggers are journaled too.

        Raises `RejectedChange` if a row does not exist, or is not changed.
        """
        before = self._read(table, keys, [{}] * len(keys))
        set_columns(self.file, table, keys, changes)
        after = self._read(table, keys, [changes] * len(keys))
        entries: list[tuple[Row, Row, Row]] = []
        for key, old, new in zip(keys, before, after, strict=True):
            changed = {name: value for name, value in new.items() if value != old[name]}
            if changed:
                entries.append((key, {name: old[name] for name in changed}, changed))
        self.record(table, entries)

    def _read(self, table: str, keys: Sequence[Row], written: Sequence[Row]) -> list[Row]:
        """Return rows. Raises `RejectedChange` if they do not have what was written to them."""
        rows: list[Row] = []
        for row, columns in zip(current_rows(self.file, table, keys), written, strict=True):
            decisive = _DECISIVE & columns.keys()
            if row is None or any(row[name] != columns[name] for name in decisive):
                raise ignored_change_error(self.file.path)
            rows.append(row)
        return rows

    def write(self, table: str, key: Row, columns: Row) -> None:
        """Update the row with this key, or insert it if it does not exist."""
        if current_row(self.file, table, key) is None:
            self.insert(table, {**key, **columns})
        else:
            self.update(table, [key], columns)

    def journal_images(self, table: str, keys: Sequence[Row]) -> None:
        """Journal rows that the run is about to delete or replace."""
        rows = zip(keys, current_rows(self.file, table, keys), strict=True)
        self.record(table, ((key, row, {}) for key, row in rows if row is not None))

    def record(self, table: str, entries: Iterable[tuple[Row, Row | None, Row]]) -> None:
        """Journal changes without making them.

        entries: the key of a row, the row before, or None if it did not exist, and the changed
        columns after.
        """
        self.file.change_rows(
            "INSERT INTO journal (run_id, sequence, proposal, table_name, row_key, before, after) "
            # max() reads the last entry of the primary key, not all rows of the run.
            "VALUES (?1, (SELECT coalesce(max(sequence), 0) + 1 FROM journal WHERE run_id = ?1), "
            "?2, ?3, ?4, ?5, ?6)",
            [
                (
                    *(self.run_id, self.proposal, table, encode_row(key)),
                    None if before is None else encode_row(before),
                    encode_row(after),
                )
                for key, before, after in entries
            ],
        )


def journaled_ids(file: MemoryFile, run_id: str, table: str = "memories") -> frozenset[str]:
    """Return the ids of the rows that a run inserted, changed or deleted."""
    ids = file.column(
        f"SELECT {json_field('row_key', 'id')} FROM journal WHERE run_id = ? AND table_name = ?",
        [run_id, table],
    )
    return frozenset(ids)


def changed_tenants(file: MemoryFile, run_id: str) -> set[str | None]:
    """Return the tenants of the memories and messages that a run changed.

    None is the tenant of a memory that was deleted since.
    """
    tenants = file.column(
        f"SELECT tenant FROM journal LEFT JOIN memories ON id = {json_field('row_key', 'id')} "
        "WHERE run_id = ?1 AND table_name = 'memories' "
        "UNION SELECT tenant FROM journal "
        f"LEFT JOIN waiting_messages ON id = {json_field('row_key', 'id')} "
        "WHERE journal.run_id = ?1 AND table_name = 'waiting_messages' "
        "UNION SELECT tenant FROM read_messages WHERE run_id = ?1",
        [run_id],
    )
    return set(tenants)
