"""Formats whose memories are rows of a database, some with vectors of their agent's own model.

No database reliably names the model of its vectors, so some of its texts are encoded again by the
model that the caller lends, and compared.
"""

from __future__ import annotations

import json
from abc import abstractmethod
from collections.abc import Iterable, Sequence
from contextlib import AbstractContextManager
from datetime import UTC, datetime
from functools import cached_property
from hashlib import sha256
from pathlib import Path
from typing import ClassVar

from slowwave.store.records import content_hash, timestamp

from .base import (
    Change,
    Format,
    Image,
    New,
    OpenFile,
    Record,
    RemovedEntry,
    Unreadable,
    Written,
    put_each,
    refuse_losses,
)
from .vector_model import EmbeddingModel

# The prefix of the ids of rows that slowwave added: these are deleted when they are removed.
OURS = "slowwave-"
_ONLY_READ = "This database is read-only."


class OpenDatabase(OpenFile):
    """The memories of an open database, within a transaction. As it is here, it is read-only."""

    model: EmbeddingModel | None

    @abstractmethod
    def read(self) -> Iterable[Record]:
        """Return the memories that its agent would find now. Raises `Unreadable`."""

    def samples(self) -> list[tuple[str, bytes]] | None:
        """Return some texts with their stored vectors.

        None if there are no vectors and none are needed. Raises `Unreadable`.
        """
        return None

    def texts_to_embed(self, new: New) -> list[str]:
        """Return the texts whose vectors a new memory needs."""
        return [new.text]

    def insert(self, new: New) -> str:
        """Add a text, and return its key. Raises `Unreadable`."""
        raise Unreadable(_ONLY_READ)

    def can_rewrite(self, key: str, new: New) -> bool:
        """Whether a row may get another text: slowwave added it, and no other row has that text."""
        return place_of(key)[1].startswith(OURS)

    def rewrite(self, key: str, new: New, former: Image | None) -> tuple[str, Image]:
        """Give a row another text; return its new key, and an image of what the old text needed.

        former: the image from when the row had this text before. Raises `Unreadable`.
        """
        raise Unreadable(_ONLY_READ)

    def hide(self, removal: RemovedEntry, successor: str | None) -> Image:
        """Hide a memory from every ordinary read, and return the image that restores it.

        successor: the key of what replaces it; None if nothing does.
        """
        raise Unreadable(_ONLY_READ)

    def restore(self, image: Image) -> str:
        """Undo `hide`, and return the memory's key. Raises `Unreadable`."""
        raise Unreadable(_ONLY_READ)

    def erase(self, image: Image) -> None:
        """Delete what `hide` only hid."""
        return

    @cached_property
    def vector_model(self) -> EmbeddingModel | None:
        """The model for the vectors of new texts; None if they need none.

        The stored vectors are checked once, before the first row is written. Raises `Unreadable`.
        """
        samples = self.samples()
        refuse_other_vectors(self.model, samples)
        return None if samples is None else self.model

    def prepare(self, change: Change) -> Written:
        """Change the rows within the transaction. Raises `Unreadable`."""
        keys, own = self._rewrite_rows(change)
        keys |= put_each(
            [new for new in change.put if new.memory not in keys],
            lambda new: self.insert(new) if new.image is None else self.restore(new.image),
        )
        staying = set(keys.values())
        images: dict[str, Image] = {}
        for removal in change.removals:
            if removal.memory in own:
                continue
            if removal.key in staying:
                # A text that was there already is not added twice, and is not removed either.
                images[removal.memory] = {"key": removal.key}
            else:
                to = removal.successor
                successor = None if to is None else keys.get(to.memory, to.key)
                images[removal.memory] = self.hide(removal, successor)
        erased = [images[removal.memory] for removal in change.removals if removal.is_forgotten]
        for image in (*erased, *change.hidden.values()):
            self.erase(image)
        written = Written(keys, images, own=own)
        refuse_losses(self.records, change, written, [record.key for record in self.read()])
        return written

    def _rewrite_rows(self, change: Change) -> tuple[dict[str, str], dict[str, Image | None]]:
        """Change the texts of rows that slowwave added; the agent's rows are replaced instead.

        Returns their keys, and the images of all texts that they had, by hash.
        """
        keys: dict[str, str] = {}
        own: dict[str, Image | None] = {}
        texts = {record.key: record.text for record in self.records}
        formers = {successor.memory: successor.own or {} for successor in change.inheriting}
        former_keys = {removal.memory: removal.key for removal in change.removals}
        for new in change.put:
            key = former_keys.get(new.memory)
            if key is None or not self.can_rewrite(key, new):
                continue
            had = formers.get(new.memory, {})
            keys[new.memory], image = self.rewrite(key, new, had.get(content_hash(new.text)))
            own[new.memory] = had | {content_hash(texts[key]): image}
        return keys, own


class DatabaseFormat(Format):
    """A database that its agent keeps open."""

    is_dated = True
    may_need_vectors = True
    # The number of the newest schema that slowwave was tested with, and its package's version.
    schema: ClassVar[tuple[int, str]]

    @abstractmethod
    def opened(self, path: Path, writes: bool) -> AbstractContextManager[OpenDatabase]:
        """Open a database; if `writes`, its agent waits until the block has ended.

        Raises `Unreadable`, or `FileHeld` if its agent does not release it.
        """

    @abstractmethod
    def schema_number(self, path: Path) -> int | None:
        """Return the number of a database's schema; None if it cannot be read."""

    def no_new_texts_reason(self, path: Path) -> str | None:
        """Return why no text can be added: the vectors are of another model; or None."""
        with self.opened(path, writes=False) as database:
            try:
                refuse_other_vectors(self.model, database.samples())
            except Unreadable as error:
                return error.message
        return None

    def compute_vectors(self, path: Path, change: Change) -> None:
        """Compute the vectors of new texts, and of those that identify the model."""
        coming = [new for new in change.put if new.image is None]
        if self.model is None or not coming:
            return
        with self.opened(path, writes=False) as database:
            samples = database.samples()
            if samples is None:
                return
            texts = [text for new in coming for text in database.texts_to_embed(new)]
        self.model.compute([*(text for text, _ in samples), *texts])

    def remark(self, path: Path) -> str | None:
        """Return a warning about tables of a newer version than the tested one, or None."""
        schema = self.schema_number(path)
        if schema is None or schema <= self.schema[0]:
            return None
        return (
            f"{path} has schema {schema} of {self.name}, newer than {self.schema[0]} of version "
            f"{self.schema[1]}, the newest that slowwave was tested with."
        )


def key_of(place: str, name: str, text: str) -> str:
    """Return what identifies a row until it is edited: a namespace or user, its id, its text."""
    digest = sha256(text.encode(errors="surrogatepass")).hexdigest()[:16]
    return json.dumps([place, name, digest])


def place_of(key: str) -> tuple[str, str]:
    """Return the namespace or user of a row, and its id."""
    place, name, _ = json.loads(key)
    return place, name


def moment_of(text: str | None) -> str | None:
    """Return a time as slowwave spells it; None if the text is not a time."""
    try:
        moment = datetime.fromisoformat(text or "")
        return timestamp(moment if moment.tzinfo else moment.replace(tzinfo=UTC))
    except (TypeError, ValueError, OverflowError):
        return None


def moment_since_epoch(value: object, per_second: int = 1) -> str | None:
    """Return a count since 1970 as slowwave spells a time; None if it is not one until 9999."""
    try:
        return timestamp(datetime.fromtimestamp(value / per_second, UTC))  # type: ignore[operator]  # any SQLite value
    except (TypeError, ValueError, OverflowError, OSError):
        return None


def refuse_other_vectors(
    model: EmbeddingModel | None, samples: Sequence[tuple[str, bytes]] | None
) -> None:
    """Refuse to add texts if their vectors would be of another model than the stored ones.

    samples: some texts with their stored vectors; None if there are no vectors. Raises
    `Unreadable`.
    """
    if samples is None:
        return
    if model is None:
        raise Unreadable("A new text would require a vector, and there is no model to compute it.")
    if not samples:
        raise Unreadable("A new text would require a vector, and there are none to compare with.")
    if not model.has_computed(samples):
        raise Unreadable(f"The vectors in it are not those of {model.name}.")
