"""LangGraph's SqliteStore, as far as LangMem's memories stand in it.

langgraph-checkpoint-sqlite 3.1.2. A memory is a value {"content": "..."} or {"kind": "Memory",
"content": {"content": "..."}}; profiles and whatever has another form are left alone. What leaves
moves, with its vectors, to the namespace slowwave_superseded: no search of its own finds it there.
A text is added to a store without an index of vectors: to another, no search would find it.
"""

from __future__ import annotations

import json
import sqlite3
import uuid
from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime
from hashlib import sha256
from pathlib import Path
from typing import Any, ClassVar

from slowwave.store.records import timestamp

from .base import Image, New, Record, Unreadable
from .sqlite_file import Schema, SqliteFormat, connected

_ARCHIVE = "slowwave_superseded"
# How the keys of texts that we added begin: these do not move, they go.
_OURS = "slowwave-"
_COLUMNS = "prefix, key, CAST(value AS text), created_at, updated_at"


class LangGraph(SqliteFormat):
    """A store of LangGraph."""

    name = "langgraph"
    about = "LangGraph's SqliteStore with LangMem's memories"
    holds = "a value of LangMem's form; nothing is joined across namespaces"
    tables: ClassVar[Mapping[str, frozenset[str]]] = {
        "store": frozenset({"prefix", "key", "value", "created_at", "updated_at"})
    }
    schema = Schema("SELECT max(v) FROM store_migrations", 4, "3.1.2")

    def read(self, db: sqlite3.Connection) -> Iterator[Record]:
        """Yield the values that are memories, and do not end by themselves."""
        for prefix, key, value, created in db.execute(
            "SELECT prefix, key, value, created_at FROM store WHERE expires_at IS NULL "
            "AND prefix <> ?1 AND substr(prefix, 1, length(?1) + 1) <> ?1 || '.' "
            "ORDER BY prefix, key",
            [_ARCHIVE],
        ):
            text = _text_of(value)
            if text is not None:
                yield Record(_key(prefix, key, text), prefix, text, _time(created))

    def takes_texts(self, path: Path) -> bool:
        """Whether there are no vectors in it."""
        try:
            with connected(path, "ro") as db:
                return not _has_vectors(db)
        except sqlite3.Error:
            return False

    def put(self, db: sqlite3.Connection, new: New) -> str:
        """Add a value like those in whose place it comes, and as late as the latest of them."""
        if _has_vectors(db):
            raise Unreadable("A text that is added to this file would need a vector.")
        named = [json.loads(key)[:2] for key in new.replaces]
        rows = [
            db.execute(f"SELECT {_COLUMNS} FROM store WHERE prefix = ? AND key = ?", one).fetchone()
            for one in named
        ]
        _, _, last, created, _ = max(rows, key=lambda row: str(row[3]), default=_NEW)
        content = {"content": new.text}
        value = {"kind": "Memory", "content": content} if "kind" in json.loads(last) else content
        name = f"{_OURS}{uuid.uuid4()}"
        self._insert(db, [new.tenant, name, _spelled(value), created, created])
        return _key(new.tenant, name, new.text)

    def _insert(self, db: sqlite3.Connection, row: Sequence[str | None]) -> None:
        db.execute(
            "INSERT INTO store (prefix, key, value, created_at, updated_at) VALUES (?1, ?2, "
            "CAST(?3 AS blob), coalesce(?4, CURRENT_TIMESTAMP), coalesce(?5, CURRENT_TIMESTAMP))",
            row,
        )

    def retire(self, db: sqlite3.Connection, key: str, heir: str | None) -> Image:
        """Move it to the archive; what we added ourselves goes."""
        prefix, name, _ = json.loads(key)
        if name.startswith(_OURS):
            where = "WHERE prefix = ? AND key = ?"
            row = db.execute(f"SELECT {_COLUMNS} FROM store {where}", [prefix, name]).fetchone()
            db.execute(f"DELETE FROM store {where}", [prefix, name])
            return {"key": key, "row": list(row)}
        self._move(db, prefix, f"{_ARCHIVE}.{prefix}", name)
        return {"key": key}

    def bring_back(self, db: sqlite3.Connection, image: Image) -> str:
        """Move it to where it was."""
        prefix, name, _ = json.loads(str(image["key"]))
        if "row" in image:
            self._insert(db, image["row"])
            return str(image["key"])
        self._move(db, f"{_ARCHIVE}.{prefix}", prefix, name)
        return str(image["key"])

    def _move(self, db: sqlite3.Connection, source: str, target: str, key: str) -> None:
        tables = {row[0] for row in db.execute("SELECT name FROM sqlite_schema")}
        if db.execute("SELECT 1 FROM store WHERE prefix = ? AND key = ?", [target, key]).fetchone():
            raise Unreadable(f"There is another '{key}' in the namespace {target} by now.")
        for table in ("store", *({"store_vectors"} & tables)):
            moved = db.execute(
                f"UPDATE {table} SET prefix = ? WHERE prefix = ? AND key = ?", [target, source, key]
            )
            if table == "store" and moved.rowcount != 1:
                raise Unreadable(f"'{key}' is not in the namespace {source} any more.")


# Where there is nothing in whose place it comes.
_NEW = ("", "", "{}", None, None)


def _key(prefix: str, name: str, text: str) -> str:
    said = sha256(text.encode(errors="surrogatepass")).hexdigest()[:16]
    return json.dumps([prefix, name, said])


def _spelled(value: object) -> str:
    """Return JSON as the package writes it."""
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def _has_vectors(db: sqlite3.Connection) -> bool:
    tables = {row[0] for row in db.execute("SELECT name FROM sqlite_schema")}
    if "store_vectors" not in tables:
        return False
    return db.execute("SELECT 1 FROM store_vectors LIMIT 1").fetchone() is not None


def _text_of(value: bytes | str) -> str | None:
    """Return what a memory says; None of a value of another form."""
    try:
        found: Any = json.loads(value)
    except ValueError:
        return None
    if isinstance(found, dict) and found.keys() == {"kind", "content"}:
        found = found["content"] if found["kind"] == "Memory" else None
    if not isinstance(found, dict) or found.keys() != {"content"}:
        return None
    return found["content"] if isinstance(found["content"], str) else None


def _time(text: str) -> str | None:
    try:
        moment = datetime.fromisoformat(text)
    except (TypeError, ValueError):
        return None
    return timestamp(moment if moment.tzinfo else moment.replace(tzinfo=UTC))
