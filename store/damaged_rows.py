"""Read as many rows of a damaged file as possible.

SQLite reads each table and its indexes from both ends up to the damage, and every row in between by
its key.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable, Iterator
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any

from .errors import UnusableFile
from .opening import open_database
from .records import COLUMNS

# A row takes more bytes than this: the limit on rows ends the reading of a cyclic tree.
_MIN_ROW_BYTES = 8

Row = dict[str, Any]


@dataclass(frozen=True)
class Table:
    """A table: its key, its columns, and its indexes with their columns."""

    name: str
    key: str
    columns: str
    indexes: dict[str, str]


MEMORIES = Table(
    "memories",
    "rowid",
    ", ".join(COLUMNS),
    {
        "sqlite_autoindex_memories_1": "id",
        "memories_by_status": "tenant, status, layer",
        "memories_by_content": "content_hash",
    },
)
VECTORS = Table(
    "embeddings",
    "rowid",
    "memory_id, model, vector, content_hash",
    {"sqlite_autoindex_embeddings_1": "memory_id, model"},
)
ENTITIES = Table("entities", "rowid", "id, name", {"sqlite_autoindex_entities_1": "tenant, name"})
MENTIONS = Table(
    "memory_entities",
    "memory_id, entity_id",
    "memory_id, entity_id",
    {"memory_entities_by_entity": "entity_id, memory_id"},
)
EDGES = Table(
    "synthesized_from",
    "derived_id, source_id",
    "derived_id, source_id, operation, run_id, source_hash, source_content, created_at",
    {"synthesized_from_by_source": "source_id, derived_id"},
)


@contextmanager
def open_damaged(path: Path) -> Iterator[View]:
    """Open a file as far as SQLite can read it. Raises `UnusableFile` if it can read no memory."""
    with open_database(path, "ro") as conn:
        conn.text_factory = bytes
        # Allows reading files that are shorter than their header claims.
        with suppress(sqlite3.Error):
            conn.execute("PRAGMA writable_schema = ON")
        view = View(conn, path.stat().st_size)
        if not view.has_memories():
            raise UnusableFile(
                f"{path} is damaged, and none of its memories can be read.",
                "Restore it from a backup.",
            )
        yield view


class View:
    """The rows that SQLite can read."""

    def __init__(self, conn: sqlite3.Connection, size: int) -> None:
        """Set the connection and the size of the file in bytes."""
        self._conn = conn
        self._max_rows = size // _MIN_ROW_BYTES + 1_000

    def has_memories(self) -> bool:
        """Whether at least one row of memories has an id and a text."""
        return any(
            self._row(MEMORIES, key, "id, content") for key in islice(self._found(MEMORIES), 50)
        )

    def keys(self, table: Table) -> list[tuple[Any, ...]]:
        """Return the possible keys of a table's rows, sorted."""
        keys = self.known(table)
        if table.key != "rowid":
            return sorted(keys, key=repr)
        highest = max((key[0] for key in keys if key[0] <= self._max_rows), default=0)
        return sorted(keys | {(number,) for number in range(1, highest + 1)})

    def known(self, table: Table) -> set[tuple[Any, ...]]:
        """Return the keys in the table and in its indexes."""
        return set(self._found(table))

    def row(self, table: Table, key: tuple[Any, ...]) -> Row | None:
        """Return the readable columns of a row; None if there is no such row."""
        row = self._row(table, key, table.columns)
        if row is not None or self._row(table, key, table.key.split(", ")[0]) is None:
            return row
        parts = (self._row(table, key, column) for column in table.columns.split(", "))
        return {name: value for part in parts if part for name, value in part.items()}

    def _found(self, table: Table) -> Iterator[tuple[Any, ...]]:
        indexes = {f"INDEXED BY {name}": columns for name, columns in table.indexes.items()}
        for index, columns in {"NOT INDEXED": table.key, **indexes}.items():
            for direction in ("ASC", "DESC"):
                order = ", ".join(f"{column} {direction}" for column in columns.split(", "))
                yield from self._read(
                    f"SELECT {table.key} FROM {table.name} {index} ORDER BY {order}"
                )

    def _row(self, table: Table, key: tuple[Any, ...], columns: str) -> Row | None:
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
