"""Single rows of any table: read, write, and as the text that the journal keeps."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from .errors import UnusableFile
from .file import MemoryFile
from .records import SAVE, json_text, kept_object

Row = Mapping[str, Any]


def current_row(file: MemoryFile, table: str, key: Row) -> dict[str, Any] | None:
    """Give the row with this key, or None."""
    where, values = _where(key)
    return next(file.rows(f"SELECT * FROM {table} WHERE {where}", values), None)


def add_row(file: MemoryFile, table: str, row: Row) -> None:
    """Insert a row."""
    names = ", ".join(row)
    marks = ", ".join("?" * len(row))
    file.db.conn.execute(f"INSERT INTO {table} ({names}) VALUES ({marks})", list(row.values()))


def set_columns(file: MemoryFile, table: str, key: Row, changes: Row) -> bool:
    """Change columns of the row with this key, and say whether there is one."""
    where, values = _where(key)
    names = ", ".join(f"{name} = ?" for name in changes)
    done = file.db.conn.execute(
        f"UPDATE {table} SET {names} WHERE {where}", [*changes.values(), *values]
    )
    return done.rowcount > 0


def delete_row(file: MemoryFile, table: str, key: Row) -> None:
    """Delete the row with this key."""
    where, values = _where(key)
    file.db.conn.execute(f"DELETE FROM {table} WHERE {where}", values)


def encoded(row: Row) -> str:
    """Give a row as JSON; blobs as hexadecimal digits."""
    return json_text(
        {
            name: {"hex": value.hex()} if isinstance(value, bytes) else value
            for name, value in row.items()
        }
    )


def decoded(text: str) -> dict[str, Any]:
    """Give the row that `encoded` made the text from. Raises `UnusableFile` if it is none."""
    row = kept_object(text, "a row", "the journal")
    try:
        return {
            name: bytes.fromhex(value["hex"]) if isinstance(value, dict) else value
            for name, value in row.items()
        }
    except (KeyError, TypeError, ValueError):
        raise UnusableFile("The file is damaged: a row of the journal is none.", SAVE) from None


def refuse_unknown(file: MemoryFile, table: str, names: Iterable[str]) -> None:
    """Refuse a table or a column that is none: a damaged journal may name anything."""
    rows = file.db.conn.execute("SELECT name FROM pragma_table_info(?)", [table])
    unknown = set(names) - {row[0] for row in rows}
    if unknown:
        raise UnusableFile(
            f"The file is damaged: the journal speaks of {', '.join(sorted(unknown))} in {table}.",
            SAVE,
        )


def _where(key: Row) -> tuple[str, list[Any]]:
    return " AND ".join(f"{name} = ?" for name in key), list(key.values())
