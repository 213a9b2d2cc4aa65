"""LangMem's memories in a store of LangGraph, in any database, and LangGraph's SqliteStore.

langgraph-checkpoint-sqlite 3.1.2. A memory is a value {"content": "..."}, or
{"kind": "Memory", "content": {"content": "..."}}; profiles and values of any other form are left
alone. Removed memories move, with their vectors, to the namespace slowwave_superseded, where the
package's searches do not find them. A store with an index has a vector for each field that the
agent chose: `$` is the value as JSON, `content` or `content.content` a text in it. A new text gets
the same vectors.
"""

from __future__ import annotations

import json
import sqlite3
import uuid
from abc import abstractmethod
from base64 import b64decode, b64encode
from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import datetime
from typing import Any, ClassVar, NamedTuple

from .base import NEXT_RUN, Image, New, Record, RemovedEntry, Unreadable
from .database import OURS, OpenDatabase, key_of, moment_of, place_of
from .sqlite_file import OpenSqlite, SqliteFormat
from .vector_model import MAX_SAMPLE, SAMPLES_AT_EITHER_END

# A namespace, and a key in it.
RowKey = tuple[str, str]
WHERE_KEY = "WHERE prefix = %s AND key = %s"
# The namespace of removed memories.
ARCHIVE = "slowwave_superseded"


class Spelling(NamedTuple):
    """How a database spells a vector: from and to little-endian float32, to and from text."""

    from_model: Callable[[bytes], Any]
    to_model: Callable[[Any], bytes]
    to_image: Callable[[Any], str]
    from_image: Callable[[str], Any]


class StoreRows(OpenDatabase):
    """The memories of an open store, within a transaction.

    A vector has the type that the database takes and returns; an image has it as text.
    """

    # The SQL types of JSON and of a time, and the SQL that reads a vector.
    json_type: ClassVar[str]
    moment_type: ClassVar[str]
    embedding: ClassVar[str] = "embedding"
    vectors: ClassVar[Spelling]

    @abstractmethod
    def execute(self, sql: str, values: Sequence[object] = ()) -> Any:
        """Run a statement with %s for each value, and return its cursor."""

    @abstractmethod
    def has_table(self, name: str) -> bool:
        """Whether there is a table of this name."""

    def has_vectors(self) -> bool:
        """Whether there is an index that is not empty."""
        is_not_empty = "SELECT 1 FROM store_vectors LIMIT 1"
        return self.has_table("store_vectors") and self.execute(is_not_empty).fetchone() is not None

    def samples(self, namespace: str | None = None) -> list[tuple[str, bytes]] | None:
        """Return texts of the oldest and of the latest rows, with their vectors.

        namespace: None for all. Returns None if the store has no vectors, and needs none.
        """
        if not self.has_vectors():
            return None
        vector_by_text: dict[str, bytes] = {}
        for order in ("ASC", "DESC"):
            rows = self.execute(
                f"SELECT CAST(value AS text), field_name, {self.embedding} FROM store "
                "JOIN store_vectors USING (prefix, key) "
                "WHERE prefix = coalesce(%s, prefix) AND length(CAST(value AS text)) <= %s "
                f"ORDER BY store.created_at {order}, key LIMIT %s",
                [namespace, MAX_SAMPLE, 2 * SAMPLES_AT_EITHER_END],
            )
            for value, field, vector in rows.fetchall():
                if (text := _indexed(_parsed(value), field)) is not None:
                    vector_by_text[text] = self.vectors.to_model(vector)
        return list(vector_by_text.items())

    def texts_to_embed(self, new: New) -> list[str]:
        """Return the texts of the fields of a new memory that get vectors."""
        value, _ = self._value_like(new)
        texts = (_indexed(value, field) for field in self._fields(new.tenant))
        return [text for text in texts if text is not None]

    def insert(self, new: New) -> str:
        """Add a value of the form and the time of the latest that it replaces."""
        fields = () if self.vector_model is None else self._fields(new.tenant)
        value, created = self._value_like(new)
        row_key = (new.tenant, f"{OURS}{uuid.uuid4()}")
        self._insert_row(row_key, _to_json(value), created, created)
        for field in fields:
            self._insert_vector(row_key, field, self._vector(value, field), created, created)
        return key_of(*row_key, new.text)

    def rewrite(self, key: str, new: New, former: Image | None) -> tuple[str, Image]:
        """Keep the row's key, form and times."""
        row_key = place_of(key)
        value, _ = self._value_like(new)
        had = {field: vector for field, vector, *_ in self._vectors_at(row_key)}
        earlier = {field: self.vectors.from_image(text) for field, text in (former or {}).items()}
        if had.keys() - earlier.keys():
            # Checked before the row changes, whose vector may be a sample; an undo needs no model.
            assert self.vector_model is not None  # noqa: S101 - there are vectors
        sql = f"UPDATE store SET value = CAST(%s AS {self.json_type}) {WHERE_KEY}"
        self.execute(sql, [_to_json(value), *row_key])
        for field in had:
            vector = earlier[field] if field in earlier else self._vector(value, field)
            sql = f"UPDATE store_vectors SET embedding = %s {WHERE_KEY} AND field_name = %s"
            self.execute(sql, [vector, *row_key, field])
        image = {field: self.vectors.to_image(vector) for field, vector in had.items()}
        return key_of(*row_key, new.text), image

    def hide(self, removal: RemovedEntry, successor: str | None) -> Image:
        """Move it to the archive; delete what slowwave added."""
        prefix, name = row_key = place_of(removal.key)
        if not name.startswith(OURS):
            archived = self._free_name(prefix, name)
            self._move(row_key, (_archive(prefix), archived))
            return {"key": removal.key, "archived": archived}
        row = self._row_at(row_key)
        if row is None:
            raise Unreadable(f"'{name}' is no longer in the namespace {prefix}.", NEXT_RUN)
        vectors = self._vectors_at(row_key)
        if vectors:
            self.execute(f"DELETE FROM store_vectors {WHERE_KEY}", row_key)
        self.execute(f"DELETE FROM store {WHERE_KEY}", row_key)
        images = [[field, self.vectors.to_image(raw), *times] for field, raw, *times in vectors]
        return {"key": removal.key, "row": row, "vectors": images}

    def restore(self, image: Image) -> str:
        """Move it to where it was."""
        key = str(image["key"])
        prefix, _ = row_key = place_of(key)
        if "row" not in image:
            self._move((_archive(prefix), str(image["archived"])), row_key)
            return key
        self._insert_row(row_key, *image["row"])
        for field, vector, *times in image["vectors"]:
            self._insert_vector(row_key, field, self.vectors.from_image(vector), *times)
        return key

    def erase(self, image: Image) -> None:
        """Delete it from the archive."""
        prefix, name = place_of(str(image["key"]))
        row_key = (_archive(prefix), str(image.get("archived") or name))
        for table in (*(("store_vectors",) if self.has_vectors() else ()), "store"):
            self.execute(f"DELETE FROM {table} {WHERE_KEY}", row_key)

    def _fields(self, prefix: str) -> list[str]:
        """Return the fields of a namespace that have vectors, else those of any namespace."""
        for where, values in (("WHERE prefix = %s", [prefix]), ("", [])):
            sql = f"SELECT DISTINCT field_name FROM store_vectors {where}"
            if fields := [str(field) for (field,) in self.execute(sql, values).fetchall()]:
                return sorted(fields)
        return []

    def _move(self, source: RowKey, target: RowKey) -> None:
        """Move a row with its vectors, which need a row at any moment. Raises `Unreadable`."""
        if self._row_at(source) is None:
            raise Unreadable(f"'{source[1]}' is no longer in the namespace {source[0]}.", NEXT_RUN)
        columns = self.execute("SELECT * FROM store LIMIT 0").description
        rest = ", ".join(f'"{name}"' for name, *_ in columns if name not in ("prefix", "key"))
        moved = self.execute(
            f"INSERT INTO store (prefix, key, {rest}) SELECT %s, %s, {rest} FROM store {WHERE_KEY} "
            "ON CONFLICT DO NOTHING",
            [*target, *source],
        )
        if moved.rowcount != 1:
            raise Unreadable(f"The namespace {target[0]} now has another '{target[1]}'.", NEXT_RUN)
        if self.has_vectors():
            sql = f"UPDATE store_vectors SET prefix = %s, key = %s {WHERE_KEY}"
            self.execute(sql, [*target, *source])
        self.execute(f"DELETE FROM store {WHERE_KEY}", source)

    def _free_name(self, prefix: str, name: str) -> str:
        """Return a memory's name in the archive: its own, unless an earlier memory has it."""
        is_taken = self._row_at((_archive(prefix), name)) is not None
        return f"{name}.{uuid.uuid4()}" if is_taken else name

    def _value_like(self, new: New) -> tuple[dict[str, Any], str | None]:
        """Return a value in the form of the latest row that a text replaces, and its time."""
        rows = [row for row in map(self._row_at, map(place_of, new.replaces)) if row is not None]
        latest = max(rows, key=lambda row: moment_of(row[1]) or "", default=None)
        like = {} if latest is None else json.loads(latest[0])
        content = {"content": new.text}
        has_kind = isinstance(like, dict) and "kind" in like
        value = {"kind": "Memory", "content": content} if has_kind else content
        return value, None if latest is None else latest[1]

    def _vector(self, value: object, field: str) -> Any:
        """Return the vector of a value's field. Raises `Unreadable` if it cannot be computed."""
        text, model = _indexed(value, field), self.vector_model
        if text is None or model is None:
            raise Unreadable(
                f"The store has vectors of a field that slowwave cannot fill: {field}.",
                "Run it without a model: then equal memories are merged, which needs no vectors.",
            )
        return self.vectors.from_model(model.vector(text))

    def _row_at(self, row_key: RowKey) -> list[Any] | None:
        """Return the JSON of a row, and its times as text."""
        row = self.execute(
            f"SELECT CAST(value AS text), created_at, updated_at FROM store {WHERE_KEY}", row_key
        ).fetchone()
        return None if row is None else [row[0], *map(_as_text, row[1:])]

    def _vectors_at(self, row_key: RowKey) -> list[list[Any]]:
        """Return the vectors of a row: field, vector, times as text."""
        if not self.has_vectors():
            return []
        rows = self.execute(
            f"SELECT field_name, {self.embedding}, created_at, updated_at FROM store_vectors "
            f"{WHERE_KEY} ORDER BY 1",
            row_key,
        )
        return [[field, vector, *map(_as_text, times)] for field, vector, *times in rows.fetchall()]

    def _insert_row(
        self, row_key: RowKey, value: str, created: str | None, updated: str | None
    ) -> None:
        """Add a row; an unknown time becomes the current one."""
        self.execute(
            "INSERT INTO store (prefix, key, value, created_at, updated_at) VALUES "
            f"(%s, %s, CAST(%s AS {self.json_type}), {self._moment}, {self._moment})",
            [*row_key, value, created, updated],
        )

    def _insert_vector(
        self, row_key: RowKey, field: str, vector: Any, created: str | None, updated: str | None
    ) -> None:
        self.execute(
            "INSERT INTO store_vectors (prefix, key, field_name, embedding, created_at, updated_at)"
            f" VALUES (%s, %s, %s, %s, {self._moment}, {self._moment})",
            [*row_key, field, vector, created, updated],
        )

    @property
    def _moment(self) -> str:
        return f"coalesce(CAST(%s AS {self.moment_type}), CURRENT_TIMESTAMP)"


class _OpenStore(StoreRows, OpenSqlite):
    """A store within a transaction."""

    json_type, moment_type = "blob", "text"
    vectors = Spelling(bytes, bytes, lambda vector: b64encode(vector).decode(), b64decode)

    def read(self) -> Iterator[Record]:
        rows = self.db.execute(
            "SELECT prefix, key, value, created_at FROM store WHERE expires_at IS NULL "
            "AND typeof(prefix) = 'text' AND typeof(key) = 'text' "
            "AND prefix <> ?1 AND substr(prefix, 1, length(?1) + 1) <> ?1 || '.' "
            "ORDER BY prefix, key",
            [ARCHIVE],
        )
        for row in rows:
            if (record := record_of(*row)) is not None:
                yield record

    def execute(self, sql: str, values: Sequence[object] = ()) -> sqlite3.Cursor:
        return self.db.execute(sql.replace("%s", "?"), values)

    def has_table(self, name: str) -> bool:
        cursor = self.db.execute("SELECT 1 FROM sqlite_schema WHERE name = ?", [name])
        return cursor.fetchone() is not None


class LangGraph(SqliteFormat):
    """A store of LangGraph."""

    name = "langgraph"
    about = "LangGraph's SqliteStore with LangMem's memories"
    holds = "a value of LangMem's form; different namespaces are never merged"
    tables: ClassVar[Mapping[str, frozenset[str]]] = {
        "store": frozenset({"prefix", "key", "value", "created_at", "updated_at"})
    }
    schema_query = "SELECT max(v) FROM store_migrations"
    schema = 4, "3.1.2"
    rows = _OpenStore


def record_of(prefix: str, name: str, value: bytes | str, created: str | None) -> Record | None:
    """Return a value as a memory; None if it has another form."""
    content = _parsed(value)
    if isinstance(content, Mapping) and content.keys() == {"kind", "content"}:
        content = content["content"] if content["kind"] == "Memory" else None
    if not isinstance(content, Mapping) or content.keys() != {"content"}:
        return None
    text = content["content"]
    if not isinstance(text, str):
        return None
    return Record(key_of(prefix, name, text), prefix, text, moment_of(created))


def _parsed(value: bytes | str) -> Any:
    """Return the value of JSON; None if it is something else."""
    try:
        return json.loads(value)
    except (ValueError, RecursionError):
        return None


def _indexed(value: object, field: str) -> str | None:
    """Return the text that the package encodes for a field; None if it is not known."""
    if field == "$":
        return json.dumps(value, sort_keys=True, ensure_ascii=False)
    for name in field.split("."):
        value = value.get(name) if isinstance(value, dict) else None
    return value if isinstance(value, str) else None


def _to_json(value: object) -> str:
    """Return JSON as the package writes it."""
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def _archive(prefix: str) -> str:
    return f"{ARCHIVE}.{prefix}"


def _as_text(moment: datetime | str | None) -> str | None:
    return moment.isoformat() if isinstance(moment, datetime) else moment
