"""A connection to a SQLite file: how it is set up, how it waits, and what its errors mean."""

from __future__ import annotations

import os
import sqlite3
import stat
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Literal, TypeVar

from .errors import FileHeld, StoreError, UnusableFile
from .opening import open_database
from .records import SAVE

# What the triggers that guard shared knowledge say begins so.
SHARED = "shared knowledge: "

if TYPE_CHECKING:
    from sqlite_utils import Database

# How long we wait for another's transaction, in milliseconds ...
BUSY_TIMEOUT_MS = 10_000
# ... and how long of it at a time inside SQLite, where no Ctrl-C is heard.
_DEAF_MS = 200

Result = TypeVar("Result")


@contextmanager
def connect(path: Path, mode: Literal["ro", "rw"]) -> Iterator[Database]:
    """Connect to a file that is there, to read or to write."""
    from sqlite_utils import Database

    sealed = mode == "ro" and is_immutable(path)
    before = path.stat().st_mtime_ns if sealed else 0
    if mode == "rw":
        _make_log_writable(path)
    wait_s = min(_DEAF_MS, BUSY_TIMEOUT_MS) / 1000
    with open_database(path, "immutable" if sealed else mode, wait_s) as conn:
        # A text that an agent cut within a character is read all the same; `check` names it.
        conn.text_factory = partial(str, encoding="utf-8", errors="replace")
        # No plugins: code of other packages has no business in a memory file.
        db = Database(conn, execute_plugins=False)
        conn.execute("PRAGMA foreign_keys = ON")
        # Damage is found before it is believed. trusted_schema, which SQLite's page on files from
        # elsewhere names too, has to stay: SQLite 3.40 would refuse the json_valid of our own
        # CHECKs. Views and triggers find nothing to call here: no function of ours, no extension.
        conn.execute("PRAGMA cell_size_check = ON")
        yield db
        if sealed and path.stat().st_mtime_ns != before:
            raise FileHeld(f"{path} was written to while it was read.", "Try again in a moment.")


def is_immutable(path: Path) -> bool:
    """Whether nothing can be created next to a file, and nobody is using it.

    Even a reader needs a log next to the file, unless it is promised that nobody writes
    (https://www.sqlite.org/wal.html#read_only_databases). With a log there already it has that one.
    """
    return not os.access(path.absolute().parent, os.W_OK) and not Path(f"{path}-wal").exists()


def _make_log_writable(path: Path) -> None:
    """Let the owner write the log beside a file that may be written again.

    SQLite gives a log the mode of the file, and whoever cannot write a file leaves the log there.
    """
    real = path.resolve()
    if not real.exists() or not real.stat().st_mode & stat.S_IWUSR:
        return
    for one in (Path(f"{real}-wal"), Path(f"{real}-shm")):
        # By its name: to close one of them would drop the locks that this process has on it.
        with suppress(OSError):
            if stat.S_ISREG(mode := one.lstat().st_mode) and not mode & stat.S_IWUSR:
                one.chmod(stat.S_IMODE(mode) | stat.S_IWUSR)


def retry_while_busy(step: Callable[[], Result]) -> Result:
    """Repeat a step as long as others are in the way, up to the time-out.

    For steps that may be repeated: to begin a transaction, to begin to read, and to commit, which
    SQLite refuses without a log as long as others read.
    """
    import tenacity

    again = tenacity.Retrying(
        retry=tenacity.retry_if_exception(_is_busy),
        stop=tenacity.stop_after_delay(BUSY_TIMEOUT_MS / 1000),
        # Where SQLite sees no use in waiting it refuses at once.
        wait=tenacity.wait_random(0.005, 0.02),
        reraise=True,
    )
    return again(step)


@contextmanager
def translate_errors(path: Path) -> Iterator[None]:
    """Turn SQLite's errors about the file into `StoreError`s."""
    try:
        yield
    except sqlite3.DatabaseError as error:
        raise _translate(error, path) from error
    except UnicodeDecodeError as error:
        # SQLite speaks of something in the schema, and that is not text any more.
        raise UnusableFile(
            f"{path} is damaged: its schema is not readable throughout.",
            SAVE,
        ) from error


def _is_busy(error: BaseException) -> bool:
    return getattr(error, "sqlite_errorname", "").startswith(("SQLITE_BUSY", "SQLITE_LOCKED"))


def _translate(error: sqlite3.DatabaseError, path: Path) -> StoreError:
    """Turn what SQLite says of the file into what a user can act on.

    Anything else, such as a statement that SQLite does not understand, is a defect of ours and
    is raised as it came.
    """
    match getattr(error, "sqlite_errorname", "").removeprefix("SQLITE_").split("_"):
        case ["CONSTRAINT", "TRIGGER"] if str(error).startswith(SHARED):
            said = str(error).removeprefix(SHARED)
            return StoreError(f"Shared knowledge: {said}.", "Write to it with 'slowwave shared'.")
        case ["BUSY" | "LOCKED", *_]:
            return FileHeld(f"{path} is locked by another program.", "Try again in a moment.")
        case ["READONLY", "ROLLBACK" | "RECOVERY"]:
            return UnusableFile(
                f"{path} was left in the middle of a write.",
                "Whatever opens it for writing sets it right, such as 'slowwave add'.",
            )
        case ["READONLY", "DBMOVED"]:
            return file_replaced_error(path)
        case ["READONLY", "DIRECTORY"]:
            return UnusableFile(
                f"{path} cannot be written: its folder is closed to writing.",
                "SQLite must be able to lay its log beside it. Check the folder's permissions.",
            )
        case ["READONLY", "CANTINIT"]:
            return UnusableFile(
                f"{path} cannot be used: its folder is closed to writing.",
                "SQLite must be able to lay its log beside it, to read as well while it is in use.",
            )
        case ["READONLY" | "PERM", *_]:
            return StoreError(
                f"{path} cannot be written.",
                "Check its permissions, those of its folder, and of what lies beside it.",
            )
        case ["CONSTRAINT", "TRIGGER"]:
            return StoreError(
                f"{path} refuses the change: {error}.", "A trigger that it holds says so."
            )
        case ["FULL", *_]:
            return StoreError(f"The disk of {path} is full.", "Make room, then try again.")
        case ["CORRUPT" | "NOTADB", *_]:
            return UnusableFile(f"{path} is damaged: {error}.", SAVE)
        case ["IOERR", "WRITE" | "FSYNC" | "DIR" | "TRUNCATE" | "DELETE" | "SHMSIZE", *_]:
            return StoreError(f"{path} cannot be written: {error}.", "Check the disk it lies on.")
        case ["IOERR" | "CANTOPEN", *_]:
            return UnusableFile(
                f"{path} cannot be read: {error}.",
                "SQLite must be able to read it, and to lay its log beside it.",
            )
        case ["CONSTRAINT", *_]:
            return StoreError(f"{path} refuses the change: {error}.", "It was not written.")
        case ["ERROR"] if str(error) == "unsupported file format":
            return UnusableFile(f"{path} is damaged: {error}.", SAVE)
        case ["ERROR"] if str(error).startswith(("no such table", "no such column")):
            return UnusableFile(
                f"{path} is not as slowwave made it: {error}.", "'slowwave check' names what is."
            )
    raise error


def file_replaced_error(path: Path) -> UnusableFile:
    """Return the error that another file stands at the path of the one that was opened."""
    return UnusableFile(
        f"{path} was removed or replaced while it was in use.",
        "Nothing was written to what stands there now. Run the command again.",
    )
