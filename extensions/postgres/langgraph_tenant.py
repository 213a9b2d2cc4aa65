"""The rows of one namespace of LangGraph's PostgresStore, within a transaction."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from slowwave.extensions.formats.base import Record, Unreadable
from slowwave.extensions.formats.langgraph_rows import (
    At,
    StoreRows,
    sampled,
)
from slowwave.extensions.formats.langmem import record_of
from slowwave.extensions.formats.lent_model import LONGEST_SAMPLE, SAMPLES_AT_EITHER_END

from .pgvector import as_bytes, as_literal
from .table import refuse_other_vector_types
from .tenant import OpenTenant

if TYPE_CHECKING:
    from psycopg import Cursor

_COLUMNS = "value, created_at, updated_at, expires_at, ttl_minutes"
_HERE = "WHERE prefix = %s AND key = %s"


class Namespace(OpenTenant, StoreRows):
    """The rows of a namespace within a transaction."""

    json_type, moment_type, embedding = "jsonb", "timestamptz", "embedding::text"
    tenants_are = "A tenant is a namespace, its labels joined by dots, such as memories.ann."

    def read(self) -> list[Record]:
        """Return the values that are memories, and do not end by themselves, as they are now."""
        rows = self._conn.execute(
            "SELECT key, value::text, created_at FROM store WHERE prefix = %s "
            'AND expires_at IS NULL ORDER BY key COLLATE "C"',
            [self._tenant],
        )
        records = (
            record_of(self._tenant, name, value, None if created is None else created.isoformat())
            for name, value, created in rows
        )
        return [record for record in records if record is not None]

    def samples(self) -> list[tuple[str, bytes]] | None:
        """Return texts of the tenant's oldest and latest rows, with their vectors.

        None if the store has no vectors, and needs none. Raises `Unreadable`.
        """
        if not self.has_vectors():
            return None
        refuse_other_vector_types(self._conn, "store_vectors", "embedding")
        found: dict[str, bytes] = {}
        for order in ("ASC", "DESC"):
            rows = self._conn.execute(
                "SELECT s.value::text, v.field_name, v.embedding::text FROM store s "
                "JOIN store_vectors v USING (prefix, key) "
                "WHERE prefix = %s AND length(s.value::text) <= %s "
                f"ORDER BY s.created_at {order}, key LIMIT %s",
                [self._tenant, LONGEST_SAMPLE, 2 * SAMPLES_AT_EITHER_END],
            )
            found |= sampled((value, field, as_bytes(vector)) for value, field, vector in rows)
        return list(found.items())

    def execute(self, sql: str, values: Sequence[object] = ()) -> Cursor[tuple[Any, ...]]:
        """Run a statement that has %s for each value."""
        return self._conn.execute(sql, values)

    def has_vectors(self) -> bool:
        """Whether there is an index, with something in it."""
        if self._value("SELECT to_regclass('store_vectors')") is None:
            return False
        return self._value("SELECT 1 FROM store_vectors LIMIT 1") is not None

    def fields(self, prefix: str) -> list[str]:
        """Return the fields of which the tenant's memories have vectors."""
        rows = self._conn.execute(
            'SELECT DISTINCT field_name COLLATE "C" FROM store_vectors WHERE prefix = %s '
            "ORDER BY 1",
            [prefix],
        ).fetchall()
        return [str(field) for (field,) in rows]

    def move(self, source: At, target: At) -> None:
        """Move a row with its vectors, which cannot be without a row at any moment."""
        moved = self._conn.execute(
            f"INSERT INTO store (prefix, key, {_COLUMNS}) SELECT %s, %s, {_COLUMNS} FROM store "
            f"{_HERE} ON CONFLICT DO NOTHING",
            [*target, *source],
        ).rowcount
        if not moved:
            raise Unreadable(
                f"The namespace {target[0]} now has another '{target[1]}'."
                if self._value(f"SELECT 1 FROM store {_HERE}", source)
                else f"'{source[1]}' is not in the namespace {source[0]} any more."
            )
        if self.has_vectors():
            self._conn.execute(
                f"UPDATE store_vectors SET prefix = %s, key = %s {_HERE}", [*target, *source]
            )
        self._conn.execute(f"DELETE FROM store {_HERE}", source)

    def from_model(self, vector: bytes) -> str:
        """Return a vector of little-endian float32 as pgvector spells it."""
        return as_literal(vector)
