"""A tenant's rows and its mirror, within one transaction."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, ClassVar, cast

from slowwave.extensions.formats.base import Record
from slowwave.extensions.formats.database import OpenDatabase
from slowwave.extensions.formats.vector_model import EmbeddingModel
from slowwave.store.errors import NotFound

from .lease import Lease, read_mirror, versions_of
from .table import MemoryTable
from .url import DatabaseUrl

if TYPE_CHECKING:
    from .connection import Connection


class OpenTenant(OpenDatabase):
    """The rows of a tenant within a transaction."""

    # What a tenant is, as a hint if there is none of a name.
    tenants_are: ClassVar[str]

    def __init__(
        self, conn: Connection, url: DatabaseUrl, table: MemoryTable, model: EmbeddingModel | None
    ) -> None:
        """Read the tenant. Raises `NotFound` if it does not exist."""
        self._conn = conn
        self._table = table
        self._tenant = cast(str, url.tenant)  # the place has chosen one
        self.model = model
        self.records = self.read()
        if not self.records and self.mirror() is None:
            raise NotFound(
                f"There are no memories of a tenant '{self._tenant}' in {url.of(None)}.",
                self.tenants_are,
            )

    @abstractmethod
    def read(self) -> list[Record]:
        """Return the rows that are memories and have no end, as they are now."""

    def mirror(self) -> bytes | None:
        """Return the memory file that mirrors it; None before its first run."""
        return read_mirror(self._conn, self._table.name, self._tenant)

    def keep_mirror(self, lease: Lease, mirror: bytes) -> None:
        """Store a mirror with what was prepared. Raises `FileHeld` if the lease was lost."""
        lease.keep_mirror(self._conn, mirror)
        versions = dict(versions_of(self._conn, self._table, self._tenant))
        lease.version = versions.get(self._tenant, "")

    def commit(self) -> None:
        """Commit."""
        self._conn.commit()

    def _value(self, sql: str, parameters: Sequence[object] = ()) -> Any:
        row = self._conn.execute(sql, parameters).fetchone()
        return None if row is None else row[0]
