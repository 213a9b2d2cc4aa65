"""A format of memories that are rows of a PostgreSQL database."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

from slowwave.extensions.formats.base import Unreadable
from slowwave.extensions.formats.database import DatabaseFormat
from slowwave.store.errors import StoreError

from .connection import connected, transaction
from .table import MemoryTable
from .tenant import OpenTenant
from .url import DatabaseUrl

if TYPE_CHECKING:
    from psycopg import Connection


class PostgresFormat(DatabaseFormat):
    """The tables of a package in a database; what is opened is one tenant of them."""

    rows: ClassVar[type[OpenTenant]]
    # Which tables are looked for, for whom there are none.
    tables_are: ClassVar[str]

    @abstractmethod
    def find(self, conn: Connection[tuple[Any, ...]]) -> list[MemoryTable]:
        """Return the tables of memories that are as the package makes them."""

    def number(self, conn: Connection[tuple[Any, ...]], table: MemoryTable) -> int | None:
        """Return the number of the tables' schema; None if it has none that can be read."""
        return None

    def table(self, conn: Connection[tuple[Any, ...]], url: DatabaseUrl) -> MemoryTable:
        """Return the table of the memories. Raises `Unreadable` if there is none, or several."""
        found = self.find(conn)
        if not found:
            raise Unreadable(f"{url} has no tables of {self.about} as known.", self.tables_are)
        if len(found) > 1:
            raise Unreadable(
                f"{url} has several tables of {self.about}: "
                f"{', '.join(one.name for one in found)}.",
                "Name a schema (?options=-csearch_path%3DSCHEMA), or a user who may read only one.",
            )
        return found[0]

    def recognises(self, path: Path) -> bool:
        """Whether the database has the tables. Raises `StoreError` if it cannot be reached."""
        with connected(_url(path)) as conn, transaction(conn, writes=False):
            return bool(self.find(conn))

    @contextmanager
    def opened(self, path: Path, writes: bool) -> Iterator[OpenTenant]:
        """Open a tenant: one picture of its rows, and of its mirror.

        Raises `Unreadable`, `NotFound` if there is no such tenant, and `StoreError`.
        """
        url = _url(path)
        with connected(url) as conn, transaction(conn, writes):
            yield self.rows(conn, url, self.table(conn, url), self.model)

    def schema_number(self, path: Path) -> int | None:
        """Return the schema's number; None of a user who may not look it up."""
        url = _url(path)
        with connected(url) as conn, transaction(conn, writes=False):
            return self.number(conn, self.table(conn, url))


def _url(path: Path) -> DatabaseUrl:
    if not isinstance(path, DatabaseUrl):
        raise StoreError(f"{path} is not the URL of a database.")
    return path
