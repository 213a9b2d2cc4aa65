"""mcp-memory-service's sqlite_vec.db: a row per memory, which another may supersede.

mcp-memory-service 12.2.0. `superseded_by` contains the content hash of the memory that replaces a
row, and hides the row from every search. The package refuses a text of which there is a row, hidden
or not. So an outdated value, and what expired or was archived, is deleted as the package deletes:
the row stays with a time in `deleted_at`, without its vector. The agent's metadata does not change.
"""

from __future__ import annotations

import json
from base64 import b64decode, b64encode
from collections.abc import Iterator, Mapping
from functools import cached_property
from hashlib import sha256
from typing import Any, ClassVar

from .base import NEXT_RUN, Image, New, Record, RemovedEntry, TooFull, Unreadable
from .database import moment_since_epoch
from .sqlite_file import OpenSqlite, SqliteFormat
from .vec0 import Vec0Table, vec0_table
from .vector_model import MAX_SAMPLE, SAMPLES_AT_EITHER_END

# The package's own consolidation leaves memories with these tags alone.
_PROTECTED = frozenset({"critical", "important", "reference", "permanent"})
# A key in the metadata of rows that slowwave wrote.
_MARK = "slowwave"
_FULL_TEXT = "memory_content_fts"
_TENANT = "coalesce(nullif(trim(coalesce(store, '') || ' ' || coalesce(memory_type, '')), ''), ?)"
_NOW = "(julianday('now') - 2440587.5) * 86400.0"


class _Memories(OpenSqlite):
    """A database of mcp-memory-service, within a transaction."""

    def read(self) -> Iterator[Record]:
        """Yield what a search would find."""
        self._refuse_synced()
        for row in self.db.execute(
            "SELECT content_hash, content, tags, memory_type, store, created_at FROM memories "
            "WHERE deleted_at IS NULL AND coalesce(superseded_by, '') = '' "
            f"AND typeof(content) = 'text' {self._has_vector}ORDER BY id"
        ):
            key, content, tags, kind, store, created = row
            yield Record(
                key,
                " ".join(map(str, filter(None, (store, kind)))) or "default",
                content,
                moment_since_epoch(created),
                pinned=not _PROTECTED.isdisjoint(_tags(tags)),
            )

    def samples(self) -> list[tuple[str, bytes]]:
        rows = [
            row
            for order in ("ASC", "DESC")
            for row in self.db.execute(
                "SELECT id, content FROM memories WHERE deleted_at IS NULL "
                f"AND typeof(content) = 'text' {self._has_vector}"
                f"AND length(content) <= ? ORDER BY id {order} LIMIT ?",
                [MAX_SAMPLE, SAMPLES_AT_EITHER_END],
            ).fetchall()
        ]
        vector_by_text = {content: self._vectors.read(rowid) for rowid, content in rows}
        return [(text, vector) for text, vector in vector_by_text.items() if vector is not None]

    def insert(self, new: New) -> str:
        """Add a row like those that it replaces, with the time of the latest."""
        key = _hash(new.text)
        existing_row = self._find(key)
        if existing_row is not None and existing_row["deleted_at"] is None:
            # The package ignores case when it compares texts, and finds hidden rows.
            if existing_row["content"] != new.text or existing_row["superseded_by"]:
                raise TooFull(
                    f"Its agent would treat it as a duplicate of '{existing_row['content']}'."
                )
            return key
        vector = self._encode(new.text)
        if existing_row is not None:  # as the package does before it stores a text
            self._delete(key)
        row = self._row_like(new) | {"content_hash": key, "content": new.text}
        rowid = self._insert_row(row)
        self._vectors.remove(rowid)
        self._vectors.insert(rowid, vector, row["store"])
        return key

    def can_rewrite(self, key: str, new: New) -> bool:
        now = _hash(new.text)
        same = None if now == key else self._find(now)
        is_free = same is None or same["deleted_at"] is not None
        return is_free and _is_ours(self._row(key)["metadata"])

    def rewrite(self, key: str, new: New, former: Image | None) -> tuple[str, Image]:
        """Keep the row's id and columns except its text, and update rows that it superseded."""
        now, row = _hash(new.text), self._row(key)
        stored_vector = former and former["vector"]
        vector = b64decode(stored_vector) if stored_vector else self._encode(new.text)
        # Deleted and inserted: a changed text would damage the search index, see `_delete`.
        self._delete(key)
        if self._find(now) is not None:
            self._delete(now)
        self._insert_row(row | {"content_hash": now, "content": new.text})
        removed = self._vectors.remove(row["id"])
        self._vectors.insert(row["id"], vector, row["store"])
        self._supersede(key, now, "superseded_by")
        return now, {"vector": _to_text(removed)}

    def hide(self, removal: RemovedEntry, successor: str | None) -> Image:
        """Mark it as superseded; without a successor delete it, completely if slowwave added it."""
        key = removal.key
        row = self._row(key)
        image: Image = {"key": key, "superseded_by": row["superseded_by"]}
        if _is_ours(row["metadata"]) and (successor is None or removal.is_rewritten):
            image |= {"row": row, "vector": _to_text(self._vectors.remove(row["id"]))}
            self._delete(key)
            self._supersede(key, successor, "superseded_by")
            return image
        if successor is not None:
            self._supersede(key, successor)
        if removal.is_outdated or successor is None:
            vector = self._vectors.remove(row["id"])
            (now,) = self.db.execute(f"SELECT {_NOW}").fetchone()
            self.db.execute("UPDATE memories SET deleted_at = ? WHERE content_hash = ?", [now, key])
            image |= {"row": row, "vector": _to_text(vector), "deleted_at": now}
        return image

    def restore(self, image: Image) -> str:
        """Show or insert the row again, with its vector."""
        key = str(image["key"])
        row = self._find(key)
        if "row" not in image:
            if row is None or row["deleted_at"] is not None:
                raise Unreadable("mcp-memory-service has deleted this memory since.")
            if "superseded_by" in image:  # otherwise a new text was the same, and the row stayed
                self._supersede(key, image["superseded_by"])
        elif row is None:
            taken = self.db.execute("SELECT 1 FROM memories WHERE id = ?", [image["row"]["id"]])
            without = {"id"} if taken.fetchone() else set()
            values = {name: value for name, value in image["row"].items() if name not in without}
            self._restore_vector(self._insert_row(values), image)
        elif row["deleted_at"] is not None:
            # A row that `hide` deleted is hidden, or has the image's time; others the agent did.
            if not row["superseded_by"] and row["deleted_at"] != image.get("deleted_at"):
                raise Unreadable("mcp-memory-service has deleted this memory since.")
            self.db.execute("UPDATE memories SET deleted_at = NULL WHERE content_hash = ?", [key])
            self._supersede(key, image["superseded_by"])
            self._restore_vector(row["id"], image)
        return key

    def erase(self, image: Image) -> None:
        """Delete a row that is marked as superseded or deleted."""
        key = str(image["key"])
        row = self._find(key)
        if row is not None and (row["superseded_by"], row["deleted_at"]) != (None, None):
            self._vectors.remove(row["id"])
            self._delete(key)

    @cached_property
    def _vectors(self) -> Vec0Table:
        table = vec0_table(self.db, "memory_embeddings", "content_embedding")
        if table is None:
            raise Unreadable("The vectors in this file have a layout that slowwave does not know.")
        return table

    @cached_property
    def _has_vector(self) -> str:
        """SQL that omits rows whose vector is still to be computed, where there can be any."""
        columns = {row[1] for row in self.db.execute("PRAGMA table_info(memories)")}
        return "AND coalesce(embedding_pending, 0) = 0 " if "embedding_pending" in columns else ""

    def _encode(self, text: str) -> bytes:
        assert self.vector_model is not None  # noqa: S101 - each row has a vector
        return self.vector_model.vector(text)

    def _row_like(self, new: New) -> dict[str, Any]:
        """Return the columns, except the text, of a row that replaces others."""
        columns = "tags, memory_type, store, created_at, created_at_iso"
        alike = self.db.execute(
            f"SELECT {columns} FROM memories "
            "WHERE content_hash IN (SELECT value FROM json_each(?)) ORDER BY created_at, id",
            [json.dumps(new.replaces)],
        ).fetchall()
        if not alike:
            alike = self.db.execute(
                "SELECT '', memory_type, store, now, "
                "strftime('%Y-%m-%dT%H:%M:%fZ', now, 'unixepoch') "
                f"FROM memories, (SELECT {_NOW} AS now) WHERE {_TENANT} = ? LIMIT 1",
                ["default", new.tenant],
            ).fetchall()
        if not alike:
            raise Unreadable(f"The file no longer has a memory of type '{new.tenant}'.", NEXT_RUN)
        _, kind, store, created, created_iso = alike[-1]
        tags = dict.fromkeys(tag for row in alike for tag in _tags(row[0]))
        return {
            "tags": ",".join(tags),
            "memory_type": kind,
            "metadata": json.dumps({_MARK: True, "source_memory_hashes": list(new.replaces)}),
            "created_at": created,
            "updated_at": created,
            "created_at_iso": created_iso,
            "updated_at_iso": created_iso,
            "store": store,
        }

    def _find(self, key: str) -> dict[str, Any] | None:
        """Return the row with this hash, hidden and deleted ones included."""
        cursor = self.db.execute("SELECT * FROM memories WHERE content_hash = ?", [key])
        row = cursor.fetchone()
        names = (column[0] for column in cursor.description)
        return None if row is None else dict(zip(names, row, strict=True))

    def _row(self, key: str) -> dict[str, Any]:
        row = self._find(key)
        if row is None:
            raise Unreadable("A memory to remove is no longer in the file.", NEXT_RUN)
        return row

    def _insert_row(self, row: Mapping[str, Any]) -> int:
        marks = ", ".join("?" * len(row))
        cursor = self.db.execute(
            f"INSERT INTO memories ({', '.join(row)}) VALUES ({marks})", list(row.values())
        )
        return int(cursor.lastrowid or 0)

    def _delete(self, key: str) -> None:
        """Delete a row after its text was removed from the search index.

        The package's own trigger reads the text when the row is already gone, and damages the
        index.
        """
        row = self._row(key)
        if self.db.execute("SELECT 1 FROM sqlite_schema WHERE name = ?", [_FULL_TEXT]).fetchone():
            self.db.execute(
                f"INSERT INTO {_FULL_TEXT} ({_FULL_TEXT}, rowid, content) VALUES ('delete', ?, ?)",
                [row["id"], row["content"]],
            )
        self.db.execute("DELETE FROM memories WHERE content_hash = ?", [key])

    def _supersede(self, key: str, successor: str | None, where: str = "content_hash") -> None:
        """Let another row supersede a row, or those that it superseded; None shows them."""
        sql = f"UPDATE memories SET superseded_by = ? WHERE {where} = ?"
        self.db.execute(sql, [successor, key])

    def _restore_vector(self, rowid: int, image: Image) -> None:
        if image["vector"] is not None:
            self._vectors.remove(rowid)
            self._vectors.insert(rowid, b64decode(image["vector"]), image["row"]["store"])

    def _refuse_synced(self) -> None:
        """Refuse a replicated file, since its replicas would not receive the change."""
        tables = self.db.execute("SELECT name FROM sqlite_schema WHERE type = 'table'")
        names = {name for (name,) in tables.fetchall()}
        for table in {"sync_events", "sync_cursor", "push_cursor"} & names:
            if self.db.execute(f"SELECT 1 FROM {table} LIMIT 1").fetchone():
                raise Unreadable(
                    "This database is synchronized; its replicas would not receive the change.",
                    "Maintain the database that the replicas follow, with synchronization off.",
                )


class McpMemoryService(SqliteFormat):
    """A database of mcp-memory-service."""

    name = "mcp-memory-service"
    about = "mcp-memory-service's sqlite_vec.db"
    holds = "a row; a duplicate is marked as superseded"
    tables: ClassVar[Mapping[str, frozenset[str]]] = {
        "memories": frozenset(
            {"content_hash", "content", "tags", "created_at", "deleted_at", "superseded_by"}
        )
    }
    schema_query = "SELECT max(version) FROM migration_registry"
    schema = 19, "12.2.0"
    rows = _Memories


def _hash(text: str) -> str:
    """Return the hash by which the package identifies a text."""
    return sha256(text.strip().lower().encode()).hexdigest()


def _tags(tags: str | None) -> list[str]:
    return [tag.strip() for tag in str(tags or "").split(",") if tag.strip()]


def _is_ours(metadata: str | None) -> bool:
    try:
        fields: Any = json.loads(metadata or "{}")
    except ValueError:
        return False
    return isinstance(fields, dict) and fields.get(_MARK) is True


def _to_text(vector: bytes | None) -> str | None:
    return None if vector is None else b64encode(vector).decode()
