"""Memories that are rows of one table.

The package cannot hide a row from all of its searches, so removed rows are deleted, and stored with
all columns in the mirror to be restored.
"""

from __future__ import annotations

import json
from abc import abstractmethod
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

from slowwave.extensions.formats.base import NEXT_RUN, Image, New, Record, RemovedEntry, Unreadable
from slowwave.extensions.formats.database import key_of, place_of

from .table import columns_of, escaped
from .tenant import OpenTenant

# A row by its column names, with values as JSON has them.
Row = Mapping[str, Any]


class WholeRows(OpenTenant):
    """The rows of a tenant; each is a memory."""

    # The column that identifies a row, and its type.
    id: ClassVar[str]
    id_type: ClassVar[str]
    # SQL: the time of a row's text, by which rows are ordered.
    said_at: ClassVar[str]
    # Columns that are not needed to read a memory.
    unread: ClassVar[tuple[str, ...]] = ()

    @abstractmethod
    def record_of(self, row: Row) -> Record:
        """Return a row as a memory."""

    @abstractmethod
    def row_with_text(self, new: New, replaced: Sequence[Row]) -> Row:
        """Return a row with a new text and a new id.

        replaced: the rows that it replaces, the latest last.
        """

    def read(self) -> list[Record]:
        """Return the rows that are memories and have no end, as they are now."""
        rows = self._rows(
            f"WHERE {self._table.is_memory} AND {self._table.tenant} = %s "
            f'ORDER BY {self._table.key} COLLATE "C"',
            [self._tenant],
            without=self.unread,
        )
        return list(map(self.record_of, rows))

    def insert(self, new: New) -> str:
        """Add a row like those that it replaces."""
        replaced = self._rows(
            f"WHERE {self.id} = ANY(%s::{self.id_type}[]) "
            f"ORDER BY {self.said_at} NULLS FIRST, {self.id}",
            [[place_of(key)[1] for key in new.replaces]],
            without=self.unread,
        )
        row = self.row_with_text(new, replaced)
        self._insert_row(json.dumps(row))
        return key_of(self._tenant, row[self.id], new.text)

    def hide(self, removal: RemovedEntry, successor: str | None) -> Image:
        """Delete it, and return it completely."""
        _, name = place_of(removal.key)
        row = self._value(
            f"DELETE FROM {self._table.in_statement} AS stored WHERE {self.id} = %s "
            "RETURNING to_jsonb(stored)::text",
            [name],
        )
        if row is None:
            raise Unreadable(f"'{name}' is no longer in {self._table.name}.", NEXT_RUN)
        # As text: parsing could change some numbers.
        return {"key": removal.key, "row": row}

    def restore(self, image: Image) -> str:
        """Insert it again."""
        self._insert_row(str(image["row"]))
        return str(image["key"])

    def _rows(
        self, where: str, values: Sequence[object], without: Sequence[str] = ()
    ) -> list[dict[str, Any]]:
        rows = self._conn.execute(
            "SELECT (to_jsonb(stored) - %s::text[])::text "
            f"FROM {self._table.in_statement} AS stored {where}",
            [list(without), *values],
        ).fetchall()
        return [json.loads(text) for (text,) in rows]

    def _insert_row(self, row: str) -> None:
        from psycopg.sql import Identifier

        table = self._table
        names = map(Identifier, columns_of(self._conn, table.name))
        columns = escaped(", ".join(name.as_string(self._conn) for name in names))
        added = self._conn.execute(
            # An identity column gets the number that the row had, too.
            f"INSERT INTO {table.in_statement} ({columns}) OVERRIDING SYSTEM VALUE "
            f"SELECT {columns} FROM jsonb_populate_record(NULL::{table.in_statement}, %s::jsonb) "
            "ON CONFLICT DO NOTHING",
            [row],
        ).rowcount
        if not added:
            raise Unreadable(f"There is now another row '{json.loads(row)[self.id]}'.")
