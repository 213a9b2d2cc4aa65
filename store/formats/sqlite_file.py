"""Formats whose files are SQLite databases: rows leave by what the package itself has for that.

Rows of its agent's own are only hidden and brought back. A text is added where it needs no vector,
or where the model that the caller lends made the vectors of the file.
"""

from __future__ import annotations

import sqlite3
from abc import abstractmethod
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar

from slowwave.store.connection import retry_while_busy, translate_errors
from slowwave.store.opening import is_database, open_database

from .base import Change, ChangedMeanwhile, Image, New, Record, Unreadable, Written
from .database import DatabaseFormat, OpenDatabase
from .rows import Leaving, changed, refuse_other_vectors

if TYPE_CHECKING:
    from .lent_model import LentModel

# How long we wait for the agent's own writes, in seconds at a time; `retry_while_busy` tries again.
_SECONDS = 0.2


class SqliteFormat(DatabaseFormat):
    """A SQLite database that its agent has open all the while."""

    # The columns by which its tables are known.
    tables: ClassVar[Mapping[str, frozenset[str]]]
    # Gives the number of a file's schema.
    schema_query: ClassVar[str]

    @abstractmethod
    def read(self, db: sqlite3.Connection) -> Iterator[Record]:
        """Yield the memories that its agent would find. Raises `Unreadable`."""

    def put(self, db: sqlite3.Connection, new: New) -> str:
        """Add a text, and give its key. Raises `Unreadable`."""
        raise Unreadable("No text can be added to this file.")

    def can_rewrite(self, db: sqlite3.Connection, key: str, new: New) -> bool:
        """Whether a row may say another text: slowwave added it, and no other row says that."""
        return False

    def rewrite(
        self, db: sqlite3.Connection, key: str, new: New, former: Image | None
    ) -> tuple[str, Image]:
        """Let a row say another text, and give its new key, and what went with the old text.

        former: what went with this text when the row had it before. Raises `Unreadable`.
        """
        raise Unreadable("No text can be changed in this file.")

    @abstractmethod
    def retire(self, db: sqlite3.Connection, leaving: Leaving) -> Image:
        """Hide a memory from each ordinary read, and give what brings it back."""

    @abstractmethod
    def bring_back(self, db: sqlite3.Connection, image: Image) -> str:
        """Undo what `retire` did, and give the memory's key. Raises `Unreadable`."""

    def recognises(self, path: Path) -> bool:
        """Whether it has the tables."""
        if not is_database(path):
            return False
        # Without a log the file itself says it all, and to look lays none beside it.
        has_log = any(Path(f"{path.resolve()}{one}").exists() for one in ("-wal", "-journal"))
        try:
            with open_database(path, "ro" if has_log else "immutable", _SECONDS) as db:
                return self._has_tables(db)
        except sqlite3.DatabaseError:
            return False

    def samples(self, db: sqlite3.Connection) -> list[tuple[str, bytes]] | None:
        """Return some texts of the file with their stored vectors.

        None if the file has no vectors, and needs none.
        """
        return None

    def texts_to_embed(self, db: sqlite3.Connection, new: New) -> list[str]:
        """Return of which texts a new memory would need the vectors."""
        return [new.text]

    def model_of(self, db: sqlite3.Connection) -> LentModel | None:
        """Return what makes vectors for a file; None if it needs none. Raises `Unreadable`."""
        samples = self.samples(db)
        refuse_other_vectors(self.model, samples)
        return None if samples is None else self.model

    def schema_number(self, path: Path) -> int | None:
        """Return what the file answers to `schema_query`; None if that is no number."""
        try:
            with open_database(path, "ro", _SECONDS) as db:
                (found,) = db.execute(self.schema_query).fetchone()
        except sqlite3.Error:
            return None
        return found if isinstance(found, int) else None

    def _has_tables(self, db: sqlite3.Connection) -> bool:
        return all(
            columns <= {row[1] for row in db.execute(f"PRAGMA table_info({table})")}
            for table, columns in self.tables.items()
        )

    @contextmanager
    def opened(self, path: Path, writes: bool) -> Iterator[OpenDatabase]:
        """Open a database; if `writes`, its agent waits until the block has ended."""
        if not path.exists():
            raise Unreadable(f"Cannot read {path}: there is no such file.")
        if not is_database(path):
            raise Unreadable(f"{path} is not a SQLite database.")
        if writes and self.is_only_read:
            raise Unreadable(f"{path} is only read, since it is of {self.about}.")
        with translate_errors(path), open_database(path, "rw" if writes else "ro", _SECONDS) as db:
            retry_while_busy(lambda: db.execute("BEGIN IMMEDIATE" if writes else "BEGIN"))
            if not self._has_tables(db):
                raise Unreadable(f"{path} is not a database of {self.about}.")
            try:
                yield _OpenSqlite(self, db, path)
            finally:
                if db.in_transaction:
                    db.execute("ROLLBACK")


class _OpenSqlite(OpenDatabase):
    """A database within a transaction: nobody else changes it before the end."""

    def __init__(self, format: SqliteFormat, db: sqlite3.Connection, path: Path) -> None:
        self._format = format
        self._db = db
        self._path = path
        self._place = _place(path)

    # Not all who open a database want its memories.
    @cached_property
    def records(self) -> list[Record]:  # type: ignore[override]  # read once, and then an attribute
        """The memories, as they are when the first is asked for."""
        return list(self._format.read(self._db))

    def prepare(self, change: Change) -> Written:
        """Do it within the transaction."""
        # The caller has another file open, which is not the one to be named.
        with translate_errors(self._path):
            return changed(self, change, self.records)

    def samples(self) -> list[tuple[str, bytes]] | None:
        """Return some texts with their stored vectors; None if there are none, and need not be."""
        return self._format.samples(self._db)

    def texts_to_embed(self, new: New) -> list[str]:
        """Return of which texts a new memory would need the vectors."""
        return self._format.texts_to_embed(self._db, new)

    def put(self, new: New) -> str:
        """Add a text, and give its key. Raises `Unreadable`."""
        return self._format.put(self._db, new)

    def can_rewrite(self, key: str, new: New) -> bool:
        """Whether a row may say another text."""
        return self._format.can_rewrite(self._db, key, new)

    def rewrite(self, key: str, new: New, former: Image | None) -> tuple[str, Image]:
        """Let a row say another text. Raises `Unreadable`."""
        return self._format.rewrite(self._db, key, new, former)

    def retire(self, leaving: Leaving) -> Image:
        """Hide a memory, and give what brings it back."""
        return self._format.retire(self._db, leaving)

    def bring_back(self, image: Image) -> str:
        """Undo what `retire` did, and give the memory's key. Raises `Unreadable`."""
        return self._format.bring_back(self._db, image)

    def commit(self) -> None:
        """Let others see it, unless another file has been put in its place."""
        if _place(self._path) != self._place:
            raise ChangedMeanwhile(self._path)
        with translate_errors(self._path):
            retry_while_busy(lambda: self._db.execute("COMMIT"))


def _place(path: Path) -> tuple[int, int] | None:
    """Return by what a file is told from one that is put in its place; None if it is gone."""
    try:
        found = path.stat()
    except OSError:
        return None
    return found.st_dev, found.st_ino
