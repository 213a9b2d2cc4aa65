"""Formats whose files are SQLite databases: rows are removed by the package's own means.

Rows of the agent are only hidden and restored. A text is added if it needs no vector, or if the
model that the caller lends computed the vectors of the file.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from functools import cached_property, partial
from pathlib import Path
from typing import ClassVar

from slowwave.store.connection import retry_while_busy, translate_errors
from slowwave.store.erasing import clean
from slowwave.store.file import MemoryFile, identity_of
from slowwave.store.opening import is_database, open_database

from .base import Change, ChangedMeanwhile, Record, Unreadable, Written, first_few, shortened
from .database import DatabaseFormat, OpenDatabase
from .vector_model import EmbeddingModel

# How long we wait for the agent's writes, in seconds at a time; `retry_while_busy` tries again.
_SECONDS = 0.2


class OpenSqlite(OpenDatabase):
    """A SQLite database within a transaction; nobody else changes it before the end."""

    def __init__(self, db: sqlite3.Connection, path: Path, model: EmbeddingModel | None) -> None:
        self.db = db
        self.model = model
        self._path = path
        self._identity = identity_of(path)

    # Some callers need no memories.
    @cached_property
    def records(self) -> list[Record]:  # type: ignore[override]  # read once, and then an attribute
        """The memories when they are first read."""
        return list(self.read())

    def prepare(self, change: Change) -> Written:
        """Change the rows within the transaction. Raises `Unreadable`."""
        # The caller has another file open, which errors must not name.
        with translate_errors(self._path):
            return super().prepare(change)

    def commit(self) -> None:
        """Commit, unless another file has replaced this one. Raises `ChangedMeanwhile`."""
        if identity_of(self._path) != self._identity:
            raise ChangedMeanwhile(self._path)
        with translate_errors(self._path):
            retry_while_busy(lambda: self.db.execute("COMMIT"))


class SqliteFormat(DatabaseFormat):
    """A SQLite database that its agent keeps open."""

    # The columns that identify its tables.
    tables: ClassVar[Mapping[str, frozenset[str]]]
    # Returns the number of a file's schema.
    schema_query: ClassVar[str]
    rows: ClassVar[type[OpenSqlite]]
    # Whether it is a user's own, in which `forget` deletes rows.
    deletes_rows: ClassVar[bool] = False

    def recognises(self, path: Path) -> bool:
        """Whether it has the tables."""
        if not is_database(path):
            return False
        try:
            with looking(path) as db:
                return self._has_tables(db)
        except sqlite3.DatabaseError:
            return False

    def schema_number(self, path: Path) -> int | None:
        """Return the result of `schema_query`; None if it is not a number."""
        try:
            with looking(path) as db:
                (number,) = db.execute(self.schema_query).fetchone()
        except sqlite3.Error:
            return None
        return number if isinstance(number, int) else None

    def clean(self, path: Path) -> None:
        """Rewrite the database without the bytes of deleted rows, and empty its log."""
        if self.is_only_read:
            return
        with translate_errors(path), open_database(path, "rw", _SECONDS) as db:
            clean(MemoryFile(path, db, None))

    def _open(self, db: sqlite3.Connection, path: Path, writes: bool) -> OpenDatabase:
        return self.rows(db, path, self.model)

    def remark(self, path: Path) -> str | None:
        """Return also which memories count as undated."""
        with self.opened(path, writes=False) as database:
            texts = [record.text for record in database.records if record.observed_at is None]
        undated = list(filter(str.strip, texts))  # a row without a text is not a memory
        remarks = [super().remark(path)]
        if undated:
            named = first_few([f"'{shortened(text)}'" for text in undated])
            remarks.append(f"Memories without a valid time count as undated: {named}.")
        return "\n".join(filter(None, remarks)) or None

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
            raise Unreadable(f"{path} is read-only, because it is {self.about}.")
        # A read-only connection would leave the log that it creates.
        can_write = writes or not _has_log(path)
        with (
            translate_errors(path),
            open_database(path, "rw" if can_write else "ro", _SECONDS) as db,
        ):
            db.execute(f"PRAGMA query_only = {not writes}")
            # A row that is not UTF-8 must not end a run.
            db.text_factory = partial(str, encoding="utf-8", errors="replace")
            if self.deletes_rows:  # to which others may refer
                db.execute("PRAGMA foreign_keys = ON")
            retry_while_busy(lambda: db.execute("BEGIN IMMEDIATE" if writes else "BEGIN"))
            if not self._has_tables(db):
                raise Unreadable(f"{path} is not {self.about}.")
            try:
                yield self._open(db, path, writes)
            finally:
                if db.in_transaction:
                    db.execute("ROLLBACK")


@contextmanager
def looking(path: Path) -> Iterator[sqlite3.Connection]:
    """Connect to a database, creating nothing next to it."""
    # Without a log the file alone is complete, and reading it creates no log.
    with open_database(path, "ro" if _has_log(path) else "immutable", _SECONDS) as db:
        yield db


def _has_log(path: Path) -> bool:
    return any(Path(f"{path.resolve()}{end}").exists() for end in ("-wal", "-journal"))
