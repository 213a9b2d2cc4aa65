"""Which run has a tenant leased, and may write its mirror.

A lease is a time in a row, and no lock: while a night runs nothing is held in the database, and of
a run that was killed the lease runs out.
"""

from __future__ import annotations

import os
import secrets
import socket
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from hashlib import sha256
from threading import Event, Thread
from typing import TYPE_CHECKING, Any

from slowwave.store.errors import FileHeld, StoreError

from .connection import connected
from .mirror_table import TABLE, make_table
from .url import DatabaseUrl

if TYPE_CHECKING:
    from psycopg import Connection

    from .format import PostgresFormat

# For how long a tenant is leased at a time, and after how much of that the lease is renewed.
LEASE_S = 60.0
_RENEWED_AFTER = 1 / 3

# The next end of a lease, and whose it is.
_THEN = "clock_timestamp() + make_interval(secs => %s)"
_OURS = "source = %s AND tenant = %s AND lease_owner = %s"


class Lease:
    """The right of a run to write what became of a tenant."""

    def __init__(self, url: DatabaseUrl, format: PostgresFormat) -> None:
        """Take the tenant's URL, and of which format its rows are; nothing is leased yet."""
        self._url = url
        self._format = format
        # The table that has its memories; looked up when it is leased.
        self._source = ""
        # Of the tenant's rows and mirror as this run left them; "" as long as it wrote nothing.
        self.version = ""
        self.owner = f"{socket.gethostname()}:{os.getpid()}:{secrets.token_hex(8)}"

    @contextmanager
    def held(self) -> Iterator[None]:
        """Lease the tenant, and renew that until the block has ended.

        Raises `FileHeld` if another run has it.
        """
        with connected(self._url) as conn:
            self._source = self._format.table(conn, self._url).name
            make_table(conn)
            self._take(conn)
        ended = Event()
        renewing = Thread(target=self._renew_until, args=(ended,), daemon=True)
        renewing.start()
        try:
            yield
        finally:
            ended.set()
            renewing.join()
            with suppress(StoreError):  # it runs out by itself
                self._let_go()

    @property
    def _ours(self) -> list[str | None]:
        return [self._source, self._url.tenant, self.owner]

    def _take(self, conn: Connection[tuple[Any, ...]]) -> None:
        which = [self._source, self._url.tenant]
        with conn.transaction():
            conn.execute(
                f"INSERT INTO {TABLE} (source, tenant) VALUES (%s, %s) ON CONFLICT DO NOTHING",
                which,
            )
            taken = conn.execute(
                f"UPDATE {TABLE} SET leased_until = {_THEN}, lease_owner = %s "
                f"WHERE (source, tenant) IN (SELECT source, tenant FROM {TABLE} "
                "WHERE source = %s AND tenant = %s "
                "AND coalesce(leased_until, '-infinity') < clock_timestamp() "
                "FOR UPDATE SKIP LOCKED)",
                [LEASE_S, self.owner, *which],
            ).rowcount
        if not taken:
            raise FileHeld(
                f"Another maintenance run has leased {self._url}.",
                "Wait until it has ended, then try again. If it was killed, its lease runs out "
                f"within {LEASE_S:.0f} seconds.",
            )

    def _renew_until(self, ended: Event) -> None:
        while not ended.wait(LEASE_S * _RENEWED_AFTER):
            # If it fails until the lease has run out, what is written at the end is refused only
            # if another run has the tenant by then.
            with suppress(StoreError), connected(self._url) as conn:
                conn.execute(
                    f"UPDATE {TABLE} SET leased_until = {_THEN} WHERE {_OURS}",
                    [LEASE_S, *self._ours],
                )

    def _let_go(self) -> None:
        ours = self._ours
        with connected(self._url) as conn, conn.transaction():
            # Of a tenant that got no mirror nothing stays.
            conn.execute(f"DELETE FROM {TABLE} WHERE {_OURS} AND mirror IS NULL", ours)
            conn.execute(
                f"UPDATE {TABLE} SET leased_until = NULL, lease_owner = NULL WHERE {_OURS}", ours
            )

    def keep_mirror(self, conn: Connection[tuple[Any, ...]], mirror: bytes) -> None:
        """Keep a mirror if it is another than before, within the caller's transaction.

        Raises `FileHeld` if another run has taken the tenant over.
        """
        found = conn.execute(
            f"SELECT sha256(mirror) FROM {TABLE} WHERE {_OURS} FOR UPDATE",
            self._ours,
        ).fetchone()
        if found is None:
            raise FileHeld(
                f"Another maintenance run has taken over {self._url}: this one's lease ran out.",
                "Nothing of this run was written. Run it again.",
            )
        if found[0] != sha256(mirror).digest():
            conn.execute(
                f"UPDATE {TABLE} SET mirror = %s, version = version + 1 WHERE {_OURS}",
                [mirror, *self._ours],
            )
