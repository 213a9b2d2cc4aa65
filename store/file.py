"""Memory files: create them, and open them to read or to write."""

from __future__ import annotations

import secrets
import sqlite3
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any, Literal

from .connection import (
    connect,
    file_replaced_error,
    ignored_change_error,
    retry_while_busy,
    translate_errors,
)
from .errors import (
    SAVE_HINT,
    OutdatedFile,
    RejectedChange,
    StoreError,
    UnusableFile,
    file_errors,
)
from .migrate import apply_steps, migrate
from .migrations import APPLICATION_ID
from .schema_of_file import is_outdated, newest_version, version_of
from .sidecar import file_size, link_into_place, remove_file
from .validate import refuse_broken_link, refuse_non_database, refuse_unusable

# The device and inode of a file.
Identity = tuple[int, int]


@dataclass(frozen=True)
class MemoryFile:
    """An open memory file. Only store/ uses `conn`."""

    path: Path
    conn: sqlite3.Connection
    # None for a file that does not have its name yet.
    identity: Identity | None
    # The columns of its tables, cached.
    _columns: dict[str, frozenset[str]] = field(default_factory=dict, repr=False, compare=False)

    def columns(self, table: str) -> frozenset[str]:
        """Return the names of a table's columns; none for an unknown table."""
        if not self._columns.get(table):
            names = self.column("SELECT name FROM pragma_table_info(?)", [table])
            self._columns[table] = frozenset(names)
        return self._columns[table]

    def tuples(self, sql: str, parameters: Sequence[object] = ()) -> Iterator[Any]:
        """Run a query and iterate over its rows as tuples.

        Not a generator: after an interruption, it would close its cursor later than the file.
        """
        return iter(retry_while_busy(partial(self.conn.execute, sql, parameters)))

    def all_tuples(self, sql: str, parameters: Sequence[object] = ()) -> list[Any]:
        """Run a query and return its rows; decodes valid texts twice as fast as `tuples`."""
        replacing = self.conn.text_factory
        self.conn.text_factory = str
        try:
            return retry_while_busy(partial(self.conn.execute, sql, parameters)).fetchall()
        except sqlite3.OperationalError as error:
            if not str(error).startswith("Could not decode"):
                raise
        finally:
            self.conn.text_factory = replacing
        return list(self.tuples(sql, parameters))

    def rows(self, sql: str, parameters: Sequence[object] = ()) -> Iterator[dict[str, Any]]:
        """Run a query and yield its rows as dicts of column to value."""
        cursor = retry_while_busy(partial(self.conn.execute, sql, parameters))
        names = [column[0] for column in cursor.description]
        for row in cursor:
            yield dict(zip(names, row, strict=True))

    def column(self, sql: str, parameters: Sequence[object] = ()) -> list[Any]:
        """Run a query and return the first column of its rows."""
        return [row[0] for row in self.tuples(sql, parameters)]

    def value(self, sql: str, parameters: Sequence[object] = ()) -> Any:
        """Run a query of one row and one column; return the value, or None without a row."""
        row = retry_while_busy(partial(self.conn.execute, sql, parameters)).fetchone()
        return None if row is None else row[0]

    @contextmanager
    def transaction(self) -> Iterator[None]:
        """Run a block as one transaction that holds the write lock from the start.

        BEGIN IMMEDIATE, because a deferred transaction fails when it upgrades from reading to
        writing after another writer. Raises `FileHeld` if the lock is not free in time, and
        `UnusableFile` if the file was replaced meanwhile, because the change would be lost.
        """
        with translate_errors(self.path):
            retry_while_busy(partial(self.conn.execute, "BEGIN IMMEDIATE"))
            try:
                yield
                if self.identity is not None and identity_of(self.path) != self.identity:
                    raise file_replaced_error(self.path)
                retry_while_busy(partial(self.conn.execute, "COMMIT"))
            except BaseException:
                if self.conn.in_transaction:
                    self.conn.execute("ROLLBACK")
                raise

    def change_rows(self, sql: str, rows: Sequence[Any]) -> None:
        """Run a statement that must change a row for each of `rows`. Raises `RejectedChange`."""
        if self.conn.executemany(sql, rows).rowcount != len(rows):
            raise ignored_change_error(self.path)

    @contextmanager
    def savepoint(self) -> Iterator[None]:
        """Run a block of a transaction that an error rolls back alone.

        The transaction may go on after that. Raises `RejectedChange` if the database rejects a
        change.
        """
        self.conn.execute("SAVEPOINT block")
        try:
            with translate_errors(self.path):
                yield
        except StoreError as error:
            if self.conn.in_transaction:
                self.conn.execute("ROLLBACK TO block")
                self.conn.execute("RELEASE block")
            elif isinstance(error, RejectedChange):  # a trigger has rolled back everything
                raise StoreError(error.message, error.hint) from error
            raise
        self.conn.execute("RELEASE block")


def create_file(path: Path) -> None:
    """Create an empty memory file. Raises `StoreError` if the path exists."""
    with new_file(path):
        pass


@contextmanager
def new_file(path: Path) -> Iterator[MemoryFile]:
    """Open a new memory file that gets its name when the block succeeds, or is deleted.

    Until then it has a temporary name, so that a killed process leaves nothing at `path`. Raises
    `StoreError` if the path exists.
    """
    _refuse_existing(path)
    unnamed = path.with_name(f".slowwave-{secrets.token_hex(8)}.new")
    try:
        with _translate_os_errors(path):
            unnamed.touch(0o666, exist_ok=False)
        with translate_errors(path), connect(unnamed, "rw") as conn:
            # Nobody else reads it yet, and an incomplete file is deleted: no journal on disk.
            conn.execute("PRAGMA journal_mode = MEMORY")
            # Sync it before it gets its name.
            conn.execute("PRAGMA synchronous = FULL")
            file = MemoryFile(path, conn, None)
            with file.transaction():
                conn.execute(f"PRAGMA application_id = {APPLICATION_ID:d}")
                apply_steps(conn)
            yield file
            conn.execute("PRAGMA journal_mode = WAL")
        _refuse_existing(path)
        with _translate_os_errors(path):
            link_into_place(unnamed, path)
    finally:
        remove_file(unnamed)


def open_or_create(path: Path) -> AbstractContextManager[MemoryFile]:
    """Open a file for writing; create it if it does not exist."""
    return open_writing(path) if _exists(path) else new_file(path)


def open_any_version(path: Path) -> AbstractContextManager[MemoryFile]:
    """Open a memory file of any known schema version to read it, as one consistent snapshot.

    Raises `UnusableFile`.
    """
    return _open(path, "ro")


def needs_migration(path: Path) -> bool:
    """Whether a file has an older schema. Raises `UnusableFile`."""
    with open_any_version(path) as file:
        return is_outdated(file.conn)


@contextmanager
def open_reading(path: Path) -> Iterator[MemoryFile]:
    """Open a memory file read-only, as one consistent snapshot. Raises `UnusableFile`."""
    with open_any_version(path) as file:
        _refuse_outdated(file)
        yield file


@contextmanager
def open_writing(path: Path, same_as: Identity | None = None) -> Iterator[MemoryFile]:
    """Open a memory file for writing.

    same_as: the identity that the file must have. Raises `UnusableFile`.
    """
    with _open(path, "rw") as file:
        if same_as not in (None, file.identity):
            raise file_replaced_error(path)
        _refuse_outdated(file)
        _prepare_writing(file)
        yield file


def _refuse_outdated(file: MemoryFile) -> None:
    if is_outdated(file.conn):
        raise OutdatedFile(
            f"{file.path} has schema version {schema_version(file)}; "
            f"this slowwave needs version {newest_version()}.",
            "Migrate it, with a backup: slowwave maintain FILE --backup",
        )


def _prepare_writing(file: MemoryFile) -> None:
    file.conn.execute("COMMIT")  # of the reading transaction
    # Commits must survive a power failure; SQLite may be built with less. Without a log, FULL does
    # not sync the folder after deleting the rollback journal, which could reappear.
    file.conn.execute("PRAGMA synchronous = EXTRA")


def migrate_file(path: Path) -> None:
    """Migrate an older schema. Raises `UnusableFile`."""
    with _open(path, "rw") as file:
        if not is_outdated(file.conn):
            return
        _prepare_writing(file)
        # Before the lock, because agents can write meanwhile.
        if (message := file.value("PRAGMA integrity_check(1)")) != "ok":
            raise UnusableFile(f"{path} is damaged: {message}.", SAVE_HINT)
        # Migrations recreate tables; rows that refer to them must not be changed or deleted.
        file.conn.execute("PRAGMA foreign_keys = OFF")
        with file.transaction():
            if is_outdated(file.conn):  # unless another process has migrated it since
                migrate(file.conn, path)


def checkpoint_log(path: Path) -> None:
    """Move the content of the write-ahead log into the file. Raises `StoreError`."""
    if file_size(Path(f"{path}-wal")):
        with open_writing(path) as file:
            file.conn.execute("PRAGMA wal_checkpoint(TRUNCATE)")


def schema_version(file: MemoryFile) -> int:
    """Return the schema version of a file."""
    return version_of(file.conn)


@contextmanager
def _open(path: Path, mode: Literal["ro", "rw"]) -> Iterator[MemoryFile]:
    """Open a file in a reading transaction, during which agents can write."""
    refuse_non_database(path)
    with translate_errors(path), connect(path, mode) as conn:
        identity = identity_of(path)
        if identity is None:
            raise file_replaced_error(path)
        conn.execute("BEGIN")
        # In a file without a log, a commit blocks readers.
        retry_while_busy(partial(conn.execute, "PRAGMA user_version")).fetchone()
        refuse_unusable(conn, path)
        yield MemoryFile(path, conn, identity)


def identity_of(path: Path) -> Identity | None:
    """Return what distinguishes a file from one that replaces it; None if it is gone."""
    try:
        status = path.stat()
    except OSError:
        return None  # deleted, or its folder is not accessible
    return status.st_dev, status.st_ino


def _exists(path: Path) -> bool:
    with _translate_os_errors(path):
        try:
            path.lstat()
        except FileNotFoundError:
            return False
        return True


def _refuse_existing(path: Path) -> None:
    if _exists(path):
        refuse_broken_link(path)
        raise _exists_error(path)
    for suffix in ("-wal", "-journal"):
        log = Path(f"{path}{suffix}")
        with _translate_os_errors(path):
            is_leftover = file_size(log) > 0
        if is_leftover:
            raise StoreError(
                f"{log} is a leftover of another file and would be replayed into this one.",
                "Move it next to that file, or remove it.",
            )


def _exists_error(path: Path) -> StoreError:
    if path.is_dir():
        return StoreError(f"{path} is a folder.", f"Specify a file in it: {path / 'memory.db'}")
    return StoreError(f"{path} already exists.", "Choose another name, or use this file.")


@contextmanager
def _translate_os_errors(path: Path) -> Iterator[None]:
    hint = "Its folder must exist and be writable, and the disk must have space."
    with file_errors("create", path, hint, UnusableFile):
        try:
            yield
        except FileExistsError:
            raise _exists_error(path) from None
