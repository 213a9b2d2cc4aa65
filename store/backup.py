"""Verified backups next to a memory file, and temporary copies of it."""

from __future__ import annotations

import hashlib
import os
import re
import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from tempfile import TemporaryDirectory

from .check import refuse_damaged
from .connection import BACKUP, copy_pages
from .errors import StoreError, file_errors
from .file import MemoryFile, migrate_file, open_any_version
from .opening import open_database
from .schema_of_file import count_rows
from .sidecar import create_sidecar, remove_file, sync_folder
from .validate import is_memory_file

# Suffixes of the memory file's name; an unfinished backup has the last one.
_STAMP = "%Y%m%dT%H%M%SZ"
_UNFINISHED = ".backup-unfinished"

_HINT = "Nothing was changed. Fix that, or run without --backup."

# The number of rows by table, and the sha256 of the memories.
Fingerprint = tuple[dict[str, int], str]


def back_up(path: Path, now: datetime, keep: int) -> Path:
    """Make a verified backup next to the file itself, and remove the oldest beyond `keep`.

    The caller holds the maintenance lock; agents can read and write meanwhile. Raises `StoreError`
    without leaving a partial backup.
    """
    real = path.resolve()
    unfinished = real.with_name(f"{real.name}{_UNFINISHED}")
    with file_errors("back up", path, _HINT):
        remove_file(unfinished)  # of a killed run
        create_sidecar(real, unfinished.name)
        try:
            with open_any_version(path) as file:
                expected = fingerprint(file.conn)
                _copy(file, unfinished, "backup", _HINT)
            verify_copy(path, unfinished, expected)
            new_backup = _free_name(real, now)
            unfinished.rename(new_backup)
            sync_folder(new_backup.parent)
        except BaseException:
            remove_file(unfinished)
            raise
        # Never the new backup, even if the clock was set back.
        older = [backup for backup in list_backups(real) if backup != new_backup]
        for backup in older[: max(0, len(older) + 1 - keep)]:
            remove_file(backup)
    return new_backup


def list_backups(path: Path) -> list[Path]:
    """Return the backups of a file, oldest first."""
    real = path.resolve()
    dated = [
        (match[1], int(match[2] or 1), backup)
        for backup in real.parent.iterdir()
        if (match := re.fullmatch(re.escape(real.name) + BACKUP, backup.name))
        and not backup.is_symlink()
        and is_memory_file(backup)
    ]
    return [backup for _, _, backup in sorted(dated)]


@contextmanager
def copied_to_try(path: Path) -> Iterator[Path]:
    """Provide a migrated temporary copy of a memory file, to try a change or a run on.

    The file itself is only read: its folder may be read-only, and another run may hold its lock.
    Raises `StoreError`.
    """
    with TemporaryDirectory(prefix="slowwave-") as folder:
        copy = Path(folder) / "memory.db"
        with open_any_version(path) as file:
            refuse_damaged(file)
            _copy(file, copy, "copy", f"The copy is made in {folder}: see TMPDIR.")
        migrate_file(copy)
        yield copy


def _copy(file: MemoryFile, to: Path, what: str, hint: str) -> None:
    try:
        with open_database(to, "rwc") as target:
            # Do not rely on the default with which SQLite was built.
            target.execute("PRAGMA synchronous = FULL")
            copy_pages(file.conn, target)
    except sqlite3.DatabaseError as error:
        raise StoreError(f"Cannot create the {what} of {file.path}: {error}.", hint) from error


def verify_copy(path: Path, copy: Path, expected: Fingerprint) -> None:
    """Raise `StoreError` if a copy of `path` is damaged or differs from what was copied."""
    try:
        with open_database(copy, "immutable") as db:
            integrity = db.execute("PRAGMA integrity_check(1)").fetchone()[0]
            equal = integrity == "ok" and fingerprint(db) == expected
    except sqlite3.DatabaseError:
        equal = False
    if not equal:
        raise StoreError(f"The backup of {path} differs from it.", _HINT)


def fingerprint(db: sqlite3.Connection) -> Fingerprint:
    """Return the fingerprint by which a copy is compared with its original."""
    columns = [row[1].replace('"', '""') for row in db.execute("PRAGMA table_info(memories)")]
    # As bytes, because a text may be invalid UTF-8.
    values = ", ".join(f'CAST("{name}" AS BLOB)' for name in columns)
    digest = hashlib.sha256()
    for row in db.execute(f"SELECT {values} FROM memories ORDER BY rowid"):
        digest.update(repr(row).encode())
    return count_rows(db), digest.hexdigest()


def _free_name(real: Path, now: datetime) -> Path:
    stamp = now.astimezone(UTC).strftime(_STAMP)
    free, counter = real.with_name(f"{real.name}.backup-{stamp}"), 1
    while os.path.lexists(free):
        counter += 1
        free = real.with_name(f"{real.name}.backup-{stamp}-{counter}")
    return free
