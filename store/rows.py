"""Single rows of any table: read, write, and as the text that the journal keeps."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from sqlite3 import Cursor
from typing import Any

from .errors import UnusableFile
from .file import MemoryFile
from .records import SAVE, json_text, parse_object

Row = Mapping[str, Any]


def current_row(file: MemoryFile, table: str, key: Row) -> dict[str, Any] | None:
    """Return the row with this key, or None. Within a transaction: nobody has to be waited for."""
    where, values = _where(key)
    cursor = file.db.conn.execute(f"SELECT * FROM {table} WHERE {where}", values)
    row = cursor.fetchone()
    return None if row is None else _named(cursor, row)


def current_rows(file: MemoryFile, table: str, keys: Sequence[Row]) -> list[dict[str, Any] | None]:
    """Return the row with each key, or None, by one statement. The keys are of the same columns."""
    if len(keys) == 1:
        return [current_row(file, table, keys[0])]
    if not keys:
        return []
    same = " AND ".join(f"t.{name} = json_extract(k.value, '$.{name}')" for name in keys[0])
    # CROSS JOIN: each key is looked up, the table is not gone through.
    cursor = file.db.conn.execute(
        f"SELECT t.*, k.key FROM json_each(?) AS k CROSS JOIN {table} AS t ON {same}",
        [json_text(keys)],
    )
    found: list[dict[str, Any] | None] = [None] * len(keys)
    for *row, at in cursor:
        found[at] = _named(cursor, row)
    return found


def add_rows(file: MemoryFile, table: str, rows: Sequence[Row]) -> None:
    """Insert rows of the same columns."""
    for first in rows[:1]:
        names = ", ".join(first)
        marks = ", ".join("?" * len(first))
        file.db.conn.executemany(
            f"INSERT INTO {table} ({names}) VALUES ({marks})", [list(row.values()) for row in rows]
        )


def set_columns(file: MemoryFile, table: str, key: Row, changes: Row) -> bool:
    """Change columns of the row with this key, and say whether there is one."""
    where, values = _where(key)
    names = ", ".join(f"{name} = ?" for name in changes)
    done = file.db.conn.execute(
        f"UPDATE {table} SET {names} WHERE {where}", [*changes.values(), *values]
    )
    return done.rowcount > 0


def set_columns_of_rows(file: MemoryFile, table: str, keys: Sequence[Row], changes: Row) -> None:
    """Change the same columns of the rows with these keys, which are of the same columns."""
    for first in keys[:1]:
        where, _ = _where(first)
        names = ", ".join(f"{name} = ?" for name in changes)
        file.db.conn.executemany(
            f"UPDATE {table} SET {names} WHERE {where}",
            [[*changes.values(), *key.values()] for key in keys],
        )


def delete_rows(file: MemoryFile, table: str, keys: Sequence[Row]) -> None:
    """Delete the rows with these keys, which are of the same columns."""
    for first in keys[:1]:
        where, _ = _where(first)
        file.db.conn.executemany(
            f"DELETE FROM {table} WHERE {where}", [list(key.values()) for key in keys]
        )


def delete_row(file: MemoryFile, table: str, key: Row) -> None:
    """Delete the row with this key."""
    delete_rows(file, table, [key])


def json_field(column: str, name: str) -> str:
    """Return the SQL of what an object in a column says under a name; NULL if it is not JSON."""
    return f"iif(json_valid({column}), json_extract({column}, '$.{name}'), NULL)"


def encode_row(row: Row) -> str:
    """Return a row as JSON; blobs as hexadecimal digits."""
    return json_text(
        {
            name: {"hex": value.hex()} if isinstance(value, bytes) else value
            for name, value in row.items()
        }
    )


def decode_row(text: str) -> dict[str, Any]:
    """Return the row that `encode_row` made the text from. Raises `UnusableFile` if it is none."""
    row = parse_object(text, "a row", "the journal")
    try:
        return {
            name: bytes.fromhex(value["hex"]) if isinstance(value, dict) else value
            for name, value in row.items()
        }
    except (KeyError, TypeError, ValueError):
        raise UnusableFile("The file is damaged: a row of the journal is none.", SAVE) from None


# What Python binds to a column of a strict table, by the column's type.
_TYPES: dict[str, type | tuple[type, ...]] = {
    "TEXT": str,
    "INTEGER": int,
    "INT": int,
    "REAL": (int, float),
    "BLOB": bytes,
}


class Columns:
    """The columns of a file's tables, each table looked up once."""

    def __init__(self, file: MemoryFile) -> None:
        """Read nothing yet."""
        self._file = file
        # Per table, the type of each column, and whether it may be NULL.
        self._known: dict[str, dict[str, tuple[str, bool]]] = {}

    def refuse_unknown(self, table: str, names: Iterable[str]) -> None:
        """Refuse a table or a column that is none: a damaged journal may name anything."""
        unknown = set(names) - self._of(table).keys()
        if unknown:
            named = ", ".join(sorted(unknown))
            raise UnusableFile(
                f"The file is damaged: the journal speaks of {named} in {table}.", SAVE
            )

    def can_hold(self, table: str, name: str, value: object) -> bool:
        """Whether a table has a column, and that can have a value, by type."""
        column = self._of(table).get(name)
        if column is None or value is None:
            return column is not None and column[1]
        if isinstance(value, str) and not _is_utf_8(value):
            return False
        if isinstance(value, int) and not -(2**63) <= value < 2**63:
            return False
        return isinstance(value, _TYPES.get(column[0], (str, int, float, bytes)))

    def _of(self, table: str) -> dict[str, tuple[str, bool]]:
        known = self._known.get(table)
        if known is None:
            rows = self._file.db.conn.execute(
                'SELECT name, type, "notnull" FROM pragma_table_info(?)', [table]
            )
            known = {name: (kind.upper(), not required) for name, kind, required in rows}
            if known:  # so many tables there are; what a damaged journal names may be anything
                self._known[table] = known
        return known


def _named(cursor: Cursor, row: Sequence[Any]) -> dict[str, Any]:
    return {column[0]: value for column, value in zip(cursor.description, row, strict=False)}


def _is_utf_8(text: str) -> bool:
    """Whether a text is without half characters, which JSON can hold and no column does."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def _where(key: Row) -> tuple[str, list[Any]]:
    return " AND ".join(f"{name} = ?" for name in key), list(key.values())
