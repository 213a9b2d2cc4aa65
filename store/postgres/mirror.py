"""The mirror of a tenant: bytes in a row beside the tenant's own, written together with those."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from secrets import token_hex
from tempfile import TemporaryDirectory, gettempdir

from slowwave.store.file import checkpoint_log, open_any_version, open_writing
from slowwave.store.mirror.mirror import Mirror, as_long_as_others_write, naming
from slowwave.store.mirror.pull import Pulled
from slowwave.store.mirror.push import (
    due,
    keep_what_leaves,
    keep_what_was_written,
    link_what_is_said_already,
)

from .format import PostgresFormat
from .lease import Lease
from .tenant import OpenTenant
from .url import DatabaseUrl


@dataclass(frozen=True)
class TenantMirror(Mirror):
    """A tenant of a database, and the memory file in which it is mirrored.

    The file lies in a folder of this process' own only as long as a run holds the tenant; between
    two runs it is bytes in the database. Rows and bytes are written in one transaction: whenever a
    run is killed, they fit together.
    """

    path: DatabaseUrl
    format: PostgresFormat
    lease: Lease

    @classmethod
    def of(cls, url: DatabaseUrl, format: PostgresFormat) -> TenantMirror:
        """Return the mirror of a tenant; nothing is looked at yet."""
        state = Path(gettempdir()) / f"slowwave-{token_hex(8)}" / "mirror.db"
        return cls(url, format, state, Lease(url, format))

    @property
    def outlives_a_failed_write(self) -> bool:
        """It does not: what could not be written is lost with the run, and so are its proposals."""
        return False

    @contextmanager
    def picture(self, now: datetime) -> Iterator[Mirror]:
        """Provide a copy of the mirror that says what the rows say now; nothing is written."""
        with TemporaryDirectory(prefix="slowwave-") as folder:
            copy = Mirror(self.path, self.format, Path(folder) / "mirror.db")
            with naming(copy.state, self.path):
                with self.format.opened(self.path, writes=False) as tenant:
                    _fill(copy, tenant, now)
                yield copy

    @contextmanager
    def held(self, now: datetime) -> Iterator[None]:
        """Lease the tenant, and have the memory file lie at `state` until the block has ended."""
        folder = self.state.parent
        with self.lease.held(), naming(self.state, self.path):
            folder.mkdir(mode=0o700)
            try:
                with self.format.opened(self.path, writes=False) as tenant:
                    _fill(self, tenant, now)
                yield
            finally:
                shutil.rmtree(folder)

    def settle(self, now: datetime) -> Pulled:
        """Take in what the agent changed, and write what runs made of it, with the mirror itself.

        Again where the agent writes meanwhile, some times. Raises `StoreError`; nothing is written
        then.
        """
        pulled = Pulled()
        self._compute_vectors()
        as_long_as_others_write(lambda: pulled.include([self._written(now)]))
        return pulled

    def _written(self, now: datetime) -> Pulled:
        """Try it on a copy of the memory file, which takes its place once all is committed."""
        with (
            TemporaryDirectory(dir=self.state.parent) as folder,
            self.format.opened(self.path, writes=True) as tenant,
        ):
            copy = Mirror(self.path, self.format, Path(folder) / self.state.name)
            checkpoint_log(self.state)
            # A copy to the byte, so that a night that changes nothing keeps the same mirror.
            with open_any_version(self.state) as file:
                _write_new(copy.state, file.db.conn.serialize())
            pulled = copy.pull(tenant, now)
            with open_writing(copy.state) as file:
                change = due(file, tenant.records)
                if change:
                    written = tenant.prepare(change)
                    with file.transaction():
                        keep_what_leaves(file, change, written)
                        keep_what_was_written(file, change, written)
                with file.transaction():
                    link_what_is_said_already(file, tenant.read())
            checkpoint_log(copy.state)
            with open_any_version(copy.state) as file:
                tenant.keep_mirror(self.lease, file.db.conn.serialize())
            tenant.commit()
            copy.state.replace(self.state)
        return pulled


def _write_new(path: Path, mirror: bytes) -> None:
    """Write the bytes of a memory file to where nobody has one open."""
    path.touch(mode=0o600)
    path.write_bytes(mirror)


def _fill(copy: Mirror, tenant: OpenTenant, now: datetime) -> None:
    """Make the memory file of a tenant's mirror, and bring it up to date with the rows."""
    mirror = tenant.mirror()
    if mirror is None:
        copy.make()
    else:
        _write_new(copy.state, mirror)
    copy.pull(tenant, now)
