"""Export and import the history of runs as JSON Lines, so that undo works in the new file."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterator
from typing import Any, NamedTuple

from .errors import DamagedRow
from .extension_points import ExtensionTables, extension_tables, has_table, run_script
from .file import MemoryFile
from .records import json_text
from .rows import Row, add_rows, current_row, decode_row, encode_row, set_columns

# The tables besides memories, vectors and lineage, and their order: rows refer only to earlier
# rows. Caches, and tables that only mirrors use, are not exported.
_WHOLE = (
    *("runs", "proposals", "journal", "derivations", "answers", "asked", "disputes"),
    *("witnesses", "witness_vectors", "read_messages", "memory_messages", "waiting_messages"),
)
# Tables of earlier versions, whose rows are skipped: names that runs found in texts.
_DROPPED = ("entities", "memory_entities", "entity_scans")
# A memory's line has its vectors, but not the run that computed them.
_COMPUTED = "embeddings"
_VECTOR_KEY = "memory_id, model"
# What SQLite raises for a value that a column cannot have.
_DOES_NOT_FIT = (
    *(sqlite3.IntegrityError, sqlite3.InterfaceError, sqlite3.ProgrammingError),
    OverflowError,
)


class HistoryRow(NamedTuple):
    """A row of the history."""

    table: str
    row: dict[str, Any]


def history_lines(file: MemoryFile) -> Iterator[str]:
    """Yield a JSON line for each row of the history: `{"table": NAME, "row": {...}}`.

    Yields nothing for a file without runs and conversations in which no extension keeps anything.
    """
    of_extensions = [table for table in _of_extensions() if has_table(file.conn, table)]
    if not any(_has_rows(file, table) for table in ("runs", "waiting_messages", *of_extensions)):
        return
    for table in (*_WHOLE, *of_extensions):
        # Runs keep their order. The key of any other table is in its first columns.
        order = "rowid" if table == "runs" else "1, 2, 3"
        for row in file.rows(f"SELECT * FROM {table} ORDER BY {order}"):
            yield _line(table, row)
    for row in file.rows(
        f"SELECT {_VECTOR_KEY}, run_id FROM {_COMPUTED} WHERE run_id IS NOT NULL "
        f"ORDER BY {_VECTOR_KEY}"
    ):
        yield _line(_COMPUTED, row)


def _of_extensions() -> dict[str, ExtensionTables]:
    """Return the tables of extensions that an export contains, by name."""
    return {name: tables for tables in extension_tables() for name in tables.exported}


def _line(table: str, row: Row) -> str:
    return json_text({"table": table, "row": json.loads(encode_row(row))})


def parse_history(line: bytes) -> HistoryRow | None:
    """Return the row of a line; None for a memory's line. Raises ValueError with the reason."""
    if b'"table"' not in line or b'"row"' not in line:  # faster than parsing each line
        return None
    fields = json.loads(line)
    if not isinstance(fields, dict) or fields.keys() != {"table", "row"}:
        return None
    table, row = fields["table"], fields["row"]
    if table not in (*_WHOLE, *_of_extensions(), *_DROPPED, _COMPUTED):
        raise ValueError(f"unknown table of the history: {table!r:.60}")
    try:
        return HistoryRow(table, decode_row(json_text(row)))
    except DamagedRow as error:
        raise ValueError("row: cannot be read") from error


class History:
    """Imports the history of a file, in the same transaction as its memories."""

    def __init__(self, file: MemoryFile) -> None:
        """file: one to which nothing has been added in this transaction yet."""
        self._file = file
        self._can_take = not _has_rows(file, "runs") and not _has_rows(file, "memories")
        self._emptied: set[str] = set()
        self._of_extensions = _of_extensions()
        # The number of the first skipped line.
        self.first_skipped: int | None = None

    def memory_follows(self) -> None:
        """Note a memory's line: after history, it begins the lines of another file."""
        self._can_take = self._can_take and not self._emptied

    def add(self, number: int, row: HistoryRow) -> None:
        """Add a row after the memories before it, if the file is new, or else skip it.

        Ids of different files could collide. Raises ValueError for an invalid row.
        """
        if not self._can_take:
            self.first_skipped = self.first_skipped or number
            return
        if row.table in _DROPPED or row.row.get("table_name") in _DROPPED:
            return
        if row.table in self._of_extensions and row.table not in self._emptied:
            run_script(self._file.conn, self._of_extensions[row.table].script)
        if not row.row.keys() <= self._file.columns(row.table):
            raise ValueError(f"row: {row.table} does not have these columns")
        try:
            if row.table == _COMPUTED:
                key = {name: row.row.get(name) for name in _VECTOR_KEY.split(", ")}
                if current_row(self._file, _COMPUTED, key) is not None:
                    set_columns(self._file, _COMPUTED, [key], {"run_id": row.row.get("run_id")})
            else:
                if row.table not in self._emptied:
                    self._emptied.add(row.table)
                    self._file.conn.execute(f"DELETE FROM {row.table}")
                add_rows(self._file, row.table, [row.row])
        except _DOES_NOT_FIT as error:
            raise ValueError(f"row: does not fit into {row.table} ({error})") from error


def _has_rows(file: MemoryFile, table: str) -> bool:
    return file.value(f"SELECT 1 FROM {table} LIMIT 1") is not None
