"""What runs did and decided, as JSON lines among the memories: so that undo works elsewhere."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterator
from typing import Any, NamedTuple

from .errors import UnusableFile
from .extension_tables import ExtensionTables, extension_tables, has_table
from .file import MemoryFile
from .records import json_text
from .rows import Columns, Row, add_rows, decode_row, encode_row, set_columns
from .sql_script import run_script

# What a file holds besides memories, vectors and lineage, and each table's order: no row speaks of
# one that comes later. What may be emptied at any time is left out.
_WHOLE = {
    "runs": "rowid",  # which of two runs came later
    "proposals": "run_id, key",
    "journal": "run_id, sequence",
    "derivations": "memory_id, run_id, proposal",
    "answers": "key",
    "asked": "tenant, content_hash, key",
    "disputes": "tenant, earlier_hash, later_hash",
    "witnesses": "id",
    "witness_vectors": "id, model",
    "entities": "id",
    "memory_entities": "memory_id, entity_id",
    "entity_scans": "memory_id",
    "read_messages": "tenant, chain",
    "memory_messages": "memory_id, chain",
    "waiting_messages": "id",
}
# A memory's line holds its vectors, but not which run computed them.
_COMPUTED = "embeddings"
_OF_A_VECTOR = "memory_id, model"


class HistoryRow(NamedTuple):
    """One row of what runs did."""

    table: str
    row: dict[str, Any]


def history_lines(file: MemoryFile) -> Iterator[str]:
    """Yield a JSON line for each row of what runs did: `{"table": NAME, "row": {...}}`.

    None of a file in which no run has been, and in which no extension keeps anything.
    """
    of_extensions = {
        table: tables.order[table]
        for table, tables in _of_extensions().items()
        if has_table(file.db, table)
    }
    if not any(_has_rows(file, table) for table in ("runs", *of_extensions)):
        return
    for table, order in (_WHOLE | of_extensions).items():
        for row in file.rows(f"SELECT * FROM {table} ORDER BY {order}"):
            yield _line(table, row)
    for row in file.rows(
        f"SELECT {_OF_A_VECTOR}, run_id FROM {_COMPUTED} WHERE run_id IS NOT NULL "
        f"ORDER BY {_OF_A_VECTOR}"
    ):
        yield _line(_COMPUTED, row)


def _of_extensions() -> dict[str, ExtensionTables]:
    """Return the tables of extensions that an export holds, by their names."""
    return {name: tables for tables in extension_tables() for name in tables.order}


def _line(table: str, row: Row) -> str:
    return json_text({"table": table, "row": json.loads(encode_row(row))})


def parse_history(line: bytes) -> HistoryRow | None:
    """Return the row of a line; None if it is a memory's. Raises ValueError with the reason."""
    if b'"table"' not in line or b'"row"' not in line:  # without parsing 100,000 of them twice
        return None
    fields = json.loads(line)
    if not isinstance(fields, dict) or fields.keys() != {"table", "row"}:
        return None
    table, row = fields["table"], fields["row"]
    if table not in (*_WHOLE, *_of_extensions(), _COMPUTED):
        raise ValueError(f"there is no history in a table named {table!r:.60}")
    try:
        return HistoryRow(table, decode_row(json_text(row)))
    except UnusableFile as error:
        raise ValueError("row: cannot be read") from error


class History:
    """Takes in the history of one file, whose memories come in the same transaction."""

    def __init__(self, file: MemoryFile) -> None:
        """Expect a file to which nothing has been added in this transaction yet."""
        self._file = file
        self._columns = Columns(file)
        self._can_take = not _has_rows(file, "runs") and not _has_rows(file, "memories")
        self._emptied: set[str] = set()
        self._of_extensions = _of_extensions()
        # The number of the first line that was not taken in.
        self.first_skipped: int | None = None

    def memory_follows(self) -> None:
        """Note that a memory's line came: after rows of history it begins another file's lines."""
        self._can_take = self._can_take and not self._emptied

    def add(self, number: int, of: HistoryRow) -> None:
        """Add the row of a line within the transaction, after the memories that came before it.

        In a new file, the rows of one other: ids of names and runs would be mixed up elsewhere.
        Raises ValueError if the file cannot hold it.
        """
        if not self._can_take:
            self.first_skipped = self.first_skipped or number
            return
        if of.table in self._of_extensions and of.table not in self._emptied:
            run_script(self._file.db, self._of_extensions[of.table].script)
        try:
            self._columns.refuse_unknown(of.table, of.row)
            if of.table == _COMPUTED:
                key = {name: of.row.get(name) for name in _OF_A_VECTOR.split(", ")}
                set_columns(self._file, _COMPUTED, key, {"run_id": of.row.get("run_id")})
            else:
                self._empty(of.table)
                add_rows(self._file, of.table, [of.row])
        except UnusableFile as error:
            raise ValueError(f"row: {of.table} has no such columns") from error
        except _DOES_NOT_FIT as error:
            raise ValueError(f"row: does not fit into {of.table} ({error})") from error

    def _empty(self, table: str) -> None:
        """Drop what the lines of memories put there: it says less, as who found a name."""
        if table not in self._emptied:
            self._emptied.add(table)
            self._file.db.conn.execute(f"DELETE FROM {table}")


def _has_rows(file: MemoryFile, table: str) -> bool:
    return file.value(f"SELECT 1 FROM {table} LIMIT 1") is not None


_DOES_NOT_FIT = (
    sqlite3.IntegrityError,
    sqlite3.InterfaceError,
    sqlite3.ProgrammingError,
    OverflowError,
)
