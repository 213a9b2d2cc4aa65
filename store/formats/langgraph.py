"""LangGraph's SqliteStore, as far as LangMem's memories stand in it.

langgraph-checkpoint-sqlite 3.1.2. A memory is a value {"content": "..."} or {"kind": "Memory",
"content": {"content": "..."}}; profiles and whatever has another form are left alone. What leaves
moves, with its vectors, to the namespace slowwave_superseded: no search of its own finds it there.
"""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from hashlib import sha256
from typing import Any, ClassVar

from slowwave.store.records import timestamp

from .base import Image, Record, Unreadable
from .sqlite_file import Schema, SqliteFormat

_ARCHIVE = "slowwave_superseded"


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
                said = sha256(text.encode(errors="surrogatepass")).hexdigest()[:16]
                yield Record(json.dumps([prefix, key, said]), prefix, text, _time(created))

    def retire(self, db: sqlite3.Connection, key: str, heir: str | None) -> Image:
        """Move it to the archive."""
        prefix, name, _ = json.loads(key)
        self._move(db, prefix, f"{_ARCHIVE}.{prefix}", name)
        return {"key": key}

    def bring_back(self, db: sqlite3.Connection, image: Image) -> str:
        """Move it to where it was."""
        prefix, name, _ = json.loads(str(image["key"]))
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
