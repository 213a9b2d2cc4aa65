"""One SQLite file: create it, open it to read or to write, refuse what is not ours."""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from .errors import FileHeld, StoreError, UnusableFile
from .schema import APPLICATION_ID, STEPS, migrations

if TYPE_CHECKING:
    from sqlite_utils import Database

# How long a write waits for another writer's short transaction, in milliseconds.
BUSY_TIMEOUT_MS = 10_000
_MAGIC = b"SQLite format 3\x00"


@dataclass(frozen=True)
class MemoryFile:
    """An open memory file. `db` stays inside this folder."""

    path: Path
    db: Database

    def rows(self, sql: str, parameters: Sequence[object] = ()) -> Iterator[dict[str, Any]]:
        """Run a query and give its rows one by one, each as a dict of column to value."""
        cursor = self.db.conn.execute(sql, parameters)
        names = [column[0] for column in cursor.description]
        for row in cursor:
            yield dict(zip(names, row, strict=True))

    def value(self, sql: str, parameters: Sequence[object] = ()) -> Any:
        """Run a query of one row and one column and give the value, or None without a row."""
        row = self.db.conn.execute(sql, parameters).fetchone()
        return None if row is None else row[0]

    @contextmanager
    def transaction(self) -> Iterator[None]:
        """One whole change: the write lock from the start, all of it kept or none of it.

        BEGIN IMMEDIATE, since a deferred transaction that upgrades from reading to writing
        fails at once when another writer came between. Raises `FileHeld` when the lock is not
        to be had in time.
        """
        with _explained(self.path):
            self.db.conn.execute("BEGIN IMMEDIATE")
        try:
            yield
            self.db.conn.execute("COMMIT")
        except BaseException:
            if self.db.conn.in_transaction:
                self.db.conn.execute("ROLLBACK")
            raise


def create_file(path: Path) -> None:
    """Make a new, empty memory file. Raises `StoreError` if something stands there already."""
    try:
        # O_EXCL: of two that create the same file, one is told so.
        os.close(os.open(path, os.O_CREAT | os.O_EXCL | os.O_RDWR, 0o666))
    except FileExistsError:
        raise StoreError(f"{path} exists already.", "Choose another name, or use it.") from None
    except OSError as error:
        raise UnusableFile(f"Cannot create {path}: {error.strerror}.") from error
    try:
        with _explained(path), _connected(path, "rw") as db:
            db.conn.execute("PRAGMA journal_mode = WAL")
            with MemoryFile(path, db).transaction():
                db.conn.execute(f"PRAGMA application_id = {APPLICATION_ID:d}")
                _migrate(db)
    except BaseException:
        remove_file(path)
        raise


def remove_file(path: Path) -> None:
    """Delete a file that this very command created, with what SQLite laid beside it."""
    for suffix in ("", "-wal", "-shm", "-journal"):
        Path(f"{path}{suffix}").unlink(missing_ok=True)


@contextmanager
def open_reading(path: Path) -> Iterator[MemoryFile]:
    """Open a memory file so that nothing can be written to it, not even by mistake.

    Raises `UnusableFile`. One consistent picture of the file is read throughout.
    """
    with _opened(path, "ro") as file:
        if migrations().pending(file.db):
            raise UnusableFile(
                f"{path} has schema version {schema_version(file)}; "
                f"this slowwave reads version {len(STEPS)}.",
                "Whatever writes to it brings it up to date, such as 'slowwave add'.",
            )
        # A transaction from the first read on: agents may go on writing meanwhile.
        file.db.conn.execute("BEGIN")
        yield file


@contextmanager
def open_writing(path: Path) -> Iterator[MemoryFile]:
    """Open a memory file for writing, and bring an older schema up to date.

    Raises `UnusableFile`.
    """
    with _opened(path, "rw") as file:
        if migrations().pending(file.db):
            with file.transaction():
                _migrate(file.db)
        yield file


def bring_up_to_date(path: Path) -> None:
    """Bring an older schema up to date, before the file is read. Raises `UnusableFile`."""
    with open_writing(path):
        pass


@contextmanager
def maintenance_lock(path: Path) -> Iterator[None]:
    """Hold the file against other maintenance runs, not against agents.

    The operating system lets go of the lock when its process ends, however it ends. Raises
    `FileHeld` at once when another run has it.
    """
    import filelock

    _refuse_what_is_no_database(path)  # else a wrong name would leave a lock behind
    lock = filelock.FileLock(_beside(path, ".maintenance.lock"))
    try:
        lock.acquire(blocking=False)
    except filelock.Timeout:
        raise FileHeld(
            f"Another maintenance run holds {path}.", "Wait until it has ended, then try again."
        ) from None
    except OSError as error:
        raise StoreError(
            f"Cannot lock {path}: {error.strerror}.",
            "The folder of the memory file must be writable.",
        ) from error
    try:
        yield
    finally:
        lock.release()


def schema_version(file: MemoryFile) -> int:
    """Give how many migrations the file has had."""
    return len(migrations().applied(file.db))


@contextmanager
def _opened(path: Path, mode: str) -> Iterator[MemoryFile]:
    _refuse_what_is_no_database(path)
    with _explained(path), _connected(path, mode) as db:
        _refuse_what_is_not_ours(db, path)
        yield MemoryFile(path, db)


@contextmanager
def _connected(path: Path, mode: str) -> Iterator[Database]:
    from sqlite_utils import Database

    conn = sqlite3.connect(
        f"{path.absolute().as_uri()}?mode={mode}",
        uri=True,
        timeout=BUSY_TIMEOUT_MS / 1000,
        isolation_level=None,  # transactions begin where we say so
    )
    try:
        # A text that an agent cut within a character is read all the same; `check` names it.
        conn.text_factory = partial(str, encoding="utf-8", errors="replace")
        # No plugins: code of other packages has no business in a memory file.
        db = Database(conn, execute_plugins=False)
        conn.execute("PRAGMA foreign_keys = ON")
        yield db
    finally:
        conn.close()


def _migrate(db: Database) -> None:
    steps = migrations()
    steps.apply(db)
    db.conn.execute(f"PRAGMA user_version = {len(steps.applied(db)):d}")


def _refuse_what_is_no_database(path: Path) -> None:
    try:
        with path.open("rb") as stream:
            start = stream.read(len(_MAGIC))
    except FileNotFoundError:
        raise UnusableFile(
            f"There is no file {path}.", f"Make one with: slowwave init {path}"
        ) from None
    except OSError as error:
        raise UnusableFile(f"Cannot read {path}: {error.strerror}.") from error
    if not start:
        raise UnusableFile(
            f"{path} is empty.", f"Remove it, then make a memory file with: slowwave init {path}"
        )
    if start != _MAGIC:
        raise UnusableFile(
            f"{path} is not a memory file: it is not a SQLite database.",
            "Give the path of a file made by 'slowwave init' or 'slowwave import'.",
        )


def _refuse_what_is_not_ours(db: Database, path: Path) -> None:
    application_id = db.conn.execute("PRAGMA application_id").fetchone()[0]
    if application_id != APPLICATION_ID:
        raise UnusableFile(
            f"{path} is a SQLite database, but not a memory file of slowwave.",
            "Bring its memories over as JSON lines with 'slowwave import'.",
        )
    known = {step.__name__ for step in STEPS}
    applied = {step.name for step in migrations().applied(db)}
    version = db.conn.execute("PRAGMA user_version").fetchone()[0]
    if applied - known or version > len(known):
        raise UnusableFile(
            f"{path} has schema version {max(version, len(applied))}; "
            f"this slowwave knows versions up to {len(known)}.",
            "Install a newer slowwave.",
        )
    pages, size = (
        db.conn.execute(f"PRAGMA {name}").fetchone()[0] for name in ("page_count", "page_size")
    )
    # Less on disk than the header promises, and no log that could hold the rest: cut off.
    if not _size(_beside(path, "-wal")) and _size(path) < pages * size:
        raise UnusableFile(
            f"{path} is damaged: {_size(path)} of {pages * size} bytes are there.",
            "Restore it from a backup.",
        )


def _beside(path: Path, suffix: str) -> Path:
    # Where SQLite lays its own: beside the file itself, not beside a link to it.
    real = path.resolve()
    return real.with_name(f"{real.name}{suffix}")


def _size(path: Path) -> int:
    try:
        return path.stat().st_size
    except FileNotFoundError:
        return 0


@contextmanager
def _explained(path: Path) -> Iterator[None]:
    try:
        yield
    except sqlite3.DatabaseError as error:
        raise _explain(error, path) from error


def _explain(error: sqlite3.DatabaseError, path: Path) -> StoreError:
    """Turn what SQLite says of the file into what a user can act on.

    Anything else, such as a statement that SQLite does not understand, is a defect of ours and
    is raised as it came.
    """
    match getattr(error, "sqlite_errorname", "").removeprefix("SQLITE_").split("_"):
        case ["BUSY" | "LOCKED", *_]:
            return FileHeld(f"{path} is locked by another program.", "Try again in a moment.")
        case ["READONLY", "ROLLBACK" | "RECOVERY"]:
            return UnusableFile(
                f"{path} was left in the middle of a write.",
                "Whatever opens it for writing sets it right, such as 'slowwave add'.",
            )
        case ["READONLY" | "PERM", *_]:
            return StoreError(f"{path} cannot be written.", "Check its permissions.")
        case ["FULL", *_]:
            return StoreError(f"The disk of {path} is full.", "Make room, then try again.")
        case ["CORRUPT" | "NOTADB", *_]:
            return UnusableFile(f"{path} is damaged: {error}.", "Restore it from a backup.")
        case ["IOERR" | "CANTOPEN", *_]:
            return UnusableFile(
                f"{path} cannot be read: {error}.",
                "SQLite must be able to read it, and to lay its log beside it.",
            )
    raise error
