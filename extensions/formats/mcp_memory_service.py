"""mcp-memory-service's sqlite_vec.db: a row a memory, which another one may supersede.

mcp-memory-service 12.2.0. `superseded_by` holds the content hash of the memory that stands for this
one, and hides it from every search. A text that is stored again is refused while a row of it is
there, hidden or not; so what another value replaced, and what leaves by itself since it expired or
was archived, is deleted as the package deletes: it stays as a row with a time in `deleted_at`, and
loses its vector. Its agent's metadata is never touched.
"""

from __future__ import annotations

import json
import sqlite3
from base64 import b64decode, b64encode
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from hashlib import sha256
from typing import Any, ClassVar

from slowwave.store.records import timestamp

from .base import Image, New, Record, Unreadable
from .database import TriedSchema
from .lent_model import LONGEST_SAMPLE, SAMPLES_AT_EITHER_END
from .rows import Leaving
from .sqlite_file import SqliteFormat
from .vec0 import Vec0Table, vec0_table

# Tags by which its own consolidation leaves a memory alone.
_PROTECTED = frozenset({"critical", "important", "reference", "permanent"})
# What stands in the metadata of a row that slowwave wrote.
_MARK = "slowwave"
_FULL_TEXT = "memory_content_fts"
_TENANT = "coalesce(nullif(trim(coalesce(store, '') || ' ' || coalesce(memory_type, '')), ''), ?)"
_NOW = "(julianday('now') - 2440587.5) * 86400.0"


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
    schema_query = "SELECT max(version) FROM migration_registry"
    schema = TriedSchema(19, "12.2.0")

    def read(self, db: sqlite3.Connection) -> Iterator[Record]:
        """Yield what a search would find."""
        _refuse_synced(db)
        for row in db.execute(
            "SELECT content_hash, content, tags, memory_type, store, created_at FROM memories "
            f"WHERE deleted_at IS NULL AND coalesce(superseded_by, '') = '' {_found(db)}ORDER BY id"
        ):
            key, content, tags, kind, store, created = row
            protected = _PROTECTED & set(_tags(tags))
            yield Record(
                key,
                " ".join(filter(None, (store, kind))) or "default",
                content,
                timestamp(datetime.fromtimestamp(created or 0, UTC)),
                pinned=bool(protected),
            )

    def samples(self, db: sqlite3.Connection) -> list[tuple[str, bytes]]:
        """Return texts of the oldest and of the latest rows, with their vectors."""
        vectors = _vectors(db)
        rows = [
            db.execute(
                f"SELECT id, content FROM memories WHERE deleted_at IS NULL {_found(db)}"
                f"AND length(content) <= ? ORDER BY id {order} LIMIT ?",
                [LONGEST_SAMPLE, SAMPLES_AT_EITHER_END],
            ).fetchall()
            for order in ("ASC", "DESC")
        ]
        found = {content: vectors.read(rowid) for some in rows for rowid, content in some}
        return [(text, vector) for text, vector in found.items() if vector is not None]

    def put(self, db: sqlite3.Connection, new: New) -> str:
        """Add a row like those in whose place it comes, as late as the latest of them."""
        key = _hash(new.text)
        if _is_known(db, key):
            there = _row(db, key)
            # The package compares texts without regard to capitals.
            if _is_ours(there["metadata"]) and there["content"] != new.text:
                raise Unreadable(
                    f"The file takes this for what it has already: '{there['content']}'."
                )
            db.execute("UPDATE memories SET superseded_by = NULL WHERE content_hash = ?", [key])
            return key
        vector, vectors = self._vector(db, new.text), _vectors(db)
        _make_room(db, key)
        row = self._row_like(db, new) | {"content_hash": key, "content": new.text}
        rowid = _insert(db, row)
        vectors.remove(rowid)
        vectors.insert(rowid, vector, row["store"])
        return key

    def _row_like(self, db: sqlite3.Connection, new: New) -> dict[str, Any]:
        """Return what the rows in whose place a text comes say besides their texts."""
        columns = "tags, memory_type, store, created_at, created_at_iso"
        replaced = db.execute(
            f"SELECT {columns} FROM memories "
            "WHERE content_hash IN (SELECT value FROM json_each(?)) ORDER BY created_at, id",
            [json.dumps(new.replaces)],
        ).fetchall()
        alike = (
            replaced
            or db.execute(
                "SELECT '', memory_type, store, now, "
                "strftime('%Y-%m-%dT%H:%M:%fZ', now, 'unixepoch') "
                f"FROM memories, (SELECT {_NOW} AS now) WHERE {_TENANT} = ? LIMIT 1",
                ["default", new.tenant],
            ).fetchall()
        )
        if not alike:
            raise Unreadable(f"There is no place in the file for what '{new.tenant}' is to hold.")
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

    def can_rewrite(self, db: sqlite3.Connection, key: str, new: New) -> bool:
        """Whether it has slowwave's mark, and no other row is known by the new text."""
        now = _hash(new.text)
        return _is_ours(_row(db, key)["metadata"]) and (now == key or not _is_known(db, now))

    def rewrite(
        self, db: sqlite3.Connection, key: str, new: New, former: Image | None
    ) -> tuple[str, Image]:
        """Keep the row's number and whatever it says besides its text.

        It is known by another hash then, as the rows are told that it supersedes.
        """
        now, row, vectors = _hash(new.text), _row(db, key), _vectors(db)
        kept = former and former["vector"]
        vector = b64decode(kept) if kept else self._vector(db, new.text)
        # Deleted and inserted: a changed text would damage the search index, see `_delete`.
        _delete(db, key)
        _make_room(db, now)
        _insert(db, row | {"content_hash": now, "content": new.text})
        lost = vectors.remove(row["id"])
        vectors.insert(row["id"], vector, row["store"])
        _supersede_by(db, key, now)
        return now, {"vector": _text(lost)}

    def _vector(self, db: sqlite3.Connection, text: str) -> bytes:
        model = self.model_of(db)
        if model is None:
            raise Unreadable("A new text would need a vector.")
        return model.vector(text)

    def retire(self, db: sqlite3.Connection, leaving: Leaving) -> Image:
        """Mark it as superseded; what nothing replaces is deleted, a row of slowwave's whole."""
        key, successor = leaving.key, leaving.successor
        row = _row(db, key)
        image: Image = {"key": key, "superseded_by": row["superseded_by"]}
        if _is_ours(row["metadata"]) and (successor is None or leaving.is_rewritten):
            image |= {"row": row, "vector": _text(_vectors(db).remove(row["id"]))}
            _delete(db, key)
            _supersede_by(db, key, successor)
            return image
        if successor is not None:
            db.execute(
                "UPDATE memories SET superseded_by = ? WHERE content_hash = ?", [successor, key]
            )
        if leaving.is_outdated or successor is None:
            vector = _vectors(db).remove(row["id"])
            (now,) = db.execute(f"SELECT {_NOW}").fetchone()
            db.execute("UPDATE memories SET deleted_at = ? WHERE content_hash = ?", [now, key])
            image |= {"row": row, "vector": _text(vector), "deleted_at": now}
        return image

    def bring_back(self, db: sqlite3.Connection, image: Image) -> str:
        """Show or insert the row again, with its vector."""
        key = str(image["key"])
        there = db.execute(
            "SELECT deleted_at, superseded_by FROM memories WHERE content_hash = ?", [key]
        ).fetchone()
        if "row" not in image:
            if there is None or there[0] is not None:
                raise Unreadable("Its agent deleted it.")
            self._show(db, image)
        elif there is None:
            rowid = _insert(db, _with_a_free_id(db, image["row"]))
            _keep_vector(db, rowid, image)
        elif there[0] is not None and (there[1] or there[0] == image.get("deleted_at")):
            # As `retire` left it: what its agent deleted is not hidden, and has another time.
            db.execute("UPDATE memories SET deleted_at = NULL WHERE content_hash = ?", [key])
            self._show(db, image)
            _keep_vector(db, _row(db, key)["id"], image)
        elif there[0] is not None:
            raise Unreadable("Its agent deleted it.")
        return key

    def _show(self, db: sqlite3.Connection, image: Image) -> None:
        db.execute(
            "UPDATE memories SET superseded_by = ? WHERE content_hash = ?",
            [image["superseded_by"], image["key"]],
        )


def _hash(text: str) -> str:
    """Return what the package knows a text by."""
    return sha256(text.strip().lower().encode()).hexdigest()


def _tags(tags: str | None) -> list[str]:
    return [one.strip() for one in (tags or "").split(",") if one.strip()]


def _is_ours(metadata: str | None) -> bool:
    try:
        found: Any = json.loads(metadata or "{}")
    except ValueError:
        return False
    return isinstance(found, dict) and found.get(_MARK) is True


def _vectors(db: sqlite3.Connection) -> Vec0Table:
    found = vec0_table(db, "memory_embeddings", "content_embedding")
    if found is None:
        raise Unreadable("The vectors of this file are not laid out as slowwave knows it.")
    return found


def _keep_vector(db: sqlite3.Connection, rowid: int, image: Image) -> None:
    if image["vector"] is not None:
        vectors = _vectors(db)
        vectors.remove(rowid)
        vectors.insert(rowid, b64decode(image["vector"]), image["row"]["store"])


def _text(vector: bytes | None) -> str | None:
    return None if vector is None else b64encode(vector).decode()


def _row(db: sqlite3.Connection, key: str) -> dict[str, Any]:
    cursor = db.execute("SELECT * FROM memories WHERE content_hash = ?", [key])
    row = cursor.fetchone()
    if row is None:
        raise Unreadable("What should leave is not in the file any more.")
    return dict(zip((one[0] for one in cursor.description), row, strict=True))


def _is_known(db: sqlite3.Connection, key: str) -> bool:
    """Whether there is a row of this hash that is not deleted, hidden or not."""
    sql = "SELECT 1 FROM memories WHERE content_hash = ? AND deleted_at IS NULL"
    return db.execute(sql, [key]).fetchone() is not None


def _make_room(db: sqlite3.Connection, key: str) -> None:
    """Let a deleted row of this hash go, as the package does when its text is stored again."""
    if db.execute("SELECT 1 FROM memories WHERE content_hash = ?", [key]).fetchone():
        _delete(db, key)


def _supersede_by(db: sqlite3.Connection, key: str, successor: str | None) -> None:
    """Let the rows that one superseded be superseded by another; by None they are shown."""
    db.execute("UPDATE memories SET superseded_by = ? WHERE superseded_by = ?", [successor, key])


def _with_a_free_id(db: sqlite3.Connection, row: Mapping[str, Any]) -> dict[str, Any]:
    """Return a row as it was, without its id if another row has that now."""
    taken = db.execute("SELECT 1 FROM memories WHERE id = ?", [row["id"]]).fetchone()
    return {name: value for name, value in row.items() if name != "id" or not taken}


def _insert(db: sqlite3.Connection, row: Mapping[str, Any]) -> int:
    places = ", ".join("?" * len(row))
    done = db.execute(
        f"INSERT INTO memories ({', '.join(row)}) VALUES ({places})", list(row.values())
    )
    return int(done.lastrowid or 0)


def _delete(db: sqlite3.Connection, key: str) -> None:
    """Delete a row; its text leaves the search index first.

    The package's own trigger looks the text up when the row is gone already, and damages the index.
    """
    row = _row(db, key)
    if db.execute("SELECT 1 FROM sqlite_schema WHERE name = ?", [_FULL_TEXT]).fetchone():
        db.execute(
            f"INSERT INTO {_FULL_TEXT} ({_FULL_TEXT}, rowid, content) VALUES ('delete', ?, ?)",
            [row["id"], row["content"]],
        )
    db.execute("DELETE FROM memories WHERE content_hash = ?", [key])


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
