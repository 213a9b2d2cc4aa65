"""The table where a package stores its memories, and its vectors."""

from __future__ import annotations

import json
import struct
from dataclasses import dataclass
from typing import TYPE_CHECKING

from slowwave.extensions.formats.base import Unreadable

if TYPE_CHECKING:
    from .connection import Connection

# The types of vectors that can be written; others (bit) only move with their rows.
_VECTOR_TYPES = ("vector(", "halfvec(")


@dataclass(frozen=True)
class MemoryTable:
    """A table of memories. Its SQL is for statements that read rows of the table."""

    # The schema and the name, quoted where PostgreSQL needs it.
    name: str
    # SQL: the tenant of a row, its key, and whether it is a memory.
    tenant: str
    key: str
    is_memory: str

    @property
    def in_statement(self) -> str:
        """The name in a statement that has parameters."""
        return escaped(self.name)

    @property
    def rows_version(self) -> str:
        """SQL: a value that changes whenever a row of a set does."""
        return (
            f"count(*) || '-' || coalesce(sum(hashtextextended({self.key} || ' ' || xmin, 0)), 0)"
        )


def escaped(name: str) -> str:
    """Return a quoted name for a statement that has parameters, which begin with %."""
    return name.replace("%", "%%")


def columns_of(conn: Connection, table: str) -> dict[str, str]:
    """Return the types of the writable columns of a table, by name."""
    rows = conn.execute(
        "SELECT attname, format_type(atttypid, atttypmod) FROM pg_attribute "
        "WHERE attrelid = to_regclass(%s) AND attnum > 0 AND NOT attisdropped "
        "AND attgenerated = '' ORDER BY attnum",
        [table],
    ).fetchall()
    return {str(name): str(kind) for name, kind in rows}


def full_name(conn: Connection, table: str) -> str:
    """Return the name of an existing table with its schema, for any search path."""
    (row,) = conn.execute(
        "SELECT format('%%I.%%I', n.nspname, c.relname) FROM pg_class c "
        "JOIN pg_namespace n ON n.oid = c.relnamespace WHERE c.oid = to_regclass(%s)",
        [table],
    ).fetchall()
    return str(row[0])


def may_read(conn: Connection, table: str) -> bool:
    """Whether a table exists, and this user may read it."""
    row = conn.execute("SELECT has_table_privilege(to_regclass(%s), 'SELECT')", [table]).fetchone()
    return row == (True,)


def refuse_other_vector_types(conn: Connection, table: str, column: str) -> None:
    """Refuse vectors that are not floating-point numbers. Raises `Unreadable`."""
    kind = columns_of(conn, table).get(column, "")
    if not kind.startswith(_VECTOR_TYPES):
        raise Unreadable(f"slowwave does not know vectors of the type {kind}.")


def as_bytes(vector: str) -> bytes:
    """Return a vector of pgvector as little-endian float32."""
    numbers = json.loads(vector)
    return struct.pack(f"<{len(numbers)}f", *numbers)


def as_literal(vector: bytes) -> str:
    """Return little-endian float32 as pgvector reads it."""
    return json.dumps(struct.unpack(f"<{len(vector) // 4}f", vector))
