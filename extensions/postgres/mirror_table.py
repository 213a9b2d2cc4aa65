"""The table of mirrors: each tenant's mirror as bytes, and until when which run has it leased."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from slowwave.store.errors import UnusableFile

from .table import columns_of, full_name

if TYPE_CHECKING:
    from psycopg import Connection

TABLE = "slowwave_mirrors"
# Several programs may find it missing at once; any number that nobody else takes.
_MAKING = 5_103_017

_CREATE = f"""
CREATE TABLE {TABLE} (
    -- one row a tenant: the table that has its memories, and whose of those the mirror has
    source text NOT NULL,
    tenant text NOT NULL,
    -- the memory file; NULL until the first night has ended
    mirror bytea,
    -- rises with each change of the mirror
    version bigint NOT NULL DEFAULT 0,
    -- until when a run has it, and which; NULL: none
    leased_until timestamptz,
    lease_owner text,
    PRIMARY KEY (source, tenant)
)
"""

# As it was made when LangGraph's memories were all that lay in it. %s: the table that has them.
_BRING_UP_TO_DATE = f"""
ALTER TABLE {TABLE} ADD COLUMN source text;
UPDATE {TABLE} SET source = %s;
ALTER TABLE {TABLE} ALTER COLUMN source SET NOT NULL;
ALTER TABLE {TABLE} DROP CONSTRAINT {TABLE}_pkey, ADD PRIMARY KEY (source, tenant)
"""


def make_table(conn: Connection[tuple[Any, ...]]) -> None:
    """Make the table if it is not there, and bring an older one up to date."""
    if "source" in columns_of(conn, TABLE):
        return
    with conn.transaction():
        conn.execute("SELECT pg_advisory_xact_lock(%s)", [_MAKING])
        # Unless another program has done so since.
        if not (there := columns_of(conn, TABLE)):
            conn.execute(_CREATE)
        elif "source" not in there:
            _bring_up_to_date(conn)


def _bring_up_to_date(conn: Connection[tuple[Any, ...]]) -> None:
    if not columns_of(conn, "store"):
        raise UnusableFile(
            f"The table {TABLE} was made by an earlier slowwave, for LangGraph's table store, "
            "which is not there.",
            f"If nobody needs what stands in it: DROP TABLE {TABLE}",
        )
    for statement in _BRING_UP_TO_DATE.split(";"):
        conn.execute(statement, [full_name(conn, "store")] if "%s" in statement else None)


def mirror_version(conn: Connection[tuple[Any, ...]], source: str, tenant: str) -> int:
    """Return how often a tenant's mirror was changed."""
    row = conn.execute(
        f"SELECT version FROM {TABLE} WHERE source = %s AND tenant = %s", [source, tenant]
    ).fetchone()
    return 0 if row is None else int(row[0])


def mirror_versions(conn: Connection[tuple[Any, ...]], source: str) -> dict[str, int]:
    """Return how often the mirror of each tenant of a table was changed.

    None is told of an older table: its tenants count as changed.
    """
    if "source" not in columns_of(conn, TABLE):
        return {}
    rows = conn.execute(f"SELECT tenant, version FROM {TABLE} WHERE source = %s", [source])
    return dict(rows.fetchall())


def read_mirror(conn: Connection[tuple[Any, ...]], source: str, tenant: str) -> bytes | None:
    """Return the mirror of a tenant; None before its first night.

    Raises `UnusableFile` if the table is an older one.
    """
    if not (there := columns_of(conn, TABLE)):
        return None
    if "source" not in there:
        raise UnusableFile(
            f"The table {TABLE} was made by an earlier slowwave.",
            "A night brings it up to date: slowwave maintain URL --format langgraph",
        )
    row = conn.execute(
        f"SELECT mirror FROM {TABLE} WHERE source = %s AND tenant = %s", [source, tenant]
    ).fetchone()
    return None if row is None else row[0]
