"""A whole copy of a memory file next to it, trusted only after it was compared."""

from __future__ import annotations

import hashlib
import os
import re
import sqlite3
from datetime import UTC, datetime
from pathlib import Path

from .errors import StoreError
from .file import open_any_version, remove_file
from .opening import open_database
from .sidecar import create_sidecar, sync_folder
from .validate import is_memory_file

# What stands behind the memory file's name; under the last one it is made.
_STAMP = "%Y%m%dT%H%M%SZ"
_PATTERN = r"\.backup-([0-9]{8}T[0-9]{6}Z)(?:-([0-9]+))?"
_UNFINISHED = ".backup-unfinished"

_HINT = "Nothing was changed. Set that right, or run without --backup."

# Per table the number of its rows, and the sha256 of the memories.
Fingerprint = tuple[dict[str, int], str]


def back_up(path: Path, now: datetime, keep: int) -> Path:
    """Make a verified backup next to the file itself, and remove the oldest beyond `keep`.

    The caller holds the maintenance lock. In WAL mode, agents read and write
    meanwhile. Raises `StoreError`, with no half backup left.
    """
    real = path.resolve()
    unfinished = real.with_name(f"{real.name}{_UNFINISHED}")
    try:
        remove_file(unfinished)  # what a killed run left
        create_sidecar(real, unfinished.name)
        try:
            copy_verified(path, unfinished)
            done = _free_name(real, now)
            unfinished.rename(done)
            sync_folder(done.parent)
        except BaseException:
            remove_file(unfinished)
            raise
        _remove_oldest(real, done, keep)
    except OSError as error:
        raise StoreError(f"Cannot back up {path}: {error.strerror}.", _HINT) from error
    return done


def list_backups(path: Path) -> list[Path]:
    """Return the backups of this very file, oldest first."""
    real = path.resolve()
    found = [
        (match[1], int(match[2] or 1), one)
        for one in real.parent.iterdir()
        if (match := re.fullmatch(re.escape(real.name) + _PATTERN, one.name))
        and not one.is_symlink()
        # Others with such a name are left alone.
        and is_memory_file(one)
    ]
    return [one for _, _, one in sorted(found)]


def copy_verified(path: Path, to: Path, what: str = "backup", hint: str = _HINT) -> None:
    """Copy a memory file as it is at one moment, and compare the copy. Raises `StoreError`.

    what, hint: what the copy is called in an error, and what can be done then.
    """
    with open_any_version(path) as file:
        source = file.db.conn
        expected = fingerprint(source)  # from here on one picture of the file is read
        try:
            with open_database(to, "rwc") as target:
                # The copy is synced whole, even by an SQLite that is built for less.
                target.execute("PRAGMA synchronous = FULL")
                source.backup(target)
        except sqlite3.DatabaseError as error:
            raise StoreError(f"The {what} of {path} cannot be made: {error}.", hint) from error
        verify_copy(path, to, expected)


def verify_copy(path: Path, copy: Path, expected: Fingerprint) -> None:
    """Read a copy of `path` anew, and refuse one that is damaged or is not what was copied."""
    try:
        # This one file is read, and nothing is created next to it.
        with open_database(copy, "immutable") as db:
            said = db.execute("PRAGMA integrity_check(1)").fetchone()[0]
            equal = said == "ok" and fingerprint(db) == expected
    except sqlite3.DatabaseError:  # a copy that cannot even be read
        equal = False
    if not equal:
        raise StoreError(f"The backup of {path} is not equal to it.", _HINT)


def fingerprint(db: sqlite3.Connection) -> Fingerprint:
    """Return what a copy must have in common with what it was made from."""
    # Not the virtual tables: an agent's may need a module that is not here.
    names = [
        row[0]
        for row in db.execute(
            "SELECT name FROM sqlite_schema WHERE type = 'table' AND sql LIKE 'CREATE TABLE%'"
        )
    ]
    counts = {
        name: db.execute(f"SELECT count(*) FROM {_quoted(name)}").fetchone()[0] for name in names
    }
    columns = [row[1] for row in db.execute("PRAGMA table_info(memories)")]
    # As bytes: a text that is not valid UTF-8 must be the same, too.
    values = ", ".join(f"CAST({_quoted(name)} AS BLOB)" for name in columns)
    digest = hashlib.sha256()
    for row in db.execute(f"SELECT {values} FROM memories ORDER BY rowid"):
        digest.update(repr(row).encode())
    return counts, digest.hexdigest()


def _quoted(name: str) -> str:
    doubled = name.replace('"', '""')
    return f'"{doubled}"'


def _free_name(real: Path, now: datetime) -> Path:
    stamp = now.astimezone(UTC).strftime(_STAMP)
    free, counter = real.with_name(f"{real.name}.backup-{stamp}"), 1
    while os.path.lexists(free):
        counter += 1
        free = real.with_name(f"{real.name}.backup-{stamp}-{counter}")
    return free


def _remove_oldest(real: Path, done: Path, keep: int) -> None:
    # Not the new one, whatever a clock that was set back has named the others.
    older = [one for one in list_backups(real) if one != done]
    for one in older[: max(0, len(older) + 1 - keep)]:
        remove_file(one)
