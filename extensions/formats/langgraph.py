"""LangGraph's SqliteStore, with LangMem's memories: langgraph-checkpoint-sqlite 3.1.2."""

from __future__ import annotations

import sqlite3
from base64 import b64decode, b64encode
from collections.abc import Iterator, Mapping, Sequence
from typing import ClassVar

from .base import Record, Unreadable
from .langgraph_rows import ARCHIVE, HERE, At, Spelling, StoreRows, record_of
from .sqlite_file import OpenSqlite, SqliteFormat


class _OpenStore(StoreRows, OpenSqlite):
    """A store within a transaction."""

    json_type, moment_type = "blob", "text"
    vectors = Spelling(bytes, bytes, lambda vector: b64encode(vector).decode(), b64decode)

    def read(self) -> Iterator[Record]:
        rows = self.db.execute(
            "SELECT prefix, key, value, created_at FROM store WHERE expires_at IS NULL "
            "AND typeof(prefix) = 'text' AND typeof(key) = 'text' "
            "AND prefix <> ?1 AND substr(prefix, 1, length(?1) + 1) <> ?1 || '.' "
            "ORDER BY prefix, key",
            [ARCHIVE],
        )
        for row in rows:
            if (record := record_of(*row)) is not None:
                yield record

    def execute(self, sql: str, values: Sequence[object] = ()) -> sqlite3.Cursor:
        return self.db.execute(sql.replace("%s", "?"), values)

    def has_vectors(self) -> bool:
        is_there = "SELECT 1 FROM sqlite_schema WHERE name = 'store_vectors'"
        if self.db.execute(is_there).fetchone() is None:
            return False
        return self.db.execute("SELECT 1 FROM store_vectors LIMIT 1").fetchone() is not None

    def fields(self, prefix: str) -> list[str]:
        """Return the fields of a namespace that have vectors, else those of any namespace."""
        for where, values in (("WHERE prefix = ?", [prefix]), ("", [])):
            rows = self.db.execute(
                f"SELECT DISTINCT field_name FROM store_vectors {where} ORDER BY 1", values
            )
            if found := [str(field) for (field,) in rows]:
                return found
        return []

    def move(self, source: At, target: At) -> None:
        if self.execute(f"SELECT 1 FROM store {HERE}", target).fetchone():
            raise Unreadable(f"The namespace {target[0]} now has another '{target[1]}'.")
        for table in ("store", *(("store_vectors",) if self.has_vectors() else ())):
            moved = self.execute(
                f"UPDATE {table} SET prefix = %s, key = %s {HERE}", [*target, *source]
            )
            if table == "store" and moved.rowcount != 1:
                raise Unreadable(f"'{source[1]}' is no longer in the namespace {source[0]}.")


class LangGraph(SqliteFormat):
    """A store of LangGraph."""

    name = "langgraph"
    about = "LangGraph's SqliteStore with LangMem's memories"
    holds = "a value of LangMem's form; different namespaces are never merged"
    tables: ClassVar[Mapping[str, frozenset[str]]] = {
        "store": frozenset({"prefix", "key", "value", "created_at", "updated_at"})
    }
    schema_query = "SELECT max(v) FROM store_migrations"
    schema = 4, "3.1.2"
    rows = _OpenStore
