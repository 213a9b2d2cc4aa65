"""LangGraph's SqliteStore, with LangMem's memories: langgraph-checkpoint-sqlite 3.1.2."""

from __future__ import annotations

import sqlite3
from base64 import b64decode, b64encode
from collections.abc import Iterator, Mapping, Sequence
from typing import ClassVar

from .base import Record
from .langgraph_rows import ARCHIVE, Spelling, StoreRows, record_of
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

    def has_table(self, name: str) -> bool:
        found = self.db.execute("SELECT 1 FROM sqlite_schema WHERE name = ?", [name])
        return found.fetchone() is not None


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
