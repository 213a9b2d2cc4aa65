"""The rows of a damaged file, as far as they can be read.

SQLite itself reads, row by row: from the front and from the back of each table and of its
indexes as far as it gets, and every row in between by its key. Nothing is written to the file;
where its header is spoiled a private copy is mended instead.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable, Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any

from .errors import UnusableFile
from .opening import open_database
from .records import COLUMNS
from .repair import has_sound_header, readable_copies

# A row takes more bytes than this, so that a tree that leads in circles comes to an end.
_LEAST_BYTES = 8

Row = dict[str, Any]


@dataclass(frozen=True)
class Table:
    """A table, by what its rows are found, and the indexes that name them, with their columns."""

    name: str
    key: str
    columns: str
    ways: tuple[tuple[str, str], ...]


MEMORIES = Table(
    "memories",
    "rowid",
    ", ".join(COLUMNS),
    (
        ("NOT INDEXED", "rowid"),
        ("INDEXED BY sqlite_autoindex_memories_1", "id"),
        ("INDEXED BY memories_by_status", "tenant, status, layer"),
        ("INDEXED BY memories_by_content", "content_hash"),
    ),
)
VECTORS = Table(
    "embeddings",
    "rowid",
    "memory_id, model, vector, content_hash",
    (("NOT INDEXED", "rowid"), ("INDEXED BY sqlite_autoindex_embeddings_1", "memory_id, model")),
)
ENTITIES = Table(
    "entities",
    "rowid",
    "id, name",
    (("NOT INDEXED", "rowid"), ("INDEXED BY sqlite_autoindex_entities_1", "tenant, name")),
)
MENTIONS = Table(
    "memory_entities",
    "memory_id, entity_id",
    "memory_id, entity_id",
    (
        ("NOT INDEXED", "memory_id, entity_id"),
        ("INDEXED BY memory_entities_by_entity", "entity_id, memory_id"),
    ),
)
EDGES = Table(
    "synthesized_from",
    "derived_id, source_id",
    "derived_id, source_id, operation, run_id, source_hash, source_content, created_at",
    (
        ("NOT INDEXED", "derived_id, source_id"),
        ("INDEXED BY synthesized_from_by_source", "source_id, derived_id"),
    ),
)


@contextmanager
def best_view(path: Path) -> Iterator[View]:
    """Provide the file, or the first mended copy of it in which memories can be read.

    Raises `UnusableFile` if there is none.
    """
    if has_sound_header(path):
        with _opened(path) as view:
            if view.has_memories():
                yield view
                return
    with readable_copies(path) as copies:
        for copy in copies:
            with _opened(copy) as view:
                if view.has_memories():
                    yield view
                    return
    raise UnusableFile(
        f"{path} is damaged, and not one memory in it can be read.", "Restore it from a backup."
    )


@contextmanager
def _opened(path: Path) -> Iterator[View]:
    with open_database(path, "ro") as conn:
        conn.text_factory = bytes
        # Lets SQLite open what is shorter than its header says, and overlook what it can.
        conn.execute("PRAGMA writable_schema = ON")
        yield View(conn, path.stat().st_size)


class View:
    """Rows as far as SQLite can read them."""

    def __init__(self, conn: sqlite3.Connection, size: int) -> None:
        """Take how many bytes the file has."""
        self._conn = conn
        self._most_rows = size // _LEAST_BYTES + 1_000

    def has_memories(self) -> bool:
        """Whether at least one row of memories has an id and a text."""
        return any(
            self._row(MEMORIES, key, "id, content") for key in islice(self._found(MEMORIES), 50)
        )

    def keys(self, table: Table) -> list[tuple[Any, ...]]:
        """Return the keys of a table's rows, from wherever they are to be had, in order."""
        found = self.known(table)
        if table.key == "rowid" and found:
            highest = max(key[0] for key in found if key[0] <= self._most_rows)
            found.update((number,) for number in range(1, highest + 1))
        return sorted(found, key=repr if table.key != "rowid" else None)

    def known(self, table: Table) -> set[tuple[Any, ...]]:
        """Return the keys that the table or one of its indexes names."""
        return set(self._found(table))

    def row(self, table: Table, key: tuple[Any, ...]) -> Row | None:
        """Return a row, or the columns of it that can be read; None if there is none."""
        whole = self._row(table, key, table.columns)
        if whole is not None or not self._is_there(table, key):
            return whole
        parts = (self._row(table, key, column) for column in table.columns.split(", "))
        return {name: value for part in parts if part for name, value in part.items()}

    def _found(self, table: Table) -> Iterator[tuple[Any, ...]]:
        for way, columns in table.ways:
            for direction in ("ASC", "DESC"):
                order = ", ".join(f"{column} {direction}" for column in columns.split(", "))
                yield from self._read(
                    f"SELECT {table.key} FROM {table.name} {way} ORDER BY {order}"
                )

    def _is_there(self, table: Table, key: tuple[Any, ...]) -> bool:
        return self._row(table, key, table.key.split(", ")[0]) is not None

    def _row(self, table: Table, key: tuple[Any, ...], columns: str) -> Row | None:
        # Texts were read as bytes, and bytes are equal to no text.
        marks = ("CAST(? AS TEXT)" if isinstance(one, bytes) else "?" for one in key)
        where = " AND ".join(map("{} = {}".format, table.key.split(", "), marks))
        sql = f"SELECT {columns} FROM {table.name} NOT INDEXED WHERE {where}"
        found = next(self._read(sql, key), None)
        return None if found is None else dict(zip(columns.split(", "), found, strict=True))

    def _read(self, sql: str, values: Iterable[Any] = ()) -> Iterator[tuple[Any, ...]]:
        """Yield rows up to the first that cannot be read: what is missing is counted by the key."""
        with closing(self._conn.cursor()) as cursor:
            try:
                yield from islice(cursor.execute(sql, tuple(values)), self._most_rows)
            except (sqlite3.Error, MemoryError, OverflowError, UnicodeDecodeError):
                return
