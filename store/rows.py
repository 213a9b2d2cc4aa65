"""Read and write rows of any table, and encode them for the journal."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from .errors import DamagedRow
from .file import MemoryFile
from .records import json_text, parse_object

Row = Mapping[str, Any]


def current_row(file: MemoryFile, table: str, key: Row) -> dict[str, Any] | None:
    """Return the row with this key, or None. The caller has a transaction."""
    return current_rows(file, table, [key])[0]


def current_rows(file: MemoryFile, table: str, keys: Sequence[Row]) -> list[dict[str, Any] | None]:
    """Return the row, or None, for each key. All keys have the same columns."""
    if not keys:
        return []
    same = " AND ".join(f"t.{name} = json_extract(k.value, '$.{name}')" for name in keys[0])
    # CROSS JOIN: look up each key instead of scanning the table.
    # Without the generated columns of an agent, which cannot be written.
    names = sorted(file.columns(table))
    columns = ", ".join('t."{}"'.format(name.replace('"', '""')) for name in names)
    cursor = file.conn.execute(
        f"SELECT k.key, {columns} FROM json_each(?) AS k CROSS JOIN {table} AS t ON {same}",
        [json_text(keys)],
    )
    rows: list[dict[str, Any] | None] = [None] * len(keys)
    for index, *row in cursor:
        rows[index] = dict(zip(names, row, strict=True))
    return rows


def add_rows(file: MemoryFile, table: str, rows: Sequence[Row]) -> None:
    """Insert rows with the same columns."""
    for first in rows[:1]:
        names = ", ".join(first)
        marks = ", ".join("?" * len(first))
        file.change_rows(
            f"INSERT INTO {table} ({names}) VALUES ({marks})", [list(row.values()) for row in rows]
        )


def set_columns(file: MemoryFile, table: str, keys: Sequence[Row], changes: Row) -> None:
    """Update the same columns of existing rows. All keys have the same columns."""
    for first in keys[:1]:
        names = ", ".join(f"{name} = ?" for name in changes)
        file.change_rows(
            f"UPDATE {table} SET {names} WHERE {_where(first)}",
            [[*changes.values(), *key.values()] for key in keys],
        )


def delete_rows(file: MemoryFile, table: str, keys: Sequence[Row]) -> None:
    """Delete existing rows by key. All keys have the same columns."""
    for first in keys[:1]:
        file.change_rows(
            f"DELETE FROM {table} WHERE {_where(first)}", [list(key.values()) for key in keys]
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
    """Return the row of a text from `encode_row`. Raises `DamagedRow` if it is invalid."""
    row = parse_object(text, "a row", "the journal")
    try:
        return {name: _decode_value(value) for name, value in row.items()}
    except (KeyError, TypeError, ValueError):
        raise DamagedRow("its journal has an invalid row") from None


def _decode_value(value: Any) -> Any:
    """Return a value that a column can store. Raises KeyError, TypeError or ValueError."""
    if isinstance(value, dict):
        return bytes.fromhex(value["hex"])
    if isinstance(value, list):
        raise TypeError
    if isinstance(value, str):
        value.encode()  # refuses half a surrogate pair, which JSON can contain
    return value


def _where(key: Row) -> str:
    return " AND ".join(f"{name} = ?" for name in key)
