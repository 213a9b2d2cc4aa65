"""The table of mirrors: each tenant's mirror as bytes, and its lease."""

from __future__ import annotations

from typing import TYPE_CHECKING

from slowwave.store.errors import UnusableFile

from .connection import short_transaction
from .table import columns_of, full_name

if TYPE_CHECKING:
    from .connection import Connection

TABLE = "slowwave_mirrors"
# An advisory lock: several programs may find the table missing at once.
_MAKING = 5_103_017

_CREATE = f"""
CREATE TABLE {TABLE} (
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

# From when it had only LangGraph's memories. %s: the table of these.
_MIGRATE = f"""
ALTER TABLE {TABLE} ADD COLUMN source text;
UPDATE {TABLE} SET source = %s;
ALTER TABLE {TABLE} ALTER COLUMN source SET NOT NULL;
ALTER TABLE {TABLE} DROP CONSTRAINT {TABLE}_pkey, ADD PRIMARY KEY (source, tenant)
"""


def make_table(conn: Connection) -> None:
    """Create the table if it does not exist, and migrate an older one."""
    if "source" in columns_of(conn, TABLE):
        return
    with short_transaction(conn):
        conn.execute("SELECT pg_advisory_xact_lock(%s)", [_MAKING])
        # Unless another program has done so since.
        if not (columns := columns_of(conn, TABLE)):
            conn.execute(_CREATE)
        elif "source" not in columns:
            _migrate(conn)


def _migrate(conn: Connection) -> None:
    if not columns_of(conn, "store"):
        raise UnusableFile(
            f"The table {TABLE} is of an earlier version, for LangGraph's table store, which does "
            "not exist.",
            f"If nobody needs its content: DROP TABLE {TABLE}",
        )
    for statement in _MIGRATE.split(";"):
        conn.execute(statement, [full_name(conn, "store")] if "%s" in statement else None)


def mirror_versions(conn: Connection, source: str) -> dict[str, int]:
    """Return how often the mirror of each tenant of a table was changed.

    Empty if the table of mirrors is an older one: its tenants count as changed.
    """
    if "source" not in columns_of(conn, TABLE):
        return {}
    rows = conn.execute(f"SELECT tenant, version FROM {TABLE} WHERE source = %s", [source])
    return dict(rows.fetchall())


def read_mirror(conn: Connection, source: str, tenant: str) -> bytes | None:
    """Return the mirror of a tenant; None before its first run.

    Raises `UnusableFile` if the table is an older one.
    """
    if not (columns := columns_of(conn, TABLE)):
        return None
    if "source" not in columns:
        raise UnusableFile(
            f"The table {TABLE} is of an earlier version.",
            "A run migrates it: slowwave maintain URL --format langgraph",
        )
    row = conn.execute(
        f"SELECT mirror FROM {TABLE} WHERE source = %s AND tenant = %s", [source, tenant]
    ).fetchone()
    return None if row is None else row[0]
