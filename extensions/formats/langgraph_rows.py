"""LangMem's memories in a store of LangGraph's, whichever database that lies in.

What leaves moves, with its vectors, to the namespace slowwave_superseded: no search of the
package's own finds it there. A store with an index has a vector for each field that the agent
chose: `$` is the value as JSON, `content` or `content.content` a text in it. A text that is added
gets the same ones.
"""

from __future__ import annotations

import json
import uuid
from abc import abstractmethod
from collections.abc import Iterable, Sequence
from datetime import datetime
from typing import Any, ClassVar

from .base import Image, New, Unreadable
from .database import OpenDatabase
from .langmem import (
    ARCHIVE,
    OURS,
    all_indexed,
    indexed,
    key_of,
    moment_of,
    place_of,
    spelled,
    value_saying,
    vector_of,
)
from .lent_model import LentModel
from .rows import Leaving

# A namespace, and a name in it.
At = tuple[str, str]
_HERE = "WHERE prefix = %s AND key = %s"


class StoreRows(OpenDatabase):
    """The memories of an open store, within a transaction.

    A vector is what the database takes and gives for it; an image has it as text.
    """

    # The types of JSON and of a time in SQL, and a vector as it is read.
    json_type: ClassVar[str]
    moment_type: ClassVar[str]
    embedding: ClassVar[str] = "embedding"

    @property
    @abstractmethod
    def vector_model(self) -> LentModel | None:
        """What makes vectors for new texts; None if they need none. Raises `Unreadable`."""

    @abstractmethod
    def execute(self, sql: str, values: Sequence[object] = ()) -> Any:
        """Run a statement that has %s for each value, and return its cursor."""

    @abstractmethod
    def has_vectors(self) -> bool:
        """Whether there is an index, with something in it."""

    @abstractmethod
    def fields(self, prefix: str) -> list[str]:
        """Return the fields of which the memories of a namespace have vectors."""

    @abstractmethod
    def move(self, source: At, target: At) -> None:
        """Move a row with its vectors. Raises `Unreadable`."""

    @abstractmethod
    def from_model(self, vector: bytes) -> Any:
        """Return a vector of little-endian float32."""

    def to_image(self, vector: Any) -> str:
        """Return a vector as text."""
        return str(vector)

    def from_image(self, text: str) -> Any:
        """Return the vector that a text is."""
        return text

    def texts_to_embed(self, new: New) -> list[str]:
        """Return what the fields of a new text say of which the store keeps vectors."""
        value, _ = self._value_like(new)
        return all_indexed(value, self.fields(new.tenant))

    def put(self, new: New) -> str:
        """Add a value like those in whose place it comes, and as late as the latest of them."""
        model = self.vector_model
        value, created = self._value_like(new)
        at = (new.tenant, f"{OURS}{uuid.uuid4()}")
        self._insert(at, spelled(value), created, created)
        for field in () if model is None else self.fields(new.tenant):
            vector = self.from_model(vector_of(value, field, model))
            self._insert_vector(at, field, vector, created, created)
        return key_of(*at, new.text)

    def can_rewrite(self, key: str, new: New) -> bool:
        """Whether its key is one of slowwave's."""
        return place_of(key)[1].startswith(OURS)

    def rewrite(self, key: str, new: New, former: Image | None) -> tuple[str, Image]:
        """Keep the row's key, form and times."""
        at = place_of(key)
        value, _ = self._value_like(new)
        had = {field: vector for field, vector, *_ in self._vectors_at(at)}
        known = {field: self.from_image(text) for field, text in (former or {}).items()}
        # Looked at before the row is changed, whose vector may be one of its samples; not at all
        # where no vector is made: an undo needs no model.
        model = self.vector_model if had.keys() - known.keys() else None
        self.execute(
            f"UPDATE store SET value = CAST(%s AS {self.json_type}) {_HERE}", [spelled(value), *at]
        )
        for field in had:
            made = field not in known
            vector = self.from_model(vector_of(value, field, model)) if made else known[field]
            self.execute(
                f"UPDATE store_vectors SET embedding = %s {_HERE} AND field_name = %s",
                [vector, *at, field],
            )
        lost = {field: self.to_image(vector) for field, vector in had.items()}
        return key_of(*at, new.text), lost

    def retire(self, leaving: Leaving) -> Image:
        """Move it to the archive; what we added ourselves goes."""
        prefix, name = at = place_of(leaving.key)
        if not name.startswith(OURS):
            archived = self._free_name(prefix, name)
            self.move(at, (_archive(prefix), archived))
            return {"key": leaving.key, "archived": archived}
        row = self._row_at(at)
        if row is None:
            raise Unreadable(f"'{name}' is not in the namespace {prefix} any more.")
        vectors = self._vectors_at(at)
        if vectors:
            self.execute(f"DELETE FROM store_vectors {_HERE}", at)
        self.execute(f"DELETE FROM store {_HERE}", at)
        kept = [[field, self.to_image(vector), *times] for field, vector, *times in vectors]
        return {"key": leaving.key, "row": row, "vectors": kept}

    def bring_back(self, image: Image) -> str:
        """Move it to where it was."""
        key = str(image["key"])
        prefix, name = at = place_of(key)
        if "row" not in image:
            # Earlier runs noted no name: a memory kept its own there.
            self.move((_archive(prefix), str(image.get("archived", name))), at)
            return key
        # Earlier runs noted the namespace and the name in front.
        self._insert(at, *image["row"][-3:])
        for kept in image.get("vectors", ()):
            field, text, *times = kept[-4:]
            self._insert_vector(at, field, self.from_image(text), *times)
        return key

    def _free_name(self, prefix: str, name: str) -> str:
        """Return the name that a memory gets in the archive: its own, unless that is taken there.

        Its agent may have told something else under the name of one that left, and again.
        """
        is_taken = self._row_at((_archive(prefix), name)) is not None
        return f"{name}.{uuid.uuid4()}" if is_taken else name

    def _value_like(self, new: New) -> tuple[dict[str, Any], str | None]:
        """Return a value of the form of those in whose place it comes, and the latest's time."""
        rows = [row for row in map(self._row_at, map(place_of, new.replaces)) if row is not None]
        if not rows:
            return value_saying(new.text, {}), None
        like, created, _ = max(rows, key=lambda row: moment_of(row[1]) or "")
        return value_saying(new.text, json.loads(like)), created

    def _row_at(self, at: At) -> list[Any] | None:
        """Return the JSON of a row, and its times as text."""
        row = self.execute(
            f"SELECT CAST(value AS text), created_at, updated_at FROM store {_HERE}", at
        ).fetchone()
        return None if row is None else [row[0], *map(_as_text, row[1:])]

    def _vectors_at(self, at: At) -> list[list[Any]]:
        """Return the vectors of a row: the field, the vector, its times as text."""
        if not self.has_vectors():
            return []
        rows = self.execute(
            f"SELECT field_name, {self.embedding}, created_at, updated_at FROM store_vectors "
            f"{_HERE} ORDER BY 1",
            at,
        )
        return [[field, vector, *map(_as_text, times)] for field, vector, *times in rows.fetchall()]

    def _insert(self, at: At, value: str, created: str | None, updated: str | None) -> None:
        """Add a row; a time that is not known is now."""
        self.execute(
            "INSERT INTO store (prefix, key, value, created_at, updated_at) VALUES "
            f"(%s, %s, CAST(%s AS {self.json_type}), {self._moment}, {self._moment})",
            [*at, value, created, updated],
        )

    def _insert_vector(
        self, at: At, field: str, vector: Any, created: str | None, updated: str | None
    ) -> None:
        self.execute(
            "INSERT INTO store_vectors (prefix, key, field_name, embedding, created_at, updated_at)"
            f" VALUES (%s, %s, %s, %s, {self._moment}, {self._moment})",
            [*at, field, vector, created, updated],
        )

    @property
    def _moment(self) -> str:
        return f"coalesce(CAST(%s AS {self.moment_type}), CURRENT_TIMESTAMP)"


def sampled(rows: Iterable[tuple[str, str, bytes]]) -> dict[str, bytes]:
    """Return texts with their vectors, of rows of JSON, field and vector."""
    fields = ((indexed(json.loads(value), field), vector) for value, field, vector in rows)
    return {text: vector for text, vector in fields if text is not None}


def _archive(prefix: str) -> str:
    return f"{ARCHIVE}.{prefix}"


def _as_text(moment: datetime | str | None) -> str | None:
    return moment.isoformat() if isinstance(moment, datetime) else moment
