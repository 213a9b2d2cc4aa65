"""LangGraph's PostgresStore, as far as LangMem's memories stand in it: one namespace of it.

langgraph-checkpoint-postgres 3.2.0. What leaves moves, with its vectors, to the namespace
slowwave_superseded. A store with an index has a vector of pgvector's for each field that the agent
chose, and a text that is added gets the same ones.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from slowwave.extensions.formats.database import TriedSchema
from slowwave.extensions.formats.langmem import ARCHIVE

from .format import PostgresFormat
from .langgraph_tenant import Namespace
from .table import MemoryTable, columns_of, full_name, may_read

if TYPE_CHECKING:
    from psycopg import Connection

_COLUMNS = frozenset(
    {"prefix", "key", "value", "created_at", "updated_at", "expires_at", "ttl_minutes"}
)
# What is a memory, as far as SQL can tell.
_IS_A_MEMORY = (
    "expires_at IS NULL AND 'string' IN "
    "(jsonb_typeof(value -> 'content'), jsonb_typeof(value #> '{content,content}')) "
    f"AND prefix <> '{ARCHIVE}' AND NOT starts_with(prefix, '{ARCHIVE}.')"
)


class PostgresStore(PostgresFormat):
    """A namespace of a store of LangGraph's in PostgreSQL."""

    name = "langgraph"
    about = "LangGraph's PostgresStore with LangMem's memories"
    holds = "a value of LangMem's form; a namespace is a tenant"
    # The last migration of the version that was tried.
    schema = TriedSchema(3, "3.2.0")
    rows = Namespace
    tables_are = "The table store is looked for, as langgraph-checkpoint-postgres 3.2.0 makes it."

    def find(self, conn: Connection[tuple[Any, ...]]) -> list[MemoryTable]:
        """Return the package's table of values."""
        if not columns_of(conn, "store").keys() >= _COLUMNS:
            return []
        return [MemoryTable(full_name(conn, "store"), "prefix", "key", _IS_A_MEMORY)]

    def number(self, conn: Connection[tuple[Any, ...]], table: MemoryTable) -> int | None:
        """Return the last migration."""
        if not may_read(conn, "store_migrations"):
            return None
        row = conn.execute("SELECT max(v) FROM store_migrations").fetchone()
        return row[0] if row else None
