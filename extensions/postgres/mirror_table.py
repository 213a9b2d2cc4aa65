"""The table of mirrors: each tenant's mirror as bytes, and its lease."""

from __future__ import annotations

from typing import TYPE_CHECKING

from .connection import short_transaction
from .table import columns_of

if TYPE_CHECKING:
    from .connection import Connection

TABLE = "slowwave_mirrors"
# An advisory lock: several programs may find the table missing at once.
_MAKING = 5_103_017

_CREATE = f"""
CREATE TABLE IF NOT EXISTS {TABLE} (
    -- one row a tenant: the table of its memories, and its name there
    source text NOT NULL,
    tenant text NOT NULL,
    -- the memory file; NULL until the first run has ended
    mirror bytea,
    -- increases with each change of the mirror
    version bigint NOT NULL DEFAULT 0,
    -- the end of the lease, and the run that has it; NULL if none has
    leased_until timestamptz,
    lease_owner text,
    PRIMARY KEY (source, tenant)
)
"""


def make_table(conn: Connection) -> None:
    """Create the table if it does not exist."""
    if columns_of(conn, TABLE):
        return
    with short_transaction(conn):
        conn.execute("SELECT pg_advisory_xact_lock(%s)", [_MAKING])
        conn.execute(_CREATE)


def mirror_versions(conn: Connection, source: str) -> dict[str, int]:
    """Return how often the mirror of each tenant of a table was changed."""
    if not columns_of(conn, TABLE):
        return {}
    rows = conn.execute(f"SELECT tenant, version FROM {TABLE} WHERE source = %s", [source])
    return dict(rows.fetchall())


def read_mirror(conn: Connection, source: str, tenant: str) -> bytes | None:
    """Return the mirror of a tenant; None before its first run."""
    if not columns_of(conn, TABLE):
        return None
    row = conn.execute(
        f"SELECT mirror FROM {TABLE} WHERE source = %s AND tenant = %s", [source, tenant]
    ).fetchone()
    return None if row is None else row[0]
