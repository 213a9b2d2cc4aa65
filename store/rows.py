"""Read and write rows of any table, and encode them for the journal."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from sqlite3 import Cursor
from typing import Any

from .errors import UnusableFile
from .file import MemoryFile
from .records import SAVE_HINT, json_text, parse_object

Row = Mapping[str, Any]


def current_row(file: MemoryFile, table: str, key: Row) -> dict[str, Any] | None:
    """Return the row with this key, or None. The caller has a transaction."""
    where, values = _where(key)
    cursor = file.conn.execute(f"SELECT * FROM {table} WHERE {where}", values)
    row = cursor.fetchone()
    return None if row is None else _named(cursor, row)


def current_rows(file: MemoryFile, table: str, keys: Sequence[Row]) -> list[dict[str, Any] | None]:
    """Return the row, or None, for each key. All keys have the same columns."""
    if len(keys) == 1:
        return [current_row(file, table, keys[0])]
    if not keys:
        return []
    same = " AND ".join(f"t.{name} = json_extract(k.value, '$.{name}')" for name in keys[0])
    # CROSS JOIN: look up each key instead of scanning the table.
    cursor = file.conn.execute(
        f"SELECT t.*, k.key FROM json_each(?) AS k CROSS JOIN {table} AS t ON {same}",
        [json_text(keys)],
    )
    rows: list[dict[str, Any] | None] = [None] * len(keys)
    for *row, index in cursor:
        rows[index] = _named(cursor, row)
    return rows


def add_rows(file: MemoryFile, table: str, rows: Sequence[Row]) -> None:
    """Insert rows with the same columns."""
    for first in rows[:1]:
        names = ", ".join(first)
        marks = ", ".join("?" * len(first))
        file.conn.executemany(
            f"INSERT INTO {table} ({names}) VALUES ({marks})", [list(row.values()) for row in rows]
        )


def set_columns(file: MemoryFile, table: str, keys: Sequence[Row], changes: Row) -> bool:
    """Update the same columns of rows; return whether any exists.

    All keys have the same columns.
    """
    if not keys:
        return False
    where, _ = _where(keys[0])
    names = ", ".join(f"{name} = ?" for name in changes)
    cursor = file.conn.executemany(
        f"UPDATE {table} SET {names} WHERE {where}",
        [[*changes.values(), *key.values()] for key in keys],
    )
    return cursor.rowcount > 0


def delete_rows(file: MemoryFile, table: str, keys: Sequence[Row]) -> None:
    """Delete rows by key. All keys have the same columns."""
    for first in keys[:1]:
        where, _ = _where(first)
        file.conn.executemany(
            f"DELETE FROM {table} WHERE {where}", [list(key.values()) for key in keys]
        )


def json_field(column: str, name: str) -> str:
    """Return the SQL of a field of the JSON object in a column; NULL if it is not JSON."""
    return f"iif(json_valid({column}), json_extract({column}, '$.{name}'), NULL)"


def encode_row(row: Row) -> str:
    """Return a row as JSON, with blobs in hexadecimal."""
    return json_text(
        {
            name: {"hex": value.hex()} if isinstance(value, bytes) else value
            for name, value in row.items()
        }
    )


def decode_row(text: str) -> dict[str, Any]:
    """Return the row of a text from `encode_row`. Raises `UnusableFile` if it is invalid."""
    row = parse_object(text, "a row", "the journal")
    try:
        return {
            name: bytes.fromhex(value["hex"]) if isinstance(value, dict) else value
            for name, value in row.items()
        }
    except (KeyError, TypeError, ValueError):
        raise UnusableFile(
            "The file is damaged: its journal has an invalid row.", SAVE_HINT
        ) from None


# The Python types for a column of a strict table, by the column's type.
_TYPES: dict[str, type | tuple[type, ...]] = {
    "TEXT": str,
    "INTEGER": int,
    "INT": int,
    "REAL": (int, float),
    "BLOB": bytes,
}


@dataclass(frozen=True)
class Columns:
    """The columns of a file's tables, cached."""

    file: MemoryFile
    # By table and column, the type and whether it may be NULL.
    _known: dict[str, dict[str, tuple[str, bool]]] = field(default_factory=dict)

    def has(self, table: str, names: Iterable[str]) -> bool:
        """Whether a table exists and has these columns."""
        return self._of(table).keys() >= set(names)

    def can_hold(self, table: str, name: str, value: object) -> bool:
        """Whether a table has a column of a type that can store a value."""
        column = self._of(table).get(name)
        if column is None or value is None:
            return column is not None and column[1]
        if isinstance(value, str) and not _is_utf_8(value):
            return False
        if isinstance(value, int) and not -(2**63) <= value < 2**63:
            return False
        return isinstance(value, _TYPES.get(column[0], (str, int, float, bytes)))

    def _of(self, table: str) -> dict[str, tuple[str, bool]]:
        columns = self._known.get(table)
        if columns is None:
            rows = self.file.conn.execute(
                'SELECT name, type, "notnull" FROM pragma_table_info(?)', [table]
            )
            columns = {name: (kind.upper(), not required) for name, kind, required in rows}
            if columns:  # do not cache the unknown tables of a damaged journal
                self._known[table] = columns
        return columns


def _named(cursor: Cursor, row: Sequence[Any]) -> dict[str, Any]:
    return {column[0]: value for column, value in zip(cursor.description, row, strict=False)}


def _is_utf_8(text: str) -> bool:
    """Whether a text is without half surrogate pairs, which JSON can contain but columns cannot."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def _where(key: Row) -> tuple[str, list[Any]]:
    return " AND ".join(f"{name} = ?" for name in key), list(key.values())
