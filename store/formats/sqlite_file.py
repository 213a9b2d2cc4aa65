"""Formats whose files are SQLite databases: rows leave by what the package itself has for that.

Rows of its agent's own are only hidden and brought back. A text is added where it needs no vector:
that would have to be of the model that the file was made with, and no file says which one that is.
"""

from __future__ import annotations

import sqlite3
from abc import abstractmethod
from collections.abc import Iterator, Mapping
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

from slowwave.store.connection import explained, patiently
from slowwave.store.validate import is_database

from .base import Change, Format, Image, New, OpenFile, Record, Unreadable, Written

# How long we wait for the agent's own writes, in seconds at a time; `patiently` tries again.
_SECONDS = 0.2


@dataclass(frozen=True)
class Schema:
    """The newest schema of a package's that was tried."""

    # Gives the number of a file's schema.
    query: str
    newest: int
    version: str


class SqliteFormat(Format):
    """A database that its agent has open all the while."""

    is_dated = True
    # The columns by which its tables are known.
    tables: ClassVar[Mapping[str, frozenset[str]]]
    schema: ClassVar[Schema]

    @abstractmethod
    def read(self, db: sqlite3.Connection) -> Iterator[Record]:
        """Yield the memories that its agent would find. Raises `Unreadable`."""

    def put(self, db: sqlite3.Connection, new: New) -> str:
        """Add a text, and give its key. Raises `Unreadable`."""
        raise Unreadable("No text can be added to this file.")

    @abstractmethod
    def retire(self, db: sqlite3.Connection, key: str, heir: str | None) -> Image:
        """Hide a memory from each ordinary read, and give what brings it back.

        heir: the key of the memory that says the same, where there is one.
        """

    @abstractmethod
    def bring_back(self, db: sqlite3.Connection, image: Image) -> str:
        """Undo what `retire` did, and give the memory's key. Raises `Unreadable`."""

    def recognises(self, path: Path) -> bool:
        """Whether it has the tables."""
        if not is_database(path):
            return False
        try:
            with connected(path, "ro") as db:
                return self._has_tables(db)
        except sqlite3.DatabaseError:
            return False

    def takes_texts(self, path: Path) -> bool:
        """Whether texts can be added: not unless a format says so."""
        return False

    def remark(self, path: Path) -> str | None:
        """Say so if a newer version of the package than was tried has made the file's tables."""
        try:
            with connected(path, "ro") as db:
                (found,) = db.execute(self.schema.query).fetchone()
        except sqlite3.Error:
            return None
        if not isinstance(found, int) or found <= self.schema.newest:
            return None
        return (
            f"{path} has schema {found} of {self.name}, newer than {self.schema.newest} "
            f"of version {self.schema.version}, with which slowwave was tried."
        )

    def _has_tables(self, db: sqlite3.Connection) -> bool:
        return all(
            columns <= {row[1] for row in db.execute(f"PRAGMA table_info({table})")}
            for table, columns in self.tables.items()
        )

    @contextmanager
    def opened(self, path: Path, writes: bool) -> Iterator[OpenFile]:
        """Open a database; if `writes`, its agent waits until the block has ended."""
        if not is_database(path):
            raise Unreadable(f"{path} is not a SQLite database.")
        if writes and self.is_only_read:
            raise Unreadable(f"{path} is only read, since it is of {self.about}.")
        with explained(path), connected(path, "rw" if writes else "ro") as db:
            patiently(lambda: db.execute("BEGIN IMMEDIATE" if writes else "BEGIN"))
            if not self._has_tables(db):
                raise Unreadable(f"{path} is not a database of {self.about}.")
            try:
                yield _OpenDatabase(self, db)
            finally:
                if db.in_transaction:
                    db.execute("ROLLBACK")


class _OpenDatabase(OpenFile):
    """A database within a transaction: nobody else changes it before the end."""

    def __init__(self, format: SqliteFormat, db: sqlite3.Connection) -> None:
        self._format = format
        self._db = db
        self.records = list(format.read(db))

    def prepare(self, change: Change) -> Written:
        """Do it within the transaction."""
        keys: dict[str, str] = {}
        for new in change.put:
            keys[new.memory] = (
                self._format.put(self._db, new)
                if new.image is None
                else self._format.bring_back(self._db, new.image)
            )
        images = {
            memory: self._format.retire(self._db, key, change.heirs.get(key))
            for key, memory in change.retire.items()
        }
        return Written(keys, images)

    def commit(self) -> None:
        """Let others see it."""
        patiently(lambda: self._db.execute("COMMIT"))


@contextmanager
def connected(path: Path, mode: str) -> Iterator[sqlite3.Connection]:
    """Provide a database of another program's, without any change to how it is set up."""
    uri = f"{path.absolute().as_uri()}?mode={mode}"
    with closing(sqlite3.connect(uri, uri=True, timeout=_SECONDS, isolation_level=None)) as db:
        yield db
