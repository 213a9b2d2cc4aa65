"""Connections to SQLite files: settings, retries while busy, and errors for users."""

from __future__ import annotations

import os
import re
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Literal, TypeVar

from .errors import SAVE_HINT, DamagedRow, FileHeld, RejectedChange, StoreError, UnusableFile
from .opening import open_database

# The prefix of messages from the triggers that guard shared knowledge.
SHARED = "shared knowledge: "

# What the name of a backup ends with: when it was made, and its number in that second.
BACKUP = r"\.backup-([0-9]{8}T[0-9]{6}Z)(?:-([0-9]+))?"
# How long to wait for another connection's transaction, in milliseconds.
BUSY_TIMEOUT_MS = 10_000
# How long to wait inside SQLite at a time, where Ctrl-C is not handled.
_BUSY_STEP_MS = 200

Result = TypeVar("Result")


@contextmanager
def connect(path: Path, mode: Literal["ro", "rw"]) -> Iterator[sqlite3.Connection]:
    """Connect to an existing file, to read or to write."""
    sealed = mode == "ro" and is_immutable(path)
    before = path.stat().st_mtime_ns if sealed else 0
    wait_s = min(_BUSY_STEP_MS, BUSY_TIMEOUT_MS) / 1000
    with open_database(path, "immutable" if sealed else mode, wait_s) as conn:
        # Text that an agent cut within a character can still be read; `check` reports it.
        conn.text_factory = partial(str, encoding="utf-8", errors="replace")
        conn.execute("PRAGMA foreign_keys = ON")
        # Detect damage early. trusted_schema, which SQLite also recommends to disable for untrusted
        # files, must stay on: SQLite 3.40 would refuse json_valid in our CHECKs. Views and triggers
        # have nothing unsafe to call: there are no application functions and no extensions.
        conn.execute("PRAGMA cell_size_check = ON")
        yield conn
        if sealed and path.stat().st_mtime_ns != before:
            raise FileHeld(f"{path} changed while it was read.", "Try again in a moment.")


def is_immutable(path: Path) -> bool:
    """Whether a file without a log is a backup, or in a read-only folder.

    Readers need a log next to the file, unless they open the file as immutable:
    https://www.sqlite.org/wal.html#read_only_databases.
    """
    real = path.resolve()  # SQLite keeps the log next to it
    is_backup = re.search(f"{BACKUP}$", real.name) is not None
    is_sealed = is_backup or not os.access(real.parent, os.W_OK)
    return is_sealed and not any(Path(f"{real}{end}").exists() for end in ("-wal", "-journal"))


def copy_pages(source: sqlite3.Connection, target: sqlite3.Connection) -> None:
    """Copy a whole database. Ctrl-C is handled every few thousand pages."""
    source.backup(target, pages=5_000, progress=lambda *_: None)


def retry_while_busy(step: Callable[[], Result]) -> Result:
    """Retry a step while the file is locked, up to the timeout.

    For idempotent steps: beginning a transaction, starting to read, and committing, which readers
    block in a file without a log.
    """
    import tenacity

    retry = tenacity.Retrying(
        retry=tenacity.retry_if_exception(_is_busy),
        stop=tenacity.stop_after_delay(BUSY_TIMEOUT_MS / 1000),
        # SQLite does not wait itself where it expects a deadlock.
        wait=tenacity.wait_random(0.005, 0.02),
        reraise=True,
    )
    return retry(step)


@contextmanager
def translate_errors(path: Path) -> Iterator[None]:
    """Turn SQLite's errors into `StoreError`s, and name the file in those about damaged rows."""
    try:
        yield
    except DamagedRow as error:
        raise UnusableFile(f"{path} is damaged: {error.fault}.", error.hint) from error
    except sqlite3.DatabaseError as error:
        raise translate(error, path) from error
    except UnicodeDecodeError as error:
        # SQLite quotes something in the schema that is not valid text.
        raise UnusableFile(
            f"{path} is damaged: parts of its schema are unreadable.",
            SAVE_HINT,
        ) from error


def _is_busy(error: BaseException) -> bool:
    return getattr(error, "sqlite_errorname", "").startswith(("SQLITE_BUSY", "SQLITE_LOCKED"))


_TRIGGER_HINT = "A trigger in the file causes this."
# By the names of SQLite's errors, the most specific first: our error, its message and its hint.
_TRANSLATIONS: tuple[tuple[str, type[StoreError], str, str], ...] = (
    ("BUSY|LOCKED", FileHeld, "{path} is locked by another program.", "Try again in a moment."),
    (
        "READONLY_(ROLLBACK|RECOVERY)",
        UnusableFile,
        "{path} has an interrupted write.",
        "Open it for writing to roll that back, for example with 'slowwave add FILE TEXT'.",
    ),
    (
        "READONLY_DIRECTORY",
        StoreError,
        "{path} cannot be written: its folder is read-only.",
        "SQLite must be able to create its log in the folder. Check its permissions.",
    ),
    (
        "READONLY_CANTINIT",
        UnusableFile,
        "{path} cannot be used: its folder is read-only.",
        "While the file is in use, readers must be able to create a log in the folder.",
    ),
    (
        "READONLY|PERM",
        StoreError,
        "{path} cannot be written.",
        "Check the permissions of the file, its folder, and its -wal and -shm files.",
    ),
    (
        # A function or module that only the connection of an agent has.
        "CONSTRAINT_TRIGGER|ERROR (no such (function|module)|too many levels of trigger)",
        RejectedChange,
        "{path} rejects the change: {error}.",
        _TRIGGER_HINT,
    ),
    ("CONSTRAINT", RejectedChange, "{path} rejects the change: {error}.", "Nothing was written."),
    # SHMSIZE: the disk has no free block for the index of the log.
    ("FULL|IOERR_SHMSIZE", StoreError, "The disk of {path} is full.", "Free space, and try again."),
    # Only the message distinguishes ERRORs.
    (
        "CORRUPT|NOTADB|ERROR unsupported file format",
        UnusableFile,
        "{path} is damaged: {error}.",
        SAVE_HINT,
    ),
    (
        "IOERR_(WRITE|FSYNC|DIR|TRUNCATE|DELETE)",
        StoreError,
        "{path} cannot be written: {error}.",
        "Check the disk.",
    ),
    (
        "IOERR|CANTOPEN",
        UnusableFile,
        "{path} cannot be read: {error}.",
        "SQLite must be able to read it, and to create its log next to it.",
    ),
    (
        "ERROR no such (table|column)",
        UnusableFile,
        "The schema of {path} has changed: {error}.",
        "'slowwave check FILE' lists the changes; without any, a trigger of an agent needs it.",
    ),
)


def translate(error: sqlite3.DatabaseError, path: Path) -> StoreError:
    """Translate a SQLite error into one that a user can act on.

    Other errors, such as a syntax error, are bugs and are raised unchanged.
    """
    name = getattr(error, "sqlite_errorname", "").removeprefix("SQLITE_")
    if name == "READONLY_DBMOVED":
        return file_replaced_error(path)
    if name == "CONSTRAINT_TRIGGER" and str(error).startswith(SHARED):
        reason = str(error).removeprefix(SHARED)
        return StoreError(f"Shared facts: {reason}.", "Write to it with 'slowwave shared FILE'.")
    for names, kind, message, hint in _TRANSLATIONS:
        if re.match(rf"({names})(_| |:|$)", f"{name} {error}"):
            return kind(message.format(path=path, error=error), hint)
    raise error


def ignored_change_error(path: Path) -> RejectedChange:
    """Return the error for a change that a trigger of an agent ignored or reverted."""
    reason = "a trigger ignores or reverts it"
    return RejectedChange(f"{path} rejects the change: {reason}.", _TRIGGER_HINT)


def file_replaced_error(path: Path) -> UnusableFile:
    """Return the error for a file that was replaced after it was opened."""
    return UnusableFile(
        f"{path} was removed or replaced while it was in use.",
        "Nothing was written to the new file. Run the command again.",
    )
