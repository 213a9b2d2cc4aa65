"""LangGraph's SqliteStore, as far as LangMem's memories stand in it.

langgraph-checkpoint-sqlite 3.1.2. What leaves moves, with its vectors, to the namespace
slowwave_superseded: no search of its own finds it there.
A store with an index has a vector for each field that the agent chose: `$` is the value as JSON,
`content` or `content.content` a text in it. A text that is added gets the same ones.
"""

from __future__ import annotations

import json
import sqlite3
import uuid
from base64 import b64decode, b64encode
from collections.abc import Iterator, Mapping, Sequence
from typing import ClassVar

from .base import Image, New, Record, Unreadable
from .database import TriedSchema
from .langmem import (
    ARCHIVE,
    OURS,
    all_indexed,
    indexed,
    key_of,
    moment_of,
    place_of,
    spelled,
    text_of,
    value_saying,
    vector_of,
)
from .lent_model import LONGEST_SAMPLE, SAMPLES_AT_EITHER_END
from .rows import Leaving
from .sqlite_file import SqliteFormat

_COLUMNS = "prefix, key, CAST(value AS text), created_at, updated_at"
_VECTOR_COLUMNS = "prefix, key, field_name, embedding, created_at, updated_at"


class LangGraph(SqliteFormat):
    """A store of LangGraph."""

    name = "langgraph"
    about = "LangGraph's SqliteStore with LangMem's memories"
    holds = "a value of LangMem's form; nothing is joined across namespaces"
    tables: ClassVar[Mapping[str, frozenset[str]]] = {
        "store": frozenset({"prefix", "key", "value", "created_at", "updated_at"})
    }
    schema_query = "SELECT max(v) FROM store_migrations"
    schema = TriedSchema(4, "3.1.2")

    def read(self, db: sqlite3.Connection) -> Iterator[Record]:
        """Yield the values that are memories, and do not end by themselves."""
        for prefix, key, value, created in db.execute(
            "SELECT prefix, key, value, created_at FROM store WHERE expires_at IS NULL "
            "AND prefix <> ?1 AND substr(prefix, 1, length(?1) + 1) <> ?1 || '.' "
            "ORDER BY prefix, key",
            [ARCHIVE],
        ):
            text = text_of(value)
            if text is not None:
                yield Record(key_of(prefix, key, text), prefix, text, moment_of(created))

    def samples(self, db: sqlite3.Connection) -> list[tuple[str, bytes]] | None:
        """Return texts of the oldest and of the latest rows, with their vectors."""
        if not _has_vectors(db):
            return None
        found: dict[str, bytes] = {}
        for order in ("ASC", "DESC"):
            rows = db.execute(
                "SELECT CAST(value AS text), field_name, embedding FROM store "
                "JOIN store_vectors USING (prefix, key) WHERE length(value) <= ? "
                f"ORDER BY store.created_at {order} LIMIT ?",
                [LONGEST_SAMPLE, 2 * SAMPLES_AT_EITHER_END],
            ).fetchall()
            fields = [(indexed(json.loads(value), field), vector) for value, field, vector in rows]
            found |= {text: vector for text, vector in fields if text is not None}
        return list(found.items())

    def texts_to_embed(self, db: sqlite3.Connection, new: New) -> list[str]:
        """Return what its fields say of which the store keeps vectors."""
        value, _ = self._value_like(db, new)
        return all_indexed(value, _fields(db, new.tenant))

    def put(self, db: sqlite3.Connection, new: New) -> str:
        """Add a value like those in whose place it comes, and as late as the latest of them."""
        model = self.model_of(db)
        value, created = self._value_like(db, new)
        name = f"{OURS}{uuid.uuid4()}"
        self._insert(db, [new.tenant, name, spelled(value), created, created])
        for field in _fields(db, new.tenant) if model is not None else ():
            vector = vector_of(value, field, model)
            self._insert_vector(db, [new.tenant, name, field, vector, created, created])
        return key_of(new.tenant, name, new.text)

    def can_rewrite(self, db: sqlite3.Connection, key: str, new: New) -> bool:
        """Whether its key is one of slowwave's."""
        return place_of(key)[1].startswith(OURS)

    def rewrite(
        self, db: sqlite3.Connection, key: str, new: New, former: Image | None
    ) -> tuple[str, Image]:
        """Keep the row's key, form and times."""
        prefix, name = place_of(key)
        value, _ = self._value_like(db, new)
        had = dict(_vectors_of(db, prefix, name))
        known = {field: b64decode(vector) for field, vector in (former or {}).items()}
        # Looked at before the row is changed, whose vector may be one of its samples.
        model = self.model_of(db) if had.keys() - known.keys() else None
        where = "WHERE prefix = ? AND key = ?"
        at = [prefix, name]
        db.execute(f"UPDATE store SET value = CAST(? AS blob) {where}", [spelled(value), *at])
        for field in had:
            vector = known[field] if field in known else vector_of(value, field, model)
            changed = f"UPDATE store_vectors SET embedding = ? {where} AND field_name = ?"
            db.execute(changed, [vector, *at, field])
        lost = {field: b64encode(vector).decode() for field, vector in had.items()}
        return key_of(prefix, name, new.text), lost

    def _value_like(self, db: sqlite3.Connection, new: New) -> tuple[object, str | None]:
        """Return a value of the form of those in whose place it comes, and the latest's time."""
        named = [place_of(key) for key in new.replaces]
        rows = [
            db.execute(f"SELECT {_COLUMNS} FROM store WHERE prefix = ? AND key = ?", one).fetchone()
            for one in named
        ]
        _, _, last, created, _ = max(rows, key=lambda row: str(row[3]), default=_NEW)
        return value_saying(new.text, json.loads(last)), created

    def _insert(self, db: sqlite3.Connection, row: Sequence[str | None]) -> None:
        db.execute(
            "INSERT INTO store (prefix, key, value, created_at, updated_at) VALUES (?1, ?2, "
            "CAST(?3 AS blob), coalesce(?4, CURRENT_TIMESTAMP), coalesce(?5, CURRENT_TIMESTAMP))",
            row,
        )

    def _insert_vector(self, db: sqlite3.Connection, row: Sequence[str | bytes | None]) -> None:
        db.execute(
            f"INSERT INTO store_vectors ({_VECTOR_COLUMNS}) VALUES (?1, ?2, ?3, ?4, "
            "coalesce(?5, CURRENT_TIMESTAMP), coalesce(?6, CURRENT_TIMESTAMP))",
            row,
        )

    def retire(self, db: sqlite3.Connection, leaving: Leaving) -> Image:
        """Move it to the archive; what we added ourselves goes."""
        key = leaving.key
        prefix, name = place_of(key)
        if name.startswith(OURS):
            where = "WHERE prefix = ? AND key = ?"
            row = db.execute(f"SELECT {_COLUMNS} FROM store {where}", [prefix, name]).fetchone()
            image: Image = {"key": key, "row": list(row)}
            db.execute(f"DELETE FROM store {where}", [prefix, name])
            if _has_vectors(db):
                kept = db.execute(
                    f"SELECT {_VECTOR_COLUMNS} FROM store_vectors {where}", [prefix, name]
                ).fetchall()
                image["vectors"] = [
                    [*one[:3], b64encode(one[3]).decode(), *one[4:]] for one in kept
                ]
                db.execute(f"DELETE FROM store_vectors {where}", [prefix, name])
            return image
        archived = self._free_name(db, prefix, name)
        self._move(db, (prefix, name), (f"{ARCHIVE}.{prefix}", archived))
        return {"key": key, "archived": archived}

    def bring_back(self, db: sqlite3.Connection, image: Image) -> str:
        """Move it to where it was."""
        prefix, name = place_of(str(image["key"]))
        if "row" in image:
            self._insert(db, image["row"])
            for one in image.get("vectors", ()):
                self._insert_vector(db, [*one[:3], b64decode(one[3]), *one[4:]])
            return str(image["key"])
        # Earlier runs noted no name: a memory kept its own there.
        archived = str(image.get("archived", name))
        self._move(db, (f"{ARCHIVE}.{prefix}", archived), (prefix, name))
        return str(image["key"])

    def _free_name(self, db: sqlite3.Connection, prefix: str, name: str) -> str:
        """Return the name that a memory gets in the archive: its own, unless that is taken there.

        Its agent may have told something else under the name of one that left, and again.
        """
        taken = db.execute(
            "SELECT 1 FROM store WHERE prefix = ? AND key = ?", [f"{ARCHIVE}.{prefix}", name]
        ).fetchone()
        return f"{name}.{uuid.uuid4()}" if taken else name

    def _move(
        self, db: sqlite3.Connection, source: tuple[str, str], target: tuple[str, str]
    ) -> None:
        """Move a row with its vectors. source, target: namespace and name."""
        tables = {row[0] for row in db.execute("SELECT name FROM sqlite_schema")}
        where = "WHERE prefix = ? AND key = ?"
        if db.execute(f"SELECT 1 FROM store {where}", target).fetchone():
            raise Unreadable(f"The namespace {target[0]} now has another '{target[1]}'.")
        for table in ("store", *({"store_vectors"} & tables)):
            moved = db.execute(
                f"UPDATE {table} SET prefix = ?, key = ? {where}", [*target, *source]
            )
            if table == "store" and moved.rowcount != 1:
                raise Unreadable(f"'{source[1]}' is not in the namespace {source[0]} any more.")


# Where there is nothing in whose place it comes.
_NEW = ("", "", "{}", None, None)


def _has_vectors(db: sqlite3.Connection) -> bool:
    tables = {row[0] for row in db.execute("SELECT name FROM sqlite_schema")}
    if "store_vectors" not in tables:
        return False
    return db.execute("SELECT 1 FROM store_vectors LIMIT 1").fetchone() is not None


def _vectors_of(db: sqlite3.Connection, prefix: str, name: str) -> list[tuple[str, bytes]]:
    """Return the vectors of a row, by their fields."""
    if not _has_vectors(db):
        return []
    sql = "SELECT field_name, embedding FROM store_vectors WHERE prefix = ? AND key = ?"
    return db.execute(sql, [prefix, name]).fetchall()


def _fields(db: sqlite3.Connection, prefix: str) -> list[str]:
    """Return of which fields the memories of a namespace have vectors, else those of any."""
    for where, values in (("WHERE prefix = ?", [prefix]), ("", [])):
        rows = db.execute(
            f"SELECT DISTINCT field_name FROM store_vectors {where} ORDER BY 1", values
        )
        if found := [str(field) for (field,) in rows]:
            return found
    return []
