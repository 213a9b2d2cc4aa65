"""LangGraph's PostgresStore with LangMem's memories: a namespace of it.

langgraph-checkpoint-postgres 3.2.0. Removed memories move, with their vectors, to the namespace
slowwave_superseded. The vectors of an index are those of pgvector.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from slowwave.extensions.formats.base import Record
from slowwave.extensions.formats.langgraph import ARCHIVE, Spelling, StoreRows, record_of

from .format import PostgresFormat
from .table import (
    MemoryTable,
    as_bytes,
    as_literal,
    columns_of,
    full_name,
    may_read,
    refuse_other_vector_types,
)
from .tenant import OpenTenant

if TYPE_CHECKING:
    from psycopg import Cursor

    from .connection import Connection

_COLUMNS = frozenset(
    {"prefix", "key", "value", "created_at", "updated_at", "expires_at", "ttl_minutes"}
)
# Whether a row is a memory, as far as SQL can decide.
_IS_A_MEMORY = (
    "expires_at IS NULL AND 'string' IN "
    "(jsonb_typeof(value -> 'content'), jsonb_typeof(value #> '{content,content}')) "
    f"AND prefix <> '{ARCHIVE}' AND NOT starts_with(prefix, '{ARCHIVE}.')"
)


class _Namespace(OpenTenant, StoreRows):
    """The rows of a namespace within a transaction."""

    json_type, moment_type, embedding = "jsonb", "timestamptz", "embedding::text"
    vectors = Spelling(as_literal, as_bytes, str, str)
    tenants_are = "A tenant is a namespace, its labels joined by dots, such as memories.ann."

    def read(self) -> list[Record]:
        rows = self._conn.execute(
            "SELECT key, value::text, to_json(created_at) #>> '{}' FROM store WHERE prefix = %s "
            'AND expires_at IS NULL ORDER BY key COLLATE "C"',
            [self._tenant],
        )
        records = (record_of(self._tenant, name, value, created) for name, value, created in rows)
        return [record for record in records if record is not None]

    def samples(self, namespace: str | None = None) -> list[tuple[str, bytes]] | None:
        if self.has_vectors():
            refuse_other_vector_types(self._conn, "store_vectors", "embedding")
        return super().samples(namespace or self._tenant)

    def execute(self, sql: str, values: Sequence[object] = ()) -> Cursor[tuple[Any, ...]]:
        return self._conn.execute(sql, values)

    def has_table(self, name: str) -> bool:
        return self._value("SELECT to_regclass(%s)", [name]) is not None


class PostgresStore(PostgresFormat):
    """A namespace of a store of LangGraph in PostgreSQL."""

    name = "langgraph"
    about = "LangGraph's PostgresStore with LangMem's memories"
    holds = "a value of LangMem's form; a namespace is a tenant"
    # The last migration of the version that was tested.
    schema = 3, "3.2.0"
    rows = _Namespace
    tables_are = "The table store is expected, as langgraph-checkpoint-postgres 3.2.0 creates it."

    def find(self, conn: Connection) -> list[MemoryTable]:
        """Return the package's table of values."""
        if not columns_of(conn, "store").keys() >= _COLUMNS:
            return []
        return [MemoryTable(full_name(conn, "store"), "prefix", "key", _IS_A_MEMORY)]

    def number(self, conn: Connection, table: MemoryTable) -> int | None:
        """Return the last migration."""
        if not may_read(conn, "store_migrations"):
            return None
        row = conn.execute("SELECT max(v) FROM store_migrations").fetchone()
        return row[0] if row else None
