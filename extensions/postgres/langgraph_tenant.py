"""The rows of one namespace of LangGraph's PostgresStore, within a transaction."""

from __future__ import annotations

import json
import uuid
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from slowwave.extensions.formats.base import Image, New, Record, Unreadable
from slowwave.extensions.formats.langmem import (
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
from slowwave.extensions.formats.lent_model import LONGEST_SAMPLE, SAMPLES_AT_EITHER_END
from slowwave.extensions.formats.rows import Leaving

from .pgvector import as_bytes, as_literal
from .table import refuse_other_vector_types
from .tenant import OpenTenant

if TYPE_CHECKING:
    from datetime import datetime

_COLUMNS = ("value", "created_at", "updated_at", "expires_at", "ttl_minutes")
_HERE = "WHERE prefix = %s AND key = %s"


class Namespace(OpenTenant):
    """The rows of a namespace within a transaction."""

    tenants_are = "A tenant is a namespace, its labels joined by dots, such as memories.ann."

    def read(self) -> list[Record]:
        """Return the values that are memories, and do not end by themselves, as they are now."""
        rows = self._conn.execute(
            "SELECT key, value::text, created_at FROM store WHERE prefix = %s "
            'AND expires_at IS NULL ORDER BY key COLLATE "C"',
            [self._tenant],
        )
        texts = [(name, text_of(value), created) for name, value, created in rows]
        return [
            Record(
                key_of(self._tenant, name, text),
                self._tenant,
                text,
                None if created is None else moment_of(created.isoformat()),
            )
            for name, text, created in texts
            if text is not None
        ]

    def samples(self) -> list[tuple[str, bytes]] | None:
        """Return texts of the tenant's oldest and latest rows, with their vectors.

        None if the store has no vectors, and needs none. Raises `Unreadable`.
        """
        if not self._has_vectors():
            return None
        refuse_other_vector_types(self._conn, "store_vectors", "embedding")
        found: dict[str, bytes] = {}
        for order in ("ASC", "DESC"):
            rows = self._conn.execute(
                "SELECT s.value::text, v.field_name, v.embedding::text FROM store s "
                "JOIN store_vectors v USING (prefix, key) "
                "WHERE prefix = %s AND length(s.value::text) <= %s "
                f"ORDER BY s.created_at {order}, key LIMIT %s",
                [self._tenant, LONGEST_SAMPLE, 2 * SAMPLES_AT_EITHER_END],
            ).fetchall()
            fields = [(indexed(json.loads(value), field), vector) for value, field, vector in rows]
            found |= {text: as_bytes(vector) for text, vector in fields if text is not None}
        return list(found.items())

    def texts_to_embed(self, new: New) -> list[str]:
        """Return what the fields of a new text say of which the store keeps vectors."""
        value, _ = self._value_like(new)
        return all_indexed(value, self._fields())

    def put(self, new: New) -> str:
        """Add a value like those in whose place it comes, and as late as the latest of them."""
        model = self.vector_model
        value, created = self._value_like(new)
        name = f"{OURS}{uuid.uuid4()}"
        self._insert(name, spelled(value), created, created)
        for field in () if model is None else self._fields():
            vector = as_literal(vector_of(value, field, model))
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
        # Not asked for where no vector is to be made: an undo needs no model.
        model = self.vector_model if had.keys() - known.keys() else None
        here = [self._tenant, name]
        self._conn.execute(f"UPDATE store SET value = %s::jsonb {_HERE}", [spelled(value), *here])
        for field in had:
            vector = known.get(field) or as_literal(vector_of(value, field, model))
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


# A time that may not be known.
_MOMENT = "coalesce(%s::timestamptz, CURRENT_TIMESTAMP)"


def _spelled_moment(moment: datetime | None) -> str | None:
    return None if moment is None else moment.isoformat()
