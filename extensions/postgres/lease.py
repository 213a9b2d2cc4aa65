"""The table of mirrors: each tenant's mirror as bytes, and its lease: which run may write it.

A lease is a time in a row, not a lock: during a run nothing is locked in the database, and the
lease of a killed run expires.
"""

from __future__ import annotations

import os
import secrets
import socket
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from hashlib import sha256
from threading import Event, Thread
from typing import TYPE_CHECKING

from slowwave.store.errors import FileHeld, StoreError

from .connection import connected, short_transaction
from .table import MemoryTable, columns_of
from .url import DatabaseUrl

if TYPE_CHECKING:
    from .connection import Connection
    from .format import PostgresFormat

_TABLE = "slowwave_mirrors"
# An advisory lock: several programs may find the table missing at once.
_CREATION_LOCK = 5_103_017

_CREATE = f"""
CREATE TABLE IF NOT EXISTS {_TABLE} (
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

# How long a lease lasts, in seconds, and after which part of it it is renewed.
LEASE_SECONDS = 60.0
_RENEWED_AFTER = 1 / 3

# SQL: the end of a lease that begins now, and the row of our lease.
_LEASE_END = "clock_timestamp() + make_interval(secs => %s)"
_OUR_ROW = "source = %s AND tenant = %s AND lease_owner = %s"


def _make_table(conn: Connection) -> None:
    """Create the table if it does not exist."""
    if columns_of(conn, _TABLE):
        return
    with short_transaction(conn):
        conn.execute("SELECT pg_advisory_xact_lock(%s)", [_CREATION_LOCK])
        conn.execute(_CREATE)


def versions_of(conn: Connection, table: MemoryTable, tenant: str | None) -> list[tuple[str, str]]:
    """Return a tenant, or all, ordered by name, each with its version.

    It changes whenever a memory of the tenant or its mirror does. Reads each row of a table once.
    """
    rows = conn.execute(
        f'SELECT ({table.tenant}) COLLATE "C", {table.rows_version} FROM {table.in_statement} '
        f"WHERE {table.is_memory} AND {table.tenant} = coalesce(%s::text, {table.tenant}) "
        "GROUP BY 1 ORDER BY 1",
        [tenant],
    ).fetchall()
    mirrors: dict[str, int] = {}
    if columns_of(conn, _TABLE):
        sql = f"SELECT tenant, version FROM {_TABLE} WHERE source = %s"
        mirrors = dict(conn.execute(sql, [table.name]).fetchall())
    return [(name, f"{version}-{mirrors.get(name, 0)}") for name, version in rows]


def read_mirror(conn: Connection, source: str, tenant: str) -> bytes | None:
    """Return the mirror of a tenant; None before its first run."""
    if not columns_of(conn, _TABLE):
        return None
    row = conn.execute(
        f"SELECT mirror FROM {_TABLE} WHERE source = %s AND tenant = %s", [source, tenant]
    ).fetchone()
    return None if row is None else row[0]


class Lease:
    """The right of a run to write the mirror of a tenant."""

    def __init__(self, url: DatabaseUrl, format: PostgresFormat) -> None:
        """Lease nothing yet."""
        self._url = url
        self._format = format
        # The table with its memories, found by `held`.
        self._source = ""
        # The version of the rows and the mirror as this run left them; "" until it has written.
        self.version = ""
        self.owner = f"{socket.gethostname()}:{os.getpid()}:{secrets.token_hex(8)}"

    @contextmanager
    def held(self) -> Iterator[None]:
        """Lease the tenant, and renew the lease until the block has ended.

        Raises `FileHeld` if another run has leased it.
        """
        with connected(self._url) as conn:
            self._source = self._format.table(conn, self._url).name
            _make_table(conn)
            self._take(conn)
        ended = Event()
        renewing = Thread(target=self._renew_until, args=(ended,), daemon=True)
        renewing.start()
        try:
            yield
        finally:
            ended.set()
            renewing.join()
            with suppress(StoreError):  # it expires
                self._release()

    @property
    def _ours(self) -> list[str | None]:
        return [self._source, self._url.tenant, self.owner]

    def _take(self, conn: Connection) -> None:
        row = [self._source, self._url.tenant]
        with short_transaction(conn):
            conn.execute(
                f"INSERT INTO {_TABLE} (source, tenant) VALUES (%s, %s) ON CONFLICT DO NOTHING", row
            )
            taken = conn.execute(
                f"UPDATE {_TABLE} SET leased_until = {_LEASE_END}, lease_owner = %s "
                f"WHERE (source, tenant) IN (SELECT source, tenant FROM {_TABLE} "
                "WHERE source = %s AND tenant = %s "
                "AND coalesce(leased_until, '-infinity') < clock_timestamp() "
                "FOR UPDATE SKIP LOCKED)",
                [LEASE_SECONDS, self.owner, *row],
            ).rowcount
        if not taken:
            raise FileHeld(
                f"Another maintenance run has leased {self._url}.",
                "Wait until it has ended, then try again. If it was killed, its lease expires "
                f"within {LEASE_SECONDS:.0f} seconds.",
            )

    def _renew_until(self, ended: Event) -> None:
        while not ended.wait(LEASE_SECONDS * _RENEWED_AFTER):
            # If this fails until the lease has expired, the final write is refused only if another
            # run has leased the tenant by then.
            with suppress(StoreError), connected(self._url) as conn, short_transaction(conn):
                sql = f"UPDATE {_TABLE} SET leased_until = {_LEASE_END} WHERE {_OUR_ROW}"
                conn.execute(sql, [LEASE_SECONDS, *self._ours])

    def _release(self) -> None:
        with connected(self._url) as conn, short_transaction(conn):
            # A tenant without a mirror leaves no row.
            conn.execute(f"DELETE FROM {_TABLE} WHERE {_OUR_ROW} AND mirror IS NULL", self._ours)
            sql = f"UPDATE {_TABLE} SET leased_until = NULL, lease_owner = NULL WHERE {_OUR_ROW}"
            conn.execute(sql, self._ours)

    def keep_mirror(self, conn: Connection, mirror: bytes) -> None:
        """Store a mirror if it has changed, in the caller's transaction.

        Raises `FileHeld` if another run has leased the tenant since.
        """
        row = conn.execute(
            f"SELECT sha256(mirror) FROM {_TABLE} WHERE {_OUR_ROW} FOR UPDATE", self._ours
        ).fetchone()
        if row is None:
            raise FileHeld(
                f"Another maintenance run has taken over {self._url}: this run's lease expired.",
                "Nothing of this run was written. Run it again.",
            )
        if row[0] != sha256(mirror).digest():
            sql = f"UPDATE {_TABLE} SET mirror = %s, version = version + 1 WHERE {_OUR_ROW}"
            conn.execute(sql, [mirror, *self._ours])
