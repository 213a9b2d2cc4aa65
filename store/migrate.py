"""Migrate older files, after a trial on a copy."""

from __future__ import annotations

import secrets
import sqlite3
from collections import Counter
from dataclasses import dataclass
from pathlib import Path

from . import schema_of_file
from .connection import connect, copy_pages, translate_errors
from .errors import StoreError, UnusableFile
from .records import SAVE_HINT
from .schema_of_file import count_rows, newest_version
from .sidecar import create_sidecar, remove_file


def apply_steps(conn: sqlite3.Connection) -> None:
    """Apply the pending migrations in the caller's transaction."""
    from sqlite_utils import Database, Migrations  # loads numpy

    steps = Migrations("slowwave")
    for name, step in schema_of_file.STEPS.items():
        steps(name=name)(lambda db, step=step: step(db.conn))
    # Other packages must not register SQL functions here.
    steps.apply(Database(conn, execute_plugins=False))
    conn.execute(f"PRAGMA user_version = {newest_version():d}")


def try_on_copy(path: Path, conn: sqlite3.Connection) -> None:
    """Migrate a copy of what `conn` reads, and check that nothing is lost.

    `conn` is in a reading transaction, so that the copy is consistent. Raises `UnusableFile` if the
    file is damaged, and `StoreError` if it cannot be migrated.
    """
    copy_path = create_sidecar(path, f".slowwave-{secrets.token_hex(8)}.copy")
    try:
        with translate_errors(path), connect(copy_path, "rw") as copy:
            copy_pages(conn, copy)
            # The copy need not survive a crash.
            copy.execute("PRAGMA journal_mode = MEMORY")
            copy.execute("PRAGMA synchronous = OFF")
            _try_steps(path, copy)
    finally:
        remove_file(copy_path)


def _try_steps(path: Path, copy: sqlite3.Connection) -> None:
    try:
        with translate_errors(path):
            before = _look(copy)
            if before.damage:
                raise UnusableFile(f"{path} is damaged: {before.damage[0]}.", SAVE_HINT)
            copy.execute("PRAGMA foreign_keys = OFF")
            copy.execute("BEGIN")
            apply_steps(copy)
            copy.execute("COMMIT")
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


def _look(conn: sqlite3.Connection) -> _Look:
    messages = [row[0] for row in conn.execute("PRAGMA integrity_check(1)")]
    rows = count_rows(conn)
    rows.pop("_sqlite_migrations", None)  # grows with each migration
    return _Look(
        [line for line in messages if line != "ok"],
        rows,
        Counter((row[0], row[2]) for row in conn.execute("PRAGMA foreign_key_check")),
    )


def _cannot(path: Path, why: str) -> StoreError:
    return StoreError(
        f"{path} cannot be migrated to schema version {newest_version()}: {why}.",
        "This was tried on a copy; the file is unchanged.",
    )
