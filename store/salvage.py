"""Export the readable part of a damaged file as JSON Lines.

Each memory is looked up by its row number, so that damage hides only the memories on its pages.
Lineage and names are read from both ends up to the damage. All that is copied to a temporary file,
which is exported. Vectors are not saved: the next run computes them again.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import closing, suppress
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from .column_types import is_valid
from .errors import UnusableFile, file_errors
from .exchange import export_lines
from .file import MemoryFile, new_file
from .opening import open_database
from .records import COLUMNS, content_hash
from .rows import add_rows

# A row takes more bytes than this: the limit on rows ends the reading of a cyclic tree.
_MIN_ROW_BYTES = 8
Row = dict[str, Any]
_UNREADABLE = (sqlite3.Error, MemoryError, OverflowError)
# The columns of the other tables; they begin with the primary key.
_OTHER_TABLES = {
    "entities": "id, tenant, name",
    "memory_entities": "memory_id, entity_id",
    "synthesized_from": (
        "derived_id, source_id, operation, run_id, source_hash, source_content, created_at"
    ),
}
# Deletes the edges of lost memories, and those from lost texts.
_CUT_DANGLING = (
    "DELETE FROM synthesized_from WHERE derived_id NOT IN (SELECT id FROM memories) OR "
    "source_content IS NULL AND source_id NOT IN (SELECT id FROM memories) RETURNING derived_id"
)
_LOST_SUCCESSOR = "superseded_by IS NOT NULL AND superseded_by NOT IN (SELECT id FROM memories)"


@dataclass
class Salvaged:
    """Counts of a salvage; final after the last line."""

    saved: int = 0
    # Saved memories that are known to be incomplete or corrupt.
    partly: int = 0
    # Row numbers at which a memory could not be read.
    lost: int = 0


def salvage_lines(path: Path, everything: bool, count: Salvaged) -> Iterator[str]:
    """Yield a JSON line for each readable memory, and count them. Raises `UnusableFile`."""
    with (
        TemporaryDirectory(prefix="slowwave-") as folder,
        file_errors("read", path, error_type=UnusableFile),
        new_file(Path(folder) / "memory.db") as copy,
    ):
        with suppress(sqlite3.DatabaseError), open_database(path, "ro") as conn, copy.transaction():
            conn.text_factory = bytes
            # Allows reading files that are shorter than their header claims.
            conn.execute("PRAGMA writable_schema = ON")
            partly = _copy(conn, path.stat().st_size // _MIN_ROW_BYTES + 1_000, copy, count)
        saved = copy.column("SELECT id FROM memories WHERE ? OR status = 'active'", [everything])
        if not saved:
            raise UnusableFile(
                f"{path} is damaged, and none of its memories can be read.",
                "Restore it from a backup.",
            )
        count.saved, count.partly = len(saved), len(partly.intersection(saved))
        yield from export_lines(copy, everything)


def _copy(conn: sqlite3.Connection, limit: int, copy: MemoryFile, count: Salvaged) -> set[str]:
    """Copy the readable rows; return the ids of incomplete memories. limit: of rows per table."""
    partly = set[str]()
    for row in _read_memories(conn, limit):
        values = {name: _decoded(value) for name, value in row.items()}
        valid = {name: value for name, value in values.items() if is_valid(name, value)}
        text, stored_hash = valid.get("content", ""), valid.get("content_hash")
        # A row of another table, in a reused page, has no dates where memories have them.
        is_memory = text and "id" in valid and {"created_at", "updated_at"} & valid.keys()
        if not (is_memory and _is_inserted(copy, "memories", valid)):
            count.lost += 1
        elif (
            len(valid) < len(row)
            or row["content"] != text.encode()
            or stored_hash not in (None, content_hash(text))
        ):
            partly.add(valid["id"])
    for table, columns in _OTHER_TABLES.items():
        for order in ("1, 2", "1 DESC, 2 DESC"):
            sql = f"SELECT {columns} FROM {table} NOT INDEXED ORDER BY {order}"
            for read in _scan(conn, sql, limit):
                _is_inserted(
                    copy, table, dict(zip(columns.split(", "), map(_decoded, read), strict=True))
                )
    partly.update(copy.column(_CUT_DANGLING))
    partly.update(copy.column(f"SELECT id FROM memories WHERE {_LOST_SUCCESSOR}"))
    copy.conn.execute(f"UPDATE memories SET superseded_by = NULL WHERE {_LOST_SUCCESSOR}")
    return partly


def _read_memories(conn: sqlite3.Connection, limit: int) -> Iterator[Row]:
    """Yield the row of each possible row number, empty if it cannot be read."""
    scans = (
        "NOT INDEXED ORDER BY rowid",
        "NOT INDEXED ORDER BY rowid DESC",
        "INDEXED BY memories_by_status ORDER BY tenant, status, layer",
    )
    listed = {
        number
        for scan in scans
        for (number,) in _scan(conn, f"SELECT rowid FROM memories {scan}", limit)
    }
    highest = max((number for number in listed if number <= limit), default=0)
    # `sqlite3` drops the row before the one that cannot be read: one more is looked up.
    for number in sorted(listed.union(range(1, highest + 2))):
        sql = f"SELECT {', '.join(COLUMNS)} FROM memories NOT INDEXED WHERE rowid = ?"
        try:
            for values in conn.execute(sql, [number]):
                yield dict(zip(COLUMNS, values, strict=True))
        except _UNREADABLE:
            yield {}


def _scan(conn: sqlite3.Connection, sql: str, limit: int) -> Iterator[tuple[Any, ...]]:
    """Yield the rows before the first one that cannot be read."""
    with suppress(*_UNREADABLE), closing(conn.cursor()) as cursor:
        yield from islice(cursor.execute(sql), limit)


def _is_inserted(copy: MemoryFile, table: str, row: Row) -> bool:
    """Insert a row, and return whether its table accepts it."""
    try:
        add_rows(copy, table, [row])
    except (sqlite3.IntegrityError, OverflowError):
        return False
    return True


def _decoded(value: object) -> Any:
    """Return a value that was read as bytes as text."""
    return value.decode(errors="replace") if isinstance(value, bytes) else value
