"""LangGraph's PostgresStore, as far as LangMem's memories stand in it: one namespace of it.

langgraph-checkpoint-postgres 3.2.0. What leaves moves, with its vectors, to the namespace
slowwave_superseded. A store with an index has a vector of pgvector's for each field that the agent
chose, and a text that is added gets the same ones.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from slowwave.store.errors import StoreError
from slowwave.store.formats.base import Unreadable
from slowwave.store.formats.database import DatabaseFormat, TriedSchema

from .connection import connected, transaction
from .tenant import OpenTenant
from .url import DatabaseUrl

if TYPE_CHECKING:
    from psycopg import Connection

_COLUMNS = frozenset(
    {"prefix", "key", "value", "created_at", "updated_at", "expires_at", "ttl_minutes"}
)


class PostgresStore(DatabaseFormat):
    """A namespace of a store of LangGraph's in PostgreSQL."""

    name = "langgraph"
    about = "LangGraph's PostgresStore with LangMem's memories"
    holds = "a value of LangMem's form; a namespace is a tenant"
    # The last migration of the version that was tried.
    schema = TriedSchema(3, "3.2.0")

    def recognises(self, path: Path) -> bool:
        """Whether the database has the tables. Raises `StoreError` if it cannot be reached."""
        with connected(_url(path)) as conn, transaction(conn, writes=False):
            return _has_tables(conn)

    @contextmanager
    def opened(self, path: Path, writes: bool) -> Iterator[OpenTenant]:
        """Open a tenant: one picture of its rows, and of its mirror.

        Raises `Unreadable`, `NotFound` if there is no such tenant, and `StoreError`.
        """
        url = _url(path)
        with connected(url) as conn, transaction(conn, writes):
            refuse_other_tables(conn, url)
            yield OpenTenant(conn, url, self.model)

    def schema_number(self, path: Path) -> int | None:
        """Return the last migration; None of a user who may not look it up."""
        with connected(_url(path)) as conn, transaction(conn, writes=False):
            (may_look,) = conn.execute(
                "SELECT has_table_privilege(to_regclass('store_migrations'), 'SELECT')"
            ).fetchall()[0]
            if not may_look:
                return None
            row = conn.execute("SELECT max(v) FROM store_migrations").fetchone()
        return row[0] if row else None


def _url(path: Path) -> DatabaseUrl:
    if not isinstance(path, DatabaseUrl):
        raise StoreError(f"{path} is not the URL of a database.")
    return path


def refuse_other_tables(conn: Connection[tuple[Any, ...]], url: DatabaseUrl) -> None:
    """Refuse a database without the package's tables. Raises `Unreadable`."""
    if not _has_tables(conn):
        raise Unreadable(f"{url} has no tables of {PostgresStore.about}.")


def _has_tables(conn: Connection[tuple[Any, ...]]) -> bool:
    found = conn.execute(
        "SELECT attname FROM pg_attribute "
        "WHERE attrelid = to_regclass('store') AND attnum > 0 AND NOT attisdropped"
    ).fetchall()
    return {name for (name,) in found} >= _COLUMNS
