"""The mirror of a tenant: bytes in a row of the database, written with the tenant's rows."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from secrets import token_hex
from tempfile import TemporaryDirectory, gettempdir
from typing import cast

from slowwave.extensions.formats.base import OpenFile
from slowwave.extensions.formats.mirror.mirror import Mirror, naming, retry_while_others_write
from slowwave.extensions.formats.mirror.push import link_existing_texts
from slowwave.store.file import checkpoint_log, open_any_version, open_writing

from .format import PostgresFormat
from .lease import Lease
from .tenant import OpenTenant
from .url import DatabaseUrl


@dataclass(frozen=True)
class TenantMirror(Mirror):
    """A tenant of a database, and the memory file that mirrors it.

    During a run the file is in a folder of this process; between runs it is bytes in the database.
    Rows and bytes are written in one transaction, so a killed run leaves them consistent.
    """

    # What could not be written is lost with the run, and its proposals, too.
    outlives_a_failed_write = False
    path: DatabaseUrl
    format: PostgresFormat
    lease: Lease

    @classmethod
    def of(cls, url: DatabaseUrl, format: PostgresFormat) -> TenantMirror:
        """Return the mirror of a tenant; nothing is read yet."""
        state = Path(gettempdir()) / f"slowwave-{token_hex(8)}" / "mirror.db"
        return cls(url, format, state, Lease(url, format))

    @contextmanager
    def held(self, now: datetime) -> Iterator[None]:
        """Lease the tenant, and create the memory file at `state` until the block has ended."""
        folder = self.state.parent
        with self.lease.held(), naming(self.state, self.path):
            folder.mkdir(mode=0o700)
            try:
                with self.format.opened(self.path, writes=False) as tenant:
                    self._fill(self, tenant, now)
                yield
            finally:
                shutil.rmtree(folder)

    def _fill(self, copy: Mirror, opened: OpenFile, now: datetime) -> None:
        """Create the memory file from the mirror in the database, and update it from the rows."""
        mirror = cast(OpenTenant, opened).mirror()
        if mirror is not None:
            _create(copy.state, mirror)
        copy.make()
        copy.pull(opened, now)

    def settle(self, now: datetime) -> dict[str, str]:
        """Pull what the agent changed, and write the changes of runs with the mirror itself.

        It is retried while the agent writes. Raises `StoreError`; nothing is written then.
        """
        stale: dict[str, str] = {}
        self._compute_vectors()
        retry_while_others_write(lambda: stale.update(self._write(now)))
        return stale

    def _write(self, now: datetime) -> dict[str, str]:
        """Write a copy of the memory file, which replaces it once all is committed."""
        with (
            TemporaryDirectory(dir=self.state.parent) as folder,
            self.format.opened(self.path, writes=True) as tenant,
        ):
            copy = Mirror(self.path, self.format, Path(folder) / self.state.name)
            checkpoint_log(self.state)
            # A copy byte for byte, so that a run that changes nothing keeps the same mirror.
            with open_any_version(self.state) as file:
                _create(copy.state, file.conn.serialize())
            stale = copy.pull(tenant, now)
            copy.push(tenant, lambda: None)
            with open_writing(copy.state) as file, file.transaction():
                link_existing_texts(file, tenant.read())
            checkpoint_log(copy.state)
            with open_any_version(copy.state) as file:
                tenant.keep_mirror(self.lease, file.conn.serialize())
            tenant.commit()
            copy.state.replace(self.state)
        return stale


def _create(path: Path, mirror: bytes) -> None:
    """Write the bytes of a memory file that nobody has open."""
    path.touch(mode=0o600)
    path.write_bytes(mirror)
