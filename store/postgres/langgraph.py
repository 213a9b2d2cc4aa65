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
from slowwave.store.formats.base import Change, Format, Unreadable
from slowwave.store.formats.rows import refuse_other_vectors

from .connection import connected, transaction
from .tenant import OpenTenant
from .url import DatabaseUrl

if TYPE_CHECKING:
    from psycopg import Connection

_COLUMNS = frozenset(
    {"prefix", "key", "value", "created_at", "updated_at", "expires_at", "ttl_minutes"}
)
# The last migration of the version that was tried.
_NEWEST = 3
_VERSION = "3.2.0"


class PostgresStore(Format):
    """A namespace of a store of LangGraph's in PostgreSQL."""

    name = "langgraph"
    about = "LangGraph's PostgresStore with LangMem's memories"
    holds = "a value of LangMem's form; a namespace is a tenant"
    is_dated = True
    may_need_vectors = True

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

    def why_no_texts(self, path: Path) -> str | None:
        """Say that its vectors are of another model than the one that is lent, if they are."""
        with self.opened(path, writes=False) as tenant:
            try:
                refuse_other_vectors(self.model, tenant.samples())
            except Unreadable as error:
                return error.message
        return None

    def compute_vectors(self, path: Path, change: Change) -> None:
        """Compute those of the new texts, and those by which the store's model is recognised."""
        coming = [one for one in change.put if one.image is None]
        if self.model is None or not coming:
            return
        with self.opened(path, writes=False) as tenant:
            samples = tenant.samples()
            if samples is None:
                return
            texts = [text for one in coming for text in tenant.texts_to_embed(one)]
        self.model.compute([*(text for text, _ in samples), *texts])

    def remark(self, path: Path) -> str | None:
        """Say so if a newer version of the package than was tried has made the tables."""
        url = _url(path)
        with connected(url) as conn, transaction(conn, writes=False):
            (may_look,) = conn.execute(
                "SELECT has_table_privilege(to_regclass('store_migrations'), 'SELECT')"
            ).fetchall()[0]
            if not may_look:
                return None
            row = conn.execute("SELECT max(v) FROM store_migrations").fetchone()
        found = row[0] if row else None
        if found is None or found <= _NEWEST:
            return None
        return (
            f"{url} has schema {found} of {self.name}, newer than {_NEWEST} of version {_VERSION}, "
            "with which slowwave was tried."
        )


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
