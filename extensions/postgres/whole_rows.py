"""Memories that are one row each of one table, which leaves as a whole.

No state of the package's hides a row from every search of its own, so what leaves is deleted, and
kept with all its columns in the mirror, until it comes back.
"""

from __future__ import annotations

import json
from abc import abstractmethod
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

from slowwave.extensions.formats.base import Image, New, Record, Unreadable
from slowwave.extensions.formats.langmem import key_of, place_of
from slowwave.extensions.formats.rows import Leaving

from .table import columns_of, escaped
from .tenant import OpenTenant

# A row by its column names, with values as JSON has them.
Row = Mapping[str, Any]


class WholeRows(OpenTenant):
    """The rows of a tenant, each of them a memory."""

    # The column by which a row is known, and its type.
    id: ClassVar[str]
    id_type: ClassVar[str]
    # SQL: by when what a row says was told the rows are put in order.
    said_at: ClassVar[str]
    # What of a row is not needed to read it.
    unread: ClassVar[tuple[str, ...]] = ()

    @abstractmethod
    def record_of(self, key: str, row: Row) -> Record:
        """Return the memory that a row is."""

    @abstractmethod
    def row_saying(self, new: New, replaced: Sequence[Row]) -> Row:
        """Return a row with a new text and an id of its own.

        replaced: the rows in whose place it comes, the latest last.
        """

    @abstractmethod
    def text_of(self, row: Row) -> str:
        """Return what a row says."""

    def read(self) -> list[Record]:
        """Return the rows that are memories, and do not end by themselves, as they are now."""
        rows = self._rows(
            f"WHERE {self._table.is_memory} AND {self._table.tenant} = %s "
            f'ORDER BY {self._table.key} COLLATE "C"',
            [self._tenant],
            without=self.unread,
        )
        return [self.record_of(self._key_of(row), row) for row in rows]

    def put(self, new: New) -> str:
        """Add a row like those in whose place it comes."""
        replaced = self._rows(
            f"WHERE {self.id} = ANY(%s::{self.id_type}[]) "
            f"ORDER BY {self.said_at} NULLS FIRST, {self.id}",
            [[place_of(key)[1] for key in new.replaces]],
            without=self.unread,
        )
        row = self.row_saying(new, replaced)
        self._insert(json.dumps(row))
        return self._key_of(row)

    def retire(self, leaving: Leaving) -> Image:
        """Delete it, and keep all of it."""
        _, name = place_of(leaving.key)
        row = self._value(
            f"DELETE FROM {self._table.in_statement} AS one WHERE {self.id} = %s "
            "RETURNING to_jsonb(one)::text",
            [name],
        )
        if row is None:
            raise Unreadable(f"'{name}' is not there any more.")
        # As text: read as numbers, some would come back as others.
        return {"key": leaving.key, "row": row}

    def bring_back(self, image: Image) -> str:
        """Insert it as it was."""
        self._insert(str(image["row"]))
        return str(image["key"])

    def _key_of(self, row: Row) -> str:
        return key_of(self._tenant, str(row[self.id]), self.text_of(row))

    def _rows(
        self, which: str, values: Sequence[object], without: Sequence[str] = ()
    ) -> list[dict[str, Any]]:
        found = self._conn.execute(
            "SELECT (to_jsonb(one) - %s::text[])::text "
            f"FROM {self._table.in_statement} AS one {which}",
            [list(without), *values],
        ).fetchall()
        return [json.loads(row) for (row,) in found]

    def _insert(self, row: str) -> None:
        from psycopg.sql import Identifier

        table = self._table
        names = map(Identifier, columns_of(self._conn, table.name))
        columns = escaped(", ".join(name.as_string(self._conn) for name in names))
        added = self._conn.execute(
            # A column that numbers its rows by itself takes the number that a row had, too.
            f"INSERT INTO {table.in_statement} ({columns}) OVERRIDING SYSTEM VALUE "
            f"SELECT {columns} FROM jsonb_populate_record(NULL::{table.in_statement}, %s::jsonb) "
            "ON CONFLICT DO NOTHING",
            [row],
        ).rowcount
        if not added:
            raise Unreadable(f"There is another row '{json.loads(row)[self.id]}' now.")
