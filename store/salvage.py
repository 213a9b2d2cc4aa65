"""Export the readable part of a damaged file as JSON Lines.

SQLite reads each table and its indexes from both ends up to the damage, and every row in between by
its key. What it reads is copied to a temporary file, which is exported. Vectors are not saved: the
next run computes them again.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable, Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from datetime import date
from itertools import islice
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from .column_types import is_valid
from .errors import UnusableFile, file_errors
from .exchange import export_lines
from .file import MemoryFile, new_file
from .opening import open_database
from .records import COLUMNS, content_hash, json_text
from .rows import add_rows

# A row takes more bytes than this: the limit on rows ends the reading of a cyclic tree.
_MIN_ROW_BYTES = 8

Row = dict[str, Any]


@dataclass(frozen=True)
class _Table:
    """A table: its key, its columns, and its indexes with their columns."""

    name: str
    key: str
    columns: str
    indexes: dict[str, str]


_MEMORIES = _Table(
    "memories",
    "rowid",
    ", ".join(COLUMNS),
    {
        "sqlite_autoindex_memories_1": "id",
        "memories_by_status": "tenant, status, layer",
        "memories_by_content": "content_hash",
    },
)
_ENTITIES = _Table(
    "entities", "rowid", "id, tenant, name", {"sqlite_autoindex_entities_1": "tenant, name"}
)
_MENTIONS = _Table(
    "memory_entities",
    "memory_id, entity_id",
    "memory_id, entity_id",
    {"memory_entities_by_entity": "entity_id, memory_id"},
)
_EDGES = _Table(
    "synthesized_from",
    "derived_id, source_id",
    "derived_id, source_id, operation, run_id, source_hash, source_content, created_at",
    {"synthesized_from_by_source": "source_id, derived_id"},
)

# Deletes the edges of lost memories, and those from lost texts.
_CUT_DANGLING = (
    "DELETE FROM synthesized_from WHERE derived_id NOT IN (SELECT id FROM memories) OR "
    "source_content IS NULL AND source_id NOT IN (SELECT id FROM memories) RETURNING derived_id"
)


@contextmanager
def _open_damaged(path: Path) -> Iterator[_View]:
    """Open a file as far as SQLite can read it. Raises `UnusableFile` if it can read no memory."""
    try:
        with open_database(path, "ro") as conn:
            conn.text_factory = bytes
            # Allows reading files that are shorter than their header claims.
            conn.execute("PRAGMA writable_schema = ON")
            view = _View(conn, path.stat().st_size)
            if view.has_memories():
                yield view
                return
    except sqlite3.DatabaseError:
        pass  # not even a database
    raise UnusableFile(
        f"{path} is damaged, and none of its memories can be read.", "Restore it from a backup."
    )


class _View:
    """The rows that SQLite can read."""

    def __init__(self, conn: sqlite3.Connection, size: int) -> None:
        """size: of the file, in bytes."""
        self._conn = conn
        self._max_rows = size // _MIN_ROW_BYTES + 1_000

    def has_memories(self) -> bool:
        """Whether at least one row of memories has an id and a text."""
        return any(
            self._row(_MEMORIES, key, "id, content") for key in islice(self._scan(_MEMORIES), 50)
        )

    def keys(self, table: _Table) -> list[tuple[Any, ...]]:
        """Return the possible keys of a table's rows, sorted."""
        keys = self.listed_keys(table)
        if table.key != "rowid":
            return sorted(keys, key=repr)
        highest = max((key[0] for key in keys if key[0] <= self._max_rows), default=0)
        return sorted(keys | {(number,) for number in range(1, highest + 1)})

    def listed_keys(self, table: _Table) -> set[tuple[Any, ...]]:
        """Return the keys in the table and in its indexes."""
        return set(self._scan(table))

    def row(self, table: _Table, key: tuple[Any, ...]) -> Row | None:
        """Return the readable columns of a row; None if there is no such row."""
        row = self._row(table, key, table.columns)
        if row is not None or self._row(table, key, table.key.split(", ")[0]) is None:
            return row
        parts = (self._row(table, key, column) for column in table.columns.split(", "))
        return {name: value for part in parts if part for name, value in part.items()}

    def _scan(self, table: _Table) -> Iterator[tuple[Any, ...]]:
        indexes = {f"INDEXED BY {name}": columns for name, columns in table.indexes.items()}
        for index, columns in {"NOT INDEXED": table.key, **indexes}.items():
            for direction in ("ASC", "DESC"):
                order = ", ".join(f"{column} {direction}" for column in columns.split(", "))
                yield from self._read(
                    f"SELECT {table.key} FROM {table.name} {index} ORDER BY {order}"
                )

    def _row(self, table: _Table, key: tuple[Any, ...], columns: str) -> Row | None:
        # Text keys were read as bytes.
        marks = ("CAST(? AS TEXT)" if isinstance(part, bytes) else "?" for part in key)
        where = " AND ".join(map("{} = {}".format, table.key.split(", "), marks))
        sql = f"SELECT {columns} FROM {table.name} NOT INDEXED WHERE {where}"
        values = next(self._read(sql, key), None)
        return None if values is None else dict(zip(columns.split(", "), values, strict=True))

    def _read(self, sql: str, values: Iterable[Any] = ()) -> Iterator[tuple[Any, ...]]:
        """Yield the rows before the first one that cannot be read."""
        with closing(self._conn.cursor()) as cursor:
            try:
                yield from islice(cursor.execute(sql, tuple(values)), self._max_rows)
            except (sqlite3.Error, MemoryError, OverflowError, UnicodeDecodeError):
                return


@dataclass
class Salvaged:
    """Counts of a salvage; final after the last line."""

    saved: int = 0
    # Saved memories of which a part is missing or corrupt.
    partly: int = 0
    # Memories whose text or id is unreadable.
    lost: int = 0
    # Rows of lineage and names that are unreadable, or lead to lost memories.
    loose: int = 0


def salvage_lines(path: Path, everything: bool, count: Salvaged) -> Iterator[str]:
    """Yield a JSON line for each readable memory, and count them. Raises `UnusableFile`."""
    with (
        TemporaryDirectory(prefix="slowwave-") as folder,
        file_errors("read", path, error_type=UnusableFile),
        _open_damaged(path) as view,
        new_file(Path(folder) / "memory.db") as copy,
    ):
        with copy.transaction():
            partly = _copy_memories(view, copy, count)
            for table in (_ENTITIES, _MENTIONS, _EDGES):
                _copy_rows(view, copy, table, count)
            cut = copy.column(_CUT_DANGLING)
            partly.update(cut)
            count.loose += len(cut)
        chosen = "FROM memories WHERE ? OR status = 'active'"
        count.saved = copy.value(f"SELECT count(*) {chosen}", [everything])
        of_partly = "AND id IN (SELECT value FROM json_each(?))"
        values = [everything, json_text(sorted(partly))]
        count.partly = copy.value(f"SELECT count(*) {chosen} {of_partly}", values)
        yield from export_lines(copy, everything)


def _copy_memories(view: _View, copy: MemoryFile, count: Salvaged) -> set[str]:
    """Copy the readable memories, and return the ids of those that are incomplete."""
    listed, partly = view.listed_keys(_MEMORIES), set[str]()
    for key in view.keys(_MEMORIES):
        row = view.row(_MEMORIES, key) or {}
        values = {name: _decoded(value) for name, value in row.items()}
        valid = {name: value for name, value in values.items() if is_valid(name, value)}
        if not (_is_memory(row) and {"id", "content"} <= valid.keys()):
            count.lost += bool(row) or key in listed
        elif not _insert(copy, "memories", valid):
            count.lost += 1
        else:
            text, stored_hash = valid["content"], valid.get("content_hash")
            is_whole = len(valid) == len(COLUMNS) and row["content"] == text.encode()
            if not is_whole or stored_hash not in (None, content_hash(text)):
                partly.add(valid["id"])
    missing = "superseded_by IS NOT NULL AND superseded_by NOT IN (SELECT id FROM memories)"
    partly.update(copy.column(f"SELECT id FROM memories WHERE {missing}"))
    copy.conn.execute(f"UPDATE memories SET superseded_by = NULL WHERE {missing}")
    return partly


def _copy_rows(view: _View, copy: MemoryFile, table: _Table, count: Salvaged) -> None:
    for key in view.keys(table):
        row = view.row(table, key)
        values = {name: _decoded(value) for name, value in (row or {}).items()}
        is_copied = bool(values) and _insert(copy, table.name, values)
        # Names are counted by the memories that mention them.
        count.loose += not is_copied and table is not _ENTITIES


def _insert(copy: MemoryFile, table: str, row: Row) -> bool:
    """Insert a row, and return whether its table accepts it."""
    try:
        add_rows(copy, table, [row])
    except (sqlite3.IntegrityError, OverflowError):
        return False
    return True


def _is_memory(row: Row) -> bool:
    """Whether a row is a memory, and not the remains of another table in a reused page."""
    return any(_is_date(row.get(name)) for name in ("observed_at", "created_at", "updated_at"))


def _is_date(value: object) -> bool:
    try:
        return bool(date.fromisoformat(str(_decoded(value))[:10]))
    except ValueError:
        return False


def _decoded(value: object) -> Any:
    """Return a value that was read as bytes as text."""
    return value.decode(errors="replace") if isinstance(value, bytes) else value
