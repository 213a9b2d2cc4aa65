"""Migrate older files, after a trial on a copy."""

from __future__ import annotations

import secrets
import sqlite3
from collections import Counter
from dataclasses import dataclass
from pathlib import Path

from .connection import Database, connect, copy_pages, translate_errors
from .errors import StoreError, UnusableFile
from .records import SAVE
from .schema_of_file import RECORD, applied_steps, count_rows, migrations, newest_version
from .sidecar import create_sidecar, remove_file


def apply_steps(db: Database) -> None:
    """Apply the pending migrations in the caller's transaction."""
    import sqlite_utils

    # Other packages must not register SQL functions here.
    migrations().apply(sqlite_utils.Database(db.conn, execute_plugins=False))
    db.conn.execute(f"PRAGMA user_version = {len(applied_steps(db)):d}")


def try_on_copy(path: Path, db: Database) -> None:
    """Migrate a copy of what `db` reads, and check that nothing is lost.

    `db` is in a reading transaction, so that the copy is consistent. Raises `UnusableFile` if the
    file is damaged, and `StoreError` if it cannot be migrated.
    """
    copy_path = create_sidecar(path, f".slowwave-{secrets.token_hex(8)}.copy")
    try:
        with translate_errors(path), connect(copy_path, "rw") as copy:
            copy_pages(db.conn, copy.conn)
            # The copy need not survive a crash.
            copy.conn.execute("PRAGMA journal_mode = MEMORY")
            copy.conn.execute("PRAGMA synchronous = OFF")
            _try_steps(path, copy)
    finally:
        remove_file(copy_path)


def _try_steps(path: Path, copy: Database) -> None:
    try:
        with translate_errors(path):
            before = _look(copy)
            if before.damage:
                raise UnusableFile(f"{path} is damaged: {before.damage[0]}.", SAVE)
            copy.conn.execute("PRAGMA foreign_keys = OFF")
            copy.conn.execute("BEGIN")
            apply_steps(copy)
            copy.conn.execute("COMMIT")
            after = _look(copy)
    # The file contains something that the migration cannot handle.
    except sqlite3.DatabaseError as error:
        raise _cannot(path, str(error)) from error
    if after.damage:
        raise _cannot(path, after.damage[0])
    for table, count in before.rows.items():
        if after.rows.get(table) != count:
            raise _cannot(path, f"{table} would lose some of its {count} rows")
    if after.dangling != before.dangling:
        raise _cannot(path, "rows would refer to missing rows")


@dataclass(frozen=True)
class _Look:
    damage: list[str]
    # By table, including an agent's own tables.
    rows: dict[str, int]
    # How many rows of a table refer to missing rows of another.
    dangling: Counter[tuple[str, str]]


def _look(db: Database) -> _Look:
    messages = [row[0] for row in db.conn.execute("PRAGMA integrity_check(1)")]
    rows = count_rows(db.conn)
    rows.pop(RECORD, None)  # grows with each migration
    return _Look(
        [line for line in messages if line != "ok"],
        rows,
        Counter((row[0], row[2]) for row in db.conn.execute("PRAGMA foreign_key_check")),
    )


def _cannot(path: Path, why: str) -> StoreError:
    return StoreError(
        f"{path} cannot be migrated to schema version {newest_version()}: {why}.",
        "This was tried on a copy; the file is unchanged.",
    )
