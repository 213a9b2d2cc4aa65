"""The tenants of a database, and the versions of their rows."""

from __future__ import annotations

from dataclasses import dataclass

from .connection import connected, transaction
from .format import PostgresFormat
from .mirror_table import mirror_versions, read_mirror
from .url import DatabaseUrl


@dataclass(frozen=True)
class Tenants:
    """All tenants with memories of a format in a database, or the one that its URL specifies."""

    url: DatabaseUrl
    format: PostgresFormat

    def names(self, limit: int) -> list[str]:
        """Return the first tenants. Raises `StoreError`."""
        with connected(self.url) as conn, transaction(conn, writes=False):
            table = self.format.table(conn, self.url)
            rows = conn.execute(
                f'SELECT DISTINCT ({table.tenant}) COLLATE "C" FROM {table.in_statement} '
                f"WHERE {table.is_memory} ORDER BY 1 LIMIT %s",
                [limit],
            ).fetchall()
        return [str(name) for (name,) in rows]

    def versions(self) -> list[tuple[str, str]]:
        """Return all, ordered by name, each with its version; see `OpenTenant.version`.

        Reads each row of the table once. Raises `StoreError`.
        """
        with connected(self.url) as conn, transaction(conn, writes=False):
            table = self.format.table(conn, self.url)
            rows = conn.execute(
                f'SELECT ({table.tenant}) COLLATE "C", {table.rows_version} '
                f"FROM {table.in_statement} "
                f"WHERE {table.is_memory} AND {table.tenant} = coalesce(%s::text, {table.tenant}) "
                "GROUP BY 1 ORDER BY 1",
                [self.url.tenant],
            ).fetchall()
            mirrors = mirror_versions(conn, table.name)
        return [(name, f"{version}-{mirrors.get(name, 0)}") for name, version in rows]


def has_mirror(url: DatabaseUrl, format: PostgresFormat) -> bool:
    """Whether a tenant was maintained before. Raises `StoreError`."""
    with connected(url) as conn, transaction(conn, writes=False):
        return url.tenant is not None and any(
            read_mirror(conn, table.name, url.tenant) is not None for table in format.find(conn)
        )
