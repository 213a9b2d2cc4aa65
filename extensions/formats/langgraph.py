"""LangGraph's SqliteStore, as far as LangMem's memories stand in it.

langgraph-checkpoint-sqlite 3.1.2. What is the same in each store of LangGraph's is in
langgraph_rows.py.
"""

from __future__ import annotations

import sqlite3
from base64 import b64decode, b64encode
from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import ClassVar

from .base import Record, Unreadable
from .database import TriedSchema
from .langgraph_rows import At, StoreRows, sampled
from .langmem import ARCHIVE, record_of
from .lent_model import LONGEST_SAMPLE, SAMPLES_AT_EITHER_END, LentModel
from .sqlite_file import OpenSqlite, SqliteFormat

_HERE = "WHERE prefix = ? AND key = ?"


class _OpenStore(StoreRows, OpenSqlite):
    """A store within a transaction."""

    json_type, moment_type = "blob", "text"

    @cached_property
    def vector_model(self) -> LentModel | None:
        """What makes vectors for new texts; None if they need none. Raises `Unreadable`."""
        return self._format.model_of(self._db)

    def samples(self) -> list[tuple[str, bytes]] | None:
        """Return texts of the oldest and of the latest rows, with their vectors."""
        return self._format.samples(self._db)

    def execute(self, sql: str, values: Sequence[object] = ()) -> sqlite3.Cursor:
        """Run a statement that has %s for each value."""
        return self._db.execute(sql.replace("%s", "?"), values)

    def has_vectors(self) -> bool:
        """Whether there is an index, with something in it."""
        return _has_vectors(self._db)

    def fields(self, prefix: str) -> list[str]:
        """Return the fields of a namespace that have vectors, else those of any."""
        for where, values in (("WHERE prefix = ?", [prefix]), ("", [])):
            rows = self._db.execute(
                f"SELECT DISTINCT field_name FROM store_vectors {where} ORDER BY 1", values
            )
            if found := [str(field) for (field,) in rows]:
                return found
        return []

    def move(self, source: At, target: At) -> None:
        """Move a row with its vectors. Raises `Unreadable`."""
        if self._db.execute(f"SELECT 1 FROM store {_HERE}", target).fetchone():
            raise Unreadable(f"The namespace {target[0]} now has another '{target[1]}'.")
        for table in ("store", *(("store_vectors",) if self.has_vectors() else ())):
            moved = self._db.execute(
                f"UPDATE {table} SET prefix = ?, key = ? {_HERE}", [*target, *source]
            )
            if table == "store" and moved.rowcount != 1:
                raise Unreadable(f"'{source[1]}' is not in the namespace {source[0]} any more.")

    def from_model(self, vector: bytes) -> bytes:
        """Return a vector of little-endian float32: it is the package's form, too."""
        return vector

    def to_image(self, vector: bytes) -> str:
        """Return a vector in base 64."""
        return b64encode(vector).decode()

    def from_image(self, text: str) -> bytes:
        """Return the vector that base 64 is."""
        return b64decode(text)


class LangGraph(SqliteFormat):
    """A store of LangGraph."""

    name = "langgraph"
    about = "LangGraph's SqliteStore with LangMem's memories"
    holds = "a value of LangMem's form; nothing is joined across namespaces"
    tables: ClassVar[Mapping[str, frozenset[str]]] = {
        "store": frozenset({"prefix", "key", "value", "created_at", "updated_at"})
    }
    schema_query = "SELECT max(v) FROM store_migrations"
    schema = TriedSchema(4, "3.1.2")

    def open_rows(self, db: sqlite3.Connection, path: Path) -> OpenSqlite:
        """Return the rows of a store within a transaction."""
        return _OpenStore(self, db, path)

    def read(self, db: sqlite3.Connection) -> Iterator[Record]:
        """Yield the values that are memories, and do not end by themselves."""
        rows = db.execute(
            "SELECT prefix, key, value, created_at FROM store WHERE expires_at IS NULL "
            "AND prefix <> ?1 AND substr(prefix, 1, length(?1) + 1) <> ?1 || '.' "
            "ORDER BY prefix, key",
            [ARCHIVE],
        )
        for row in rows:
            if (record := record_of(*row)) is not None:
                yield record

    def samples(self, db: sqlite3.Connection) -> list[tuple[str, bytes]] | None:
        """Return texts of the oldest and of the latest rows, with their vectors."""
        if not _has_vectors(db):
            return None
        found: dict[str, bytes] = {}
        for order in ("ASC", "DESC"):
            rows = db.execute(
                "SELECT CAST(value AS text), field_name, embedding FROM store "
                "JOIN store_vectors USING (prefix, key) WHERE length(value) <= ? "
                f"ORDER BY store.created_at {order} LIMIT ?",
                [LONGEST_SAMPLE, 2 * SAMPLES_AT_EITHER_END],
            )
            found |= sampled(rows.fetchall())
        return list(found.items())


def _has_vectors(db: sqlite3.Connection) -> bool:
    is_there = "SELECT 1 FROM sqlite_schema WHERE name = 'store_vectors'"
    if db.execute(is_there).fetchone() is None:
        return False
    return db.execute("SELECT 1 FROM store_vectors LIMIT 1").fetchone() is not None
