"""A format of memories that are rows of a PostgreSQL database, and its tenants."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar, cast

from slowwave.extensions.formats.base import Unreadable
from slowwave.extensions.formats.database import DatabaseFormat

from .connection import connected, transaction
from .lease import read_mirror, versions_of
from .table import MemoryTable
from .tenant import OpenTenant
from .url import DatabaseUrl

if TYPE_CHECKING:
    from .connection import Connection


class PostgresFormat(DatabaseFormat):
    """The tables of a package in a database; what is opened is a tenant of them."""

    rows: ClassVar[type[OpenTenant]]
    # The expected tables, as a hint if there are none.
    tables_are: ClassVar[str]

    @abstractmethod
    def find(self, conn: Connection) -> list[MemoryTable]:
        """Return the tables of memories with the columns that the package creates."""

    def number(self, conn: Connection, table: MemoryTable) -> int | None:
        """Return the number of the tables' schema; None if it cannot be read."""
        return None

    def table(self, conn: Connection, url: DatabaseUrl) -> MemoryTable:
        """Return the table of the memories. Raises `Unreadable` unless there is exactly one."""
        tables = self.find(conn)
        if not tables:
            raise Unreadable(f"{url} does not have the tables of {self.about}.", self.tables_are)
        if len(tables) > 1:
            raise Unreadable(
                f"{url} has several tables of {self.about}: "
                f"{', '.join(table.name for table in tables)}.",
                "Specify a schema (?options=-csearch_path%3DSCHEMA), or a user who may read only "
                "one of them.",
            )
        return tables[0]

    def recognises(self, path: Path) -> bool:
        """Whether the database has the tables. Raises `StoreError` if it cannot be reached."""
        with connected(cast(DatabaseUrl, path)) as conn, transaction(conn, writes=False):
            return bool(self.find(conn))

    @contextmanager
    def opened(self, path: Path, writes: bool) -> Iterator[OpenTenant]:
        """Open a tenant: one snapshot of its rows and of its mirror.

        Raises `Unreadable`, `NotFound` if there is no such tenant, and `StoreError`.
        """
        url = cast(DatabaseUrl, path)
        with connected(url) as conn, transaction(conn, writes):
            yield self.rows(conn, url, self.table(conn, url), self.model)

    def schema_number(self, path: Path) -> int | None:
        """Return the schema's number; None if the user may not read it."""
        url = cast(DatabaseUrl, path)
        with connected(url) as conn, transaction(conn, writes=False):
            return self.number(conn, self.table(conn, url))


@dataclass(frozen=True)
class Tenants:
    """All tenants with memories of a format in a database, or the one that its URL specifies."""

    url: DatabaseUrl
    format: PostgresFormat

    def versions(self) -> list[tuple[str, str]]:
        """Return all, each with its version. Raises `StoreError`."""
        with connected(self.url) as conn, transaction(conn, writes=False):
            return versions_of(conn, self.format.table(conn, self.url), self.url.tenant)


def has_mirror(url: DatabaseUrl, format: PostgresFormat) -> bool:
    """Whether a tenant was maintained before. Raises `StoreError`."""
    with connected(url) as conn, transaction(conn, writes=False):
        return url.tenant is not None and any(
            read_mirror(conn, table.name, url.tenant) is not None for table in format.find(conn)
        )
