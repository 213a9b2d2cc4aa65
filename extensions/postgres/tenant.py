"""A tenant's rows and its mirror, within one transaction."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar

from slowwave.extensions.formats.base import Change, Record, Written
from slowwave.extensions.formats.database import OpenDatabase
from slowwave.extensions.formats.lent_model import LentModel
from slowwave.extensions.formats.rows import changed, refuse_other_vectors
from slowwave.store.errors import NotFound, StoreError

from .lease import Lease
from .mirror_table import mirror_version, read_mirror
from .table import MemoryTable
from .url import DatabaseUrl

if TYPE_CHECKING:
    from psycopg import Connection


class OpenTenant(OpenDatabase):
    """The rows of a tenant within a transaction."""

    # What a tenant is, for whom there is none of a name.
    tenants_are: ClassVar[str]

    def __init__(
        self,
        conn: Connection[tuple[Any, ...]],
        url: DatabaseUrl,
        table: MemoryTable,
        model: LentModel | None,
    ) -> None:
        """Read the tenant. Raises `NotFound` if there is none of that name."""
        if url.tenant is None:
            raise StoreError(f"{url} names no tenant.", "Name one: URL#TENANT")
        self._conn = conn
        self._table = table
        self._tenant = url.tenant
        self._model = model
        self.records = self.read()
        if not self.records and self.mirror() is None:
            raise NotFound(
                f"There are no memories of a tenant '{self._tenant}' in {url.of(None)}.",
                self.tenants_are,
            )

    @cached_property
    def vector_model(self) -> LentModel | None:
        """What makes vectors for new texts; None if they need none.

        The vectors that are there are looked at once, before the first row is written. Raises
        `Unreadable` if they are not of the model that is lent.
        """
        samples = self.samples()
        refuse_other_vectors(self._model, samples)
        return None if samples is None else self._model

    @abstractmethod
    def read(self) -> list[Record]:
        """Return the rows that are memories, and do not end by themselves, as they are now."""

    def mirror(self) -> bytes | None:
        """Return the memory file in which it is mirrored; None before its first night."""
        return read_mirror(self._conn, self._table.name, self._tenant)

    def prepare(self, change: Change) -> Written:
        """Do it within the transaction."""
        return changed(self, change, self.records)

    def keep_mirror(self, lease: Lease, mirror: bytes) -> None:
        """Keep a mirror along with what was prepared. Raises `FileHeld` if the lease was lost."""
        lease.keep_mirror(self._conn, mirror)
        lease.version = self.version()

    def version(self) -> str:
        """Return what changes whenever a memory of the tenant or its mirror does."""
        table = self._table
        rows = self._value(
            f"SELECT {table.rows_version} FROM {table.in_statement} "
            f"WHERE {table.is_memory} AND {table.tenant} = %s",
            [self._tenant],
        )
        return f"{rows}-{mirror_version(self._conn, table.name, self._tenant)}"

    def commit(self) -> None:
        """Let others see it."""
        self._conn.commit()

    def _value(self, sql: str, parameters: Sequence[object] = ()) -> Any:
        row = self._conn.execute(sql, parameters).fetchone()
        return None if row is None else row[0]
