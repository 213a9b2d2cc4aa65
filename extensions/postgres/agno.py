"""agno's PostgresDb with the memories of its users.

agno 3.1.10. A memory is a row of the table agno_memories, in the schema "ai" by default, with a
JSON string; the package finds a user's memories by the column user_id, for all agents. It has no
vectors. Memories without a user are left alone.
"""

from __future__ import annotations

import uuid
from collections.abc import Sequence
from typing import TYPE_CHECKING

from slowwave.extensions.formats.base import Image, New, Record
from slowwave.extensions.formats.database import OURS, key_of, moment_since_epoch, place_of

from .format import PostgresFormat
from .table import MemoryTable, columns_of, escaped, full_name, may_read
from .whole_rows import Row, WholeRows

if TYPE_CHECKING:
    from .connection import Connection

_TABLE = "agno_memories"
_COLUMNS = {
    "memory_id": "character varying",
    "memory": "jsonb",
    "input": "text",
    "agent_id": "character varying",
    "team_id": "character varying",
    "user_id": "character varying",
    "topics": "jsonb",
    "feedback": "text",
    "created_at": "bigint",
    "updated_at": "bigint",
}


class _UserMemories(WholeRows):
    """The memories of a user."""

    tenants_are = "A tenant is a user, identified by user_id."
    id, id_type = "memory_id", "text"
    said_at = "coalesce(updated_at, created_at)"

    def record_of(self, row: Row) -> Record:
        """Return a row as a memory with the time of its last change."""
        key = key_of(self._tenant, row["memory_id"], row["memory"])
        observed_at = moment_since_epoch(row["updated_at"] or row["created_at"])
        return Record(key, self._tenant, row["memory"], observed_at)

    def row_with_text(self, new: New, replaced: Sequence[Row]) -> Row:
        """Return a row with the topics of all replaced rows, and the times of the latest."""
        now = self._value("SELECT extract(epoch FROM now())::bigint")
        latest = replaced[-1] if replaced else {"created_at": now, "updated_at": now}
        topics = dict.fromkeys(
            topic for row in replaced for topic in row["topics"] or () if isinstance(topic, str)
        )
        return {
            "memory_id": f"{OURS}{uuid.uuid4()}",
            "memory": new.text,
            "topics": list(topics) or None,
            "user_id": self._tenant,
            "agent_id": _common("agent_id", replaced),
            "team_id": _common("team_id", replaced),
            "created_at": latest["created_at"],
            "updated_at": latest["updated_at"],
        }

    def rewrite(self, key: str, new: New, former: Image | None) -> tuple[str, Image]:
        """Keep the columns of the row except its text."""
        _, name = place_of(key)
        self._conn.execute(
            f"UPDATE {self._table.in_statement} SET memory = to_jsonb(%s::text) "
            "WHERE memory_id = %s",
            [new.text, name],
        )
        return key_of(self._tenant, name, new.text), {}


class Agno(PostgresFormat):
    """A user's memories in agno's database."""

    name = "agno"
    about = "agno's PostgresDb with the memories of its users"
    holds = "a row of agno_memories; a user is a tenant"
    schema = 3, "3.1.10"
    rows = _UserMemories
    tables_are = f"The table {_TABLE} is expected in the search path or in the schema ai."

    def find(self, conn: Connection) -> list[MemoryTable]:
        """Return the tables with that name, in the search path and in the package's own schema."""
        names = {
            full_name(conn, table)
            for table in (_TABLE, f"ai.{_TABLE}")
            if columns_of(conn, table).items() >= _COLUMNS.items()
        }
        is_memory = "jsonb_typeof(memory) = 'string' AND user_id <> ''"
        return [MemoryTable(name, "user_id", "memory_id", is_memory) for name in sorted(names)]

    def number(self, conn: Connection, table: MemoryTable) -> int | None:
        """Return the first part of the schema's version."""
        schema, _, _ = table.name.rpartition(".")
        versions = f"{schema}.agno_schema_versions"
        if not may_read(conn, versions):
            return None
        row = conn.execute(
            f"SELECT max(split_part(version, '.', 1)::int) FROM {escaped(versions)} "
            "WHERE table_name = %s AND version ~ '^[0-9]+[.]'",
            [_TABLE],
        ).fetchone()
        return row[0] if row else None


def _common(column: str, rows: Sequence[Row]) -> str | None:
    """Return the value that all rows have in a column; None if they differ."""
    values = {row[column] for row in rows}
    return values.pop() if len(values) == 1 else None
