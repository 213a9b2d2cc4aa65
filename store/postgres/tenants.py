"""Which tenants a store in PostgreSQL has, and the versions of their rows."""

from __future__ import annotations

from slowwave.store.formats.langmem import ARCHIVE

from .connection import connected, transaction
from .langgraph import refuse_other_tables
from .leases import read_mirror
from .url import DatabaseUrl

# What is a memory, as far as SQL can tell.
_IS_A_MEMORY = (
    "expires_at IS NULL AND 'string' IN "
    "(jsonb_typeof(value -> 'content'), jsonb_typeof(value #> '{content,content}')) "
    f"AND prefix <> '{ARCHIVE}' AND NOT starts_with(prefix, '{ARCHIVE}.')"
)


def tenant_names(url: DatabaseUrl, most: int) -> list[str]:
    """Return the namespaces that have memories, but no more than so many."""
    with connected(url) as conn, transaction(conn, writes=False):
        refuse_other_tables(conn, url)
        rows = conn.execute(
            f'SELECT DISTINCT prefix COLLATE "C" FROM store WHERE {_IS_A_MEMORY} '
            "ORDER BY 1 LIMIT %s",
            [most],
        ).fetchall()
    return [str(name) for (name,) in rows]


def has_mirror(url: DatabaseUrl) -> bool:
    """Whether a tenant has had a night. Raises `StoreError`."""
    with connected(url) as conn, transaction(conn, writes=False):
        return url.tenant is not None and read_mirror(conn, url.tenant) is not None
