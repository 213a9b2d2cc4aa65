"""Formats whose memories are rows of a database, some with vectors of their agent's own model.

No database says reliably which model made its vectors, so those of some of its texts are computed
again, by the model that the caller lends, and compared.
"""

from __future__ import annotations

from abc import abstractmethod
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

from .base import Change, Format, New, OpenFile, Unreadable
from .rows import Rows, refuse_other_vectors


@dataclass(frozen=True)
class TriedSchema:
    """The newest schema of a package that slowwave was tried with."""

    number: int
    version: str


class OpenDatabase(OpenFile, Rows):
    """The rows of a database within a transaction."""

    @abstractmethod
    def samples(self) -> list[tuple[str, bytes]] | None:
        """Return some texts with their stored vectors.

        None if there are no vectors, and none are needed. Raises `Unreadable`.
        """

    @abstractmethod
    def texts_to_embed(self, new: New) -> list[str]:
        """Return of which texts a new memory would need the vectors."""


class DatabaseFormat(Format):
    """A database that its agent has open all the while."""

    is_dated = True
    may_need_vectors = True
    schema: ClassVar[TriedSchema]

    @abstractmethod
    def opened(self, path: Path, writes: bool) -> AbstractContextManager[OpenDatabase]:
        """Open a database; if `writes`, its agent waits until the block has ended.

        Raises `Unreadable`, or `FileHeld` if its agent does not let go of it.
        """

    @abstractmethod
    def schema_number(self, path: Path) -> int | None:
        """Return the number of a database's schema; None if it has none that can be read."""

    def why_no_texts(self, path: Path) -> str | None:
        """Say that its vectors are of another model than the one that is lent, if they are."""
        with self.opened(path, writes=False) as database:
            try:
                refuse_other_vectors(self.model, database.samples())
            except Unreadable as error:
                return error.message
        return None

    def compute_vectors(self, path: Path, change: Change) -> None:
        """Compute those of the new texts, and those by which the model of the others is known."""
        coming = [one for one in change.put if one.image is None]
        if self.model is None or not coming:
            return
        with self.opened(path, writes=False) as database:
            samples = database.samples()
            if samples is None:
                return
            texts = [text for one in coming for text in database.texts_to_embed(one)]
        self.model.compute([*(text for text, _ in samples), *texts])

    def remark(self, path: Path) -> str | None:
        """Say so if a newer version of the package than was tried has made the tables."""
        found = self.schema_number(path)
        if found is None or found <= self.schema.number:
            return None
        return (
            f"{path} has schema {found} of {self.name}, newer than {self.schema.number} "
            f"of version {self.schema.version}, with which slowwave was tried."
        )
