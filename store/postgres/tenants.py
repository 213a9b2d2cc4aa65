"""Which tenants a store in PostgreSQL has, and the versions of their rows."""

from __future__ import annotations

from typing import NamedTuple

from slowwave.store.formats.langmem import ARCHIVE

from .connection import connected, transaction
from .langgraph import refuse_other_tables
from .leases import mirror_versions, read_mirror
from .tenant import IS_A_MEMORY, ROWS_VERSION
from .url import DatabaseUrl

_WHERE = f"{IS_A_MEMORY} AND prefix <> '{ARCHIVE}' AND NOT starts_with(prefix, '{ARCHIVE}.')"


class Tenant(NamedTuple):
    """A namespace with memories."""

    name: str
    # See `OpenTenant.version`.
    version: str


def tenant_names(url: DatabaseUrl, most: int) -> list[str]:
    """Return the namespaces that have memories, but no more than so many."""
    with connected(url) as conn, transaction(conn, writes=False):
        refuse_other_tables(conn, url)
        rows = conn.execute(
            f'SELECT DISTINCT prefix COLLATE "C" FROM store WHERE {_WHERE} ORDER BY 1 LIMIT %s',
            [most],
        ).fetchall()
    return [str(name) for (name,) in rows]


def all_tenants(url: DatabaseUrl) -> list[Tenant]:
    """Return all namespaces that have memories, or the one that a URL names, by their names.

    It reads each row of the store once. Raises `StoreError`.
    """
    with connected(url) as conn, transaction(conn, writes=False):
        refuse_other_tables(conn, url)
        rows = conn.execute(
            f'SELECT prefix COLLATE "C", {ROWS_VERSION} FROM store '
            f"WHERE {_WHERE} AND prefix = coalesce(%s::text, prefix) GROUP BY 1 ORDER BY 1",
            [url.tenant],
        ).fetchall()
        mirrors = mirror_versions(conn)
    return [Tenant(name, f"{version}-{mirrors.get(name, 0)}") for name, version in rows]


def has_mirror(url: DatabaseUrl) -> bool:
    """Whether a tenant has had a night. Raises `StoreError`."""
    with connected(url) as conn, transaction(conn, writes=False):
        return url.tenant is not None and read_mirror(conn, url.tenant) is not None
