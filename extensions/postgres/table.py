"""Where a package keeps its memories: the table, and what SQL has to know of it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from slowwave.extensions.formats.base import Unreadable

if TYPE_CHECKING:
    from psycopg import Connection

# Of which types vectors can be written; others (bit) only move with their rows.
_VECTOR_TYPES = ("vector(", "halfvec(")


@dataclass(frozen=True)
class MemoryTable:
    """A table of memories. What is SQL stands in statements that have the table's row at hand."""

    # The schema and the name, as PostgreSQL quotes them where that is needed.
    name: str
    # SQL: whose a row is, what it is known by, and whether it is a memory.
    tenant: str
    key: str
    is_memory: str

    @property
    def in_statement(self) -> str:
        """The name in a statement that has parameters."""
        return escaped(self.name)

    @property
    def rows_version(self) -> str:
        """SQL: of a set of rows, of which version of which row each of them is."""
        return (
            f"count(*) || '-' || coalesce(sum(hashtextextended({self.key} || ' ' || xmin, 0)), 0)"
        )


def escaped(name: str) -> str:
    """Return a quoted name as a statement that has parameters takes it: a % begins one of them."""
    return name.replace("%", "%%")


def columns_of(conn: Connection[tuple[Any, ...]], table: str) -> dict[str, str]:
    """Return the types of the columns of a table that can be written, by their names."""
    rows = conn.execute(
        "SELECT attname, format_type(atttypid, atttypmod) FROM pg_attribute "
        "WHERE attrelid = to_regclass(%s) AND attnum > 0 AND NOT attisdropped "
        "AND attgenerated = '' ORDER BY attnum",
        [table],
    ).fetchall()
    return {str(name): str(kind) for name, kind in rows}


def full_name(conn: Connection[tuple[Any, ...]], table: str) -> str:
    """Return the name of a table that is there with its schema, whatever the search path is."""
    (row,) = conn.execute(
        "SELECT format('%%I.%%I', n.nspname, c.relname) FROM pg_class c "
        "JOIN pg_namespace n ON n.oid = c.relnamespace WHERE c.oid = to_regclass(%s)",
        [table],
    ).fetchall()
    return str(row[0])


def may_read(conn: Connection[tuple[Any, ...]], table: str) -> bool:
    """Whether a table is there, and this user may look into it."""
    row = conn.execute("SELECT has_table_privilege(to_regclass(%s), 'SELECT')", [table]).fetchone()
    return row == (True,)


def refuse_other_vector_types(conn: Connection[tuple[Any, ...]], table: str, column: str) -> None:
    """Refuse vectors that are not numbers of floating point. Raises `Unreadable`."""
    kind = columns_of(conn, table).get(column, "")
    if not kind.startswith(_VECTOR_TYPES):
        raise Unreadable(f"Vectors of the type {kind} are not known to slowwave.")
