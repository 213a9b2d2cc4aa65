"""The rows of one namespace of LangGraph's PostgresStore, within a transaction."""

from __future__ import annotations

import json
import struct
import uuid
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from slowwave.store.errors import NotFound, StoreError
from slowwave.store.formats.base import (
    Change,
    Image,
    New,
    Record,
    Unreadable,
    Written,
)
from slowwave.store.formats.database import OpenDatabase
from slowwave.store.formats.langmem import (
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
from slowwave.store.formats.lent_model import LONGEST_SAMPLE, SAMPLES_AT_EITHER_END, LentModel
from slowwave.store.formats.rows import Leaving, changed, refuse_other_vectors

from .leases import Lease, mirror_version, read_mirror
from .url import DatabaseUrl

if TYPE_CHECKING:
    from datetime import datetime

    from psycopg import Connection

_COLUMNS = ("value", "created_at", "updated_at", "expires_at", "ttl_minutes")
# What is a memory, as far as SQL can tell.
IS_A_MEMORY = (
    "expires_at IS NULL AND 'string' IN "
    "(jsonb_typeof(value -> 'content'), jsonb_typeof(value #> '{content,content}'))"
)
# Of a set of rows: of which version of which row each of them is.
ROWS_VERSION = "count(*) || '-' || coalesce(sum(hashtextextended(key || ' ' || xmin, 0)), 0)"
_HERE = "WHERE prefix = %s AND key = %s"
# Of which types vectors can be written; others (bit) only move with their rows.
_VECTOR_TYPES = ("vector(", "halfvec(")


class OpenTenant(OpenDatabase):
    """The rows of a tenant within a transaction."""

    def __init__(
        self, conn: Connection[tuple[Any, ...]], url: DatabaseUrl, model: LentModel | None
    ) -> None:
        """Read the tenant. Raises `NotFound` if there is none of that name."""
        if url.tenant is None:
            raise StoreError(f"{url} names no tenant.", "Name one: URL#TENANT")
        self._conn = conn
        self._tenant = url.tenant
        self._model = model
        self.records = self.read()
        if not self.records and self.mirror() is None:
            raise NotFound(
                f"There are no memories of a tenant '{self._tenant}' in {url.of(None)}.",
                "A tenant is a namespace, its labels joined by dots, such as memories.ann.",
            )

    def mirror(self) -> bytes | None:
        """Return the memory file in which it is mirrored; None before its first night."""
        return read_mirror(self._conn, self._tenant)

    def read(self) -> list[Record]:
        """Return the values that are memories, and do not end by themselves, as they are now."""
        rows = self._conn.execute(
            "SELECT key, value::text, created_at FROM store WHERE prefix = %s "
            'AND expires_at IS NULL ORDER BY key COLLATE "C"',
            [self._tenant],
        )
        told = [(name, text_of(value), created) for name, value, created in rows]
        return [
            Record(
                key_of(self._tenant, name, text),
                self._tenant,
                text,
                None if created is None else moment_of(created.isoformat()),
            )
            for name, text, created in told
            if text is not None
        ]

    def prepare(self, change: Change) -> Written:
        """Do it within the transaction."""
        return changed(self, change, self.records)

    def keep_mirror(self, lease: Lease, mirror: bytes) -> None:
        """Keep a mirror along with what was prepared. Raises `FileHeld` if the lease was lost."""
        lease.keep_mirror(self._conn, mirror)
        lease.version = self.version()

    def version(self) -> str:
        """Return what changes whenever a memory of the tenant or its mirror does."""
        rows = self._value(
            f"SELECT {ROWS_VERSION} FROM store WHERE prefix = %s AND {IS_A_MEMORY}", [self._tenant]
        )
        return f"{rows}-{mirror_version(self._conn, self._tenant)}"

    def commit(self) -> None:
        """Let others see it."""
        self._conn.commit()

    def samples(self) -> list[tuple[str, bytes]] | None:
        """Return texts of the tenant's oldest and latest rows, with their vectors.

        None if the store has no vectors, and needs none. Raises `Unreadable`.
        """
        if not self._has_vectors():
            return None
        kind = self._value(
            "SELECT format_type(atttypid, atttypmod) FROM pg_attribute "
            "WHERE attrelid = to_regclass('store_vectors') AND attname = 'embedding'"
        )
        if not str(kind).startswith(_VECTOR_TYPES):
            raise Unreadable(f"Vectors of the type {kind} are not known to slowwave.")
        found: dict[str, bytes] = {}
        for order in ("ASC", "DESC"):
            rows = self._conn.execute(
                "SELECT s.value::text, v.field_name, v.embedding::text FROM store s "
                "JOIN store_vectors v USING (prefix, key) "
                "WHERE prefix = %s AND length(s.value::text) <= %s "
                f"ORDER BY s.created_at {order}, key LIMIT %s",
                [self._tenant, LONGEST_SAMPLE, 2 * SAMPLES_AT_EITHER_END],
            ).fetchall()
            told = [(indexed(json.loads(value), field), vector) for value, field, vector in rows]
            found |= {text: _as_bytes(vector) for text, vector in told if text is not None}
        return list(found.items())

    def texts_to_embed(self, new: New) -> list[str]:
        """Return what the fields of a new text say of which the store keeps vectors."""
        value, _ = self._value_like(new)
        return all_indexed(value, self._fields())

    def put(self, new: New) -> str:
        """Add a value like those in whose place it comes, and as late as the latest of them."""
        samples = self.samples()
        refuse_other_vectors(self._model, samples)
        value, created = self._value_like(new)
        name = f"{OURS}{uuid.uuid4()}"
        self._insert(name, spelled(value), created, created)
        for field in () if samples is None else self._fields():
            vector = _as_literal(vector_of(value, field, self._model))
            self._insert_vector([name, field, vector, created, created])
        return key_of(self._tenant, name, new.text)

    def can_rewrite(self, key: str, new: New) -> bool:
        """Whether its key is one of slowwave's."""
        return place_of(key)[1].startswith(OURS)

    def rewrite(self, key: str, new: New, former: Image | None) -> tuple[str, Image]:
        """Keep the row's key, form and times."""
        _, name = place_of(key)
        value, _ = self._value_like(new)
        had: Image = {field: vector for field, vector, *_ in self._vectors_of(name)}
        known = former or {}
        if had.keys() - known.keys():
            # Looked at before the row is changed, whose vector may be one of its samples.
            refuse_other_vectors(self._model, self.samples())
        here = [self._tenant, name]
        self._conn.execute(f"UPDATE store SET value = %s::jsonb {_HERE}", [spelled(value), *here])
        for field in had:
            vector = known.get(field) or _as_literal(vector_of(value, field, self._model))
            self._conn.execute(
                f"UPDATE store_vectors SET embedding = %s {_HERE} AND field_name = %s",
                [vector, *here, field],
            )
        return key_of(self._tenant, name, new.text), had

    def retire(self, leaving: Leaving) -> Image:
        """Move it to the archive; what we added ourselves goes."""
        _, name = place_of(leaving.key)
        if not name.startswith(OURS):
            archived = self._free_name(name)
            self._move((self._tenant, name), (self._archive, archived))
            return {"key": leaving.key, "archived": archived}
        here = [self._tenant, name]
        row = self._conn.execute(
            f"SELECT value::text, created_at, updated_at FROM store {_HERE}", here
        ).fetchone()
        if row is None:
            raise Unreadable(f"'{name}' is not in the namespace {self._tenant} any more.")
        value, *moments = row
        vectors = [
            [field, vector, *map(_spelled_moment, times)]
            for field, vector, *times in self._vectors_of(name)
        ]
        # Its vectors go with it.
        self._conn.execute(f"DELETE FROM store {_HERE}", here)
        kept_row = [value, *map(_spelled_moment, moments)]
        return {"key": leaving.key, "row": kept_row, "vectors": vectors}

    def bring_back(self, image: Image) -> str:
        """Move it to where it was."""
        key = str(image["key"])
        _, name = place_of(key)
        if "row" not in image:
            self._move((self._archive, image["archived"]), (self._tenant, name))
            return key
        self._insert(name, *image["row"])
        for one in image["vectors"]:
            self._insert_vector([name, *one])
        return key

    @property
    def _archive(self) -> str:
        return f"{ARCHIVE}.{self._tenant}"

    def _free_name(self, name: str) -> str:
        """Return the name that a memory gets in the archive: its own, unless that is taken there.

        Its agent may have told something else under the name of one that left, and again.
        """
        taken = self._value(f"SELECT 1 FROM store {_HERE}", [self._archive, name])
        return f"{name}.{uuid.uuid4()}" if taken else name

    def _move(self, source: tuple[str, str], target: tuple[str, str]) -> None:
        """Move a row with its vectors, which cannot be without a row at any moment."""
        columns = ", ".join(_COLUMNS)
        moved = self._conn.execute(
            f"INSERT INTO store (prefix, key, {columns}) SELECT %s, %s, {columns} FROM store "
            f"{_HERE} ON CONFLICT DO NOTHING",
            [*target, *source],
        ).rowcount
        if not moved:
            there = self._value(f"SELECT 1 FROM store {_HERE}", source)
            raise Unreadable(
                f"The namespace {target[0]} now has another '{target[1]}'."
                if there
                else f"'{source[1]}' is not in the namespace {source[0]} any more."
            )
        if self._has_vectors():
            self._conn.execute(
                f"UPDATE store_vectors SET prefix = %s, key = %s {_HERE}", [*target, *source]
            )
        self._conn.execute(f"DELETE FROM store {_HERE}", source)

    def _value_like(self, new: New) -> tuple[dict[str, Any], datetime | None]:
        """Return a value of the form of those in whose place it comes, and the latest's time."""
        rows = self._conn.execute(
            "SELECT value::text, created_at FROM store WHERE prefix = %s AND key = ANY(%s) "
            "ORDER BY created_at DESC NULLS LAST, key LIMIT 1",
            [self._tenant, [place_of(key)[1] for key in new.replaces]],
        ).fetchall()
        like, created = rows[0] if rows else ("{}", None)
        return value_saying(new.text, json.loads(like)), created

    def _insert(
        self, name: str, value: str, created: datetime | str | None, updated: datetime | str | None
    ) -> None:
        self._conn.execute(
            "INSERT INTO store (prefix, key, value, created_at, updated_at) "
            f"VALUES (%s, %s, %s::jsonb, {_MOMENT}, {_MOMENT})",
            [self._tenant, name, value, created, updated],
        )

    def _insert_vector(self, row: Sequence[object]) -> None:
        self._conn.execute(
            "INSERT INTO store_vectors (prefix, key, field_name, embedding, created_at, updated_at)"
            f" VALUES (%s, %s, %s, %s, {_MOMENT}, {_MOMENT})",
            [self._tenant, *row],
        )

    def _vectors_of(self, name: str) -> list[tuple[Any, ...]]:
        """Return the vectors of a row: the field, the vector as pgvector spells it, its times."""
        if not self._has_vectors():
            return []
        return self._conn.execute(
            "SELECT field_name, embedding::text, created_at, updated_at FROM store_vectors "
            f"{_HERE} ORDER BY 1",
            [self._tenant, name],
        ).fetchall()

    def _fields(self) -> list[str]:
        """Return of which fields the tenant's memories have vectors."""
        rows = self._conn.execute(
            'SELECT DISTINCT field_name COLLATE "C" FROM store_vectors WHERE prefix = %s '
            "ORDER BY 1",
            [self._tenant],
        ).fetchall()
        return [str(field) for (field,) in rows]

    def _has_vectors(self) -> bool:
        if self._value("SELECT to_regclass('store_vectors')") is None:
            return False
        return self._value("SELECT 1 FROM store_vectors LIMIT 1") is not None

    def _value(self, sql: str, parameters: Sequence[object] = ()) -> Any:
        row = self._conn.execute(sql, parameters).fetchone()
        return None if row is None else row[0]


# A time that may not be known.
_MOMENT = "coalesce(%s::timestamptz, CURRENT_TIMESTAMP)"


def _spelled_moment(moment: datetime | None) -> str | None:
    return None if moment is None else moment.isoformat()


def _as_bytes(vector: str) -> bytes:
    """Return what pgvector writes as little-endian float32."""
    numbers = json.loads(vector)
    return struct.pack(f"<{len(numbers)}f", *numbers)


def _as_literal(vector: bytes) -> str:
    return json.dumps(struct.unpack(f"<{len(vector) // 4}f", vector))
