"""mcp-memory-service's sqlite_vec.db: a row a memory, which another one may supersede.

mcp-memory-service 12.2.0. `superseded_by` holds the content hash of the memory that stands for this
one, and hides it from every search. The vectors of its sqlite-vec table are not touched: they are
not ours to read without that extension, and a hidden row keeps its vector.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from typing import ClassVar

from slowwave.store.records import timestamp

from .base import Image, Record, Unreadable
from .sqlite_file import Schema, SqliteFormat

# Tags by which its own consolidation leaves a memory alone.
_PROTECTED = frozenset({"critical", "important", "reference", "permanent"})


class McpMemoryService(SqliteFormat):
    """A database of mcp-memory-service."""

    name = "mcp-memory-service"
    about = "mcp-memory-service's sqlite_vec.db"
    holds = "a row; what another one says as well is marked as superseded by it"
    tables: ClassVar[Mapping[str, frozenset[str]]] = {
        "memories": frozenset(
            {"content_hash", "content", "tags", "created_at", "deleted_at", "superseded_by"}
        )
    }
    schema = Schema("SELECT max(version) FROM migration_registry", 19, "12.2.0")

    def read(self, db: sqlite3.Connection) -> Iterator[Record]:
        """Yield what a search would find."""
        _refuse_synced(db)
        for row in db.execute(
            "SELECT content_hash, content, tags, memory_type, store, created_at FROM memories "
            f"WHERE deleted_at IS NULL AND coalesce(superseded_by, '') = '' {_found(db)}ORDER BY id"
        ):
            key, content, tags, kind, store, created = row
            protected = _PROTECTED & {one.strip() for one in (tags or "").split(",")}
            yield Record(
                key,
                " ".join(filter(None, (store, kind))) or "default",
                content,
                timestamp(datetime.fromtimestamp(created or 0, UTC)),
                pinned=bool(protected),
            )

    def retire(self, db: sqlite3.Connection, key: str, heir: str | None) -> Image:
        """Let it be superseded by the memory that says the same."""
        if heir is None:
            raise Unreadable("Nothing in the file says what should leave.")
        (before,) = db.execute(
            "SELECT superseded_by FROM memories WHERE content_hash = ?", [key]
        ).fetchone()
        db.execute("UPDATE memories SET superseded_by = ? WHERE content_hash = ?", [heir, key])
        return {"key": key, "superseded_by": before}

    def bring_back(self, db: sqlite3.Connection, image: Image) -> str:
        """Let it be superseded by nothing, as before."""
        done = db.execute(
            "UPDATE memories SET superseded_by = ? WHERE content_hash = ? AND deleted_at IS NULL",
            [image["superseded_by"], image["key"]],
        )
        if done.rowcount != 1:
            raise Unreadable("A memory that should come back was deleted by its agent.")
        return str(image["key"])


def _found(db: sqlite3.Connection) -> str:
    """Leave out rows that wait for a vector, where there can be some: no search finds them."""
    columns = {row[1] for row in db.execute("PRAGMA table_info(memories)")}
    return "AND coalesce(embedding_pending, 0) = 0 " if "embedding_pending" in columns else ""


def _refuse_synced(db: sqlite3.Connection) -> None:
    """Refuse a file that is one of several copies: the others would not hear of a change."""
    tables = {row[0] for row in db.execute("SELECT name FROM sqlite_schema WHERE type = 'table'")}
    for table in {"sync_events", "sync_cursor", "push_cursor"} & tables:
        if db.execute(f"SELECT 1 FROM {table} LIMIT 1").fetchone():
            raise Unreadable(
                "This file is kept in step with copies of it, which would not hear of a change.",
                "Maintain the copy that the others follow, with its synchronisation off.",
            )
