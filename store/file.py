"""One SQLite file: create it, open it to read or to write, refuse what is not ours."""

from __future__ import annotations

import secrets
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any, Literal

from .connection import connect, file_replaced_error, retry_while_busy, translate_errors
from .errors import StoreError, UnusableFile
from .lock import maintenance_lock as maintenance_lock
from .migrate import apply_steps, try_on_copy
from .schema import APPLICATION_ID
from .schema_of_file import applied_steps, is_outdated, newest_version
from .sidecar import create_sidecar as create_sidecar
from .sidecar import file_size, link_into_place
from .sidecar import remove_file as remove_file
from .validate import refuse_non_database, refuse_unusable

if TYPE_CHECKING:
    from sqlite_utils import Database

# So many pages are copied at a time.
_PAGES = 5_000

# The device and the number of a file on it.
Identity = tuple[int, int]


@dataclass(frozen=True)
class MemoryFile:
    """An open memory file. `db` stays inside this folder."""

    path: Path
    db: Database
    # Which file was opened; None for one that has no name yet.
    identity: Identity | None

    def values_of_rows(self, sql: str, parameters: Sequence[object] = ()) -> Iterator[Any]:
        """Run a query and give its rows one by one, each as a tuple of its values.

        No generator: one that an interruption leaves behind would close its cursor after the file.
        """
        return iter(retry_while_busy(partial(self.db.conn.execute, sql, parameters)))

    def rows(self, sql: str, parameters: Sequence[object] = ()) -> Iterator[dict[str, Any]]:
        """Run a query and give its rows one by one, each as a dict of column to value."""
        cursor = retry_while_busy(partial(self.db.conn.execute, sql, parameters))
        names = [column[0] for column in cursor.description]
        for row in cursor:
            yield dict(zip(names, row, strict=True))

    def value(self, sql: str, parameters: Sequence[object] = ()) -> Any:
        """Run a query of one row and one column and give the value, or None without a row."""
        row = retry_while_busy(partial(self.db.conn.execute, sql, parameters)).fetchone()
        return None if row is None else row[0]

    @contextmanager
    def transaction(self) -> Iterator[None]:
        """One whole change: the write lock from the start, all of it kept or none of it.

        BEGIN IMMEDIATE, since a deferred transaction that upgrades from reading to writing
        fails at once when another writer came between. Raises `FileHeld` when the lock is not
        to be had in time, and `UnusableFile` when another file stands at the path by the end:
        what went into the one that was opened would be lost with it.
        """
        with translate_errors(self.path):
            retry_while_busy(partial(self.db.conn.execute, "BEGIN IMMEDIATE"))
            try:
                yield
                self._refuse_moved()
                retry_while_busy(partial(self.db.conn.execute, "COMMIT"))
            except BaseException:
                if self.db.conn.in_transaction:
                    self.db.conn.execute("ROLLBACK")
                raise

    def _refuse_moved(self) -> None:
        if self.identity is not None and _identity(self.path) != self.identity:
            raise file_replaced_error(self.path)


def create_file(path: Path) -> None:
    """Make a new, empty memory file. Raises `StoreError` if something stands there already."""
    with new_file(path):
        pass


@contextmanager
def new_file(path: Path) -> Iterator[MemoryFile]:
    """Open a memory file that stands at `path` once the block has ended well, and else not at all.

    Until then it has a name that nobody looks for, so that a process that is killed leaves
    nothing in the way. Raises `StoreError` if something stands there already.
    """
    _refuse_existing(path)
    made = path.with_name(f".slowwave-{secrets.token_hex(8)}.new")
    try:
        with _translate_os_errors(path):
            made.touch(0o666, exist_ok=False)
        with translate_errors(path), connect(made, "rw") as db:
            # Nobody else reads it yet, and half of it is worth nothing: no log on the disk.
            db.conn.execute("PRAGMA journal_mode = MEMORY")
            # It is synced whole before it gets its name.
            db.conn.execute("PRAGMA synchronous = FULL")
            file = MemoryFile(path, db, None)
            with file.transaction():
                db.conn.execute(f"PRAGMA application_id = {APPLICATION_ID:d}")
                apply_steps(db)
            yield file
            db.conn.execute("PRAGMA journal_mode = WAL")
        _refuse_existing(path)
        with _translate_os_errors(path):
            link_into_place(made, path)
    finally:
        remove_file(made)


def open_or_create(path: Path) -> AbstractContextManager[MemoryFile]:
    """Open for writing what stands there, or else a new file."""
    return open_writing(path) if _exists(path) else new_file(path)


@contextmanager
def open_any_version(path: Path) -> Iterator[MemoryFile]:
    """Open a memory file of any schema that we know, to look at it or to copy it.

    Raises `UnusableFile`. One consistent picture of the file is read throughout.
    """
    with _open(path, "ro") as file:
        yield file


def needs_migration(path: Path) -> bool:
    """Whether the file has an older schema. Raises `UnusableFile`."""
    with open_any_version(path) as file:
        return is_outdated(file.db)


@contextmanager
def open_reading(path: Path) -> Iterator[MemoryFile]:
    """Open a memory file so that nothing can be written to it, not even by mistake.

    Raises `UnusableFile`. One consistent picture of the file is read throughout.
    """
    with open_any_version(path) as file:
        if is_outdated(file.db):
            raise UnusableFile(
                f"{path} has schema version {schema_version(file)}; "
                f"this slowwave reads version {newest_version()}.",
                "Whatever writes to it brings it up to date, such as 'slowwave add'.",
            )
        yield file


@contextmanager
def open_writing(path: Path, same_as: Identity | None = None) -> Iterator[MemoryFile]:
    """Open a memory file for writing, and bring an older schema up to date.

    Raises `UnusableFile`, also if it is not the file that `same_as` says.
    """
    with _open(path, "rw") as file:
        if same_as not in (None, file.identity):
            raise file_replaced_error(path)
        is_due = is_outdated(file.db)
        if is_due:
            try_on_copy(path, file.db)
        file.db.conn.execute("COMMIT")  # it only read
        # What was committed outlasts a loss of power. SQLite may be built for less; and without a
        # log, FULL does not sync the folder that the journal was deleted from, and it may be back.
        file.db.conn.execute("PRAGMA synchronous = EXTRA")
        if is_due:
            _migrate(file)
        yield file


@contextmanager
def open_copy(path: Path) -> Iterator[MemoryFile]:
    """Open a copy of a memory file for writing, to try a change of which nothing is to stay.

    The file itself is only read: its folder may be closed, and another run may hold it. What is
    said of the copy names the file. Raises `UnusableFile`.
    """
    with TemporaryDirectory(prefix="slowwave-") as folder:
        copy = Path(folder) / "copy.db"
        copy.touch(exist_ok=False)
        with open_any_version(path) as file, connect(copy, "rw") as target:
            # Some pages at a time: between them Ctrl-C is heard.
            file.db.conn.backup(target.conn, pages=_PAGES, progress=lambda *_: None)
        with open_writing(copy) as file:
            yield replace(file, path=path, identity=None)


def _migrate(file: MemoryFile) -> None:
    # Tables are made anew: what refers to them must not be changed, nor go, along with the old.
    file.db.conn.execute("PRAGMA foreign_keys = OFF")
    with file.transaction():
        # Unless another process has done so since.
        if is_outdated(file.db):
            apply_steps(file.db)
    file.db.conn.execute("PRAGMA foreign_keys = ON")


def migrate_file(path: Path) -> None:
    """Bring an older schema up to date, before the file is read. Raises `UnusableFile`."""
    with open_writing(path):
        pass


def checkpoint_log(path: Path) -> None:
    """Have the file itself hold all that it says, and no log beside it. Raises `StoreError`."""
    if file_size(Path(f"{path}-wal")):
        with open_writing(path) as file:
            file.db.conn.execute("PRAGMA wal_checkpoint(TRUNCATE)")


def schema_version(file: MemoryFile) -> int:
    """Return how many migrations the file has had."""
    return len(applied_steps(file.db))


@contextmanager
def _open(path: Path, mode: Literal["ro", "rw"]) -> Iterator[MemoryFile]:
    """Open in a transaction that reads: agents may go on writing meanwhile."""
    refuse_non_database(path)
    with translate_errors(path), connect(path, mode) as db:
        identity = _identity(path)
        if identity is None:
            raise file_replaced_error(path)
        db.conn.execute("BEGIN")
        # Without a log a reader, too, has to wait while another commits.
        retry_while_busy(partial(db.conn.execute, "PRAGMA user_version")).fetchone()
        refuse_unusable(db, path)
        yield MemoryFile(path, db, identity)


def _identity(path: Path) -> Identity | None:
    try:
        found = path.stat()
    except OSError:
        return None  # it is gone, or behind a folder that was closed
    return found.st_dev, found.st_ino


def _exists(path: Path) -> bool:
    with _translate_os_errors(path):
        try:
            path.lstat()
        except FileNotFoundError:
            return False
        return True


def _refuse_existing(path: Path) -> None:
    if _exists(path):
        raise _exists_error(path)
    for suffix in ("-wal", "-journal"):
        left = Path(f"{path}{suffix}")
        with _translate_os_errors(path):
            is_left = file_size(left) > 0
        if is_left:
            raise StoreError(
                f"{left} is left of another file, and would be taken for a part of this one.",
                "Put it where that file is now, or remove it.",
            )


def _exists_error(path: Path) -> StoreError:
    if path.is_dir():
        return StoreError(f"{path} is a folder.", f"Name a file in it: {path / 'memory.db'}")
    return StoreError(f"{path} exists already.", "Choose another name, or use it.")


@contextmanager
def _translate_os_errors(path: Path) -> Iterator[None]:
    try:
        yield
    except FileExistsError:
        raise _exists_error(path) from None
    except OSError as error:
        raise UnusableFile(
            f"Cannot create {path}: {error.strerror}.",
            "Its folder must be there and writable, with room in it.",
        ) from error
