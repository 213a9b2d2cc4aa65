"""An older file brought up to date: tried on a copy first, then done in one transaction."""

from __future__ import annotations

import secrets
import sqlite3
from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from .connection import connect, translate_errors
from .errors import StoreError, UnusableFile
from .records import SAVE
from .schema_of_file import applied_steps, migrations, newest_version
from .sidecar import create_sidecar, remove_file

if TYPE_CHECKING:
    from sqlite_utils import Database

# Some thousand pages at a time: between them Ctrl-C is heard.
_PAGES = 5_000


def apply_steps(db: Database) -> None:
    """Take the steps that the file has not had, within the transaction of the caller."""
    migrations().apply(db)
    db.conn.execute(f"PRAGMA user_version = {len(applied_steps(db)):d}")


def try_on_copy(path: Path, db: Database) -> None:
    """Take the steps on a copy of what `db` reads, and see that nothing is lost by it.

    Raises `UnusableFile` if the file is damaged, and `StoreError` if the steps cannot be taken.
    `db` is in a transaction that reads: no writer comes between.
    """
    copy = create_sidecar(path, f".slowwave-{secrets.token_hex(8)}.copy")
    try:
        with translate_errors(path), connect(copy, "rw") as other:
            db.conn.backup(other.conn, pages=_PAGES, progress=lambda *_: None)
            # It need not outlast a crash, nor lay a log of its own.
            other.conn.execute("PRAGMA journal_mode = MEMORY")
            other.conn.execute("PRAGMA synchronous = OFF")
            _try_steps(path, other)
    finally:
        remove_file(copy)


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
    # What `translate_errors` knows nothing of: the file holds what the steps cannot deal with.
    except sqlite3.DatabaseError as error:
        raise _cannot(path, str(error)) from error
    if after.damage:
        raise _cannot(path, after.damage[0])
    for table, count in before.rows.items():
        if after.rows.get(table) != count:
            raise _cannot(path, f"{table} would not keep its {count} rows")
    if after.dangling != before.dangling:
        raise _cannot(path, "rows would refer to others that are not there")


@dataclass(frozen=True)
class _Look:
    damage: list[str]
    # Of each table, an agent's own too.
    rows: dict[str, int]
    # How many rows of a table refer to rows of another that are not there.
    dangling: Counter[tuple[str, str]]


def _look(db: Database) -> _Look:
    said = [row[0] for row in db.conn.execute("PRAGMA integrity_check(1)")]
    tables = db.conn.execute(
        "SELECT name FROM sqlite_schema WHERE type = 'table' AND name <> '_sqlite_migrations' "
        # Not the virtual ones: an agent's may need a module that is not here.
        "AND sql LIKE 'CREATE TABLE%'"
    ).fetchall()
    return _Look(
        [line for line in said if line != "ok"],
        {name: _count(db, name) for (name,) in tables},
        Counter((row[0], row[2]) for row in db.conn.execute("PRAGMA foreign_key_check")),
    )


def _count(db: Database, table: str) -> int:
    quoted = table.replace('"', '""')
    return int(db.conn.execute(f'SELECT count(*) FROM "{quoted}"').fetchone()[0])


def _cannot(path: Path, why: str) -> StoreError:
    return StoreError(
        f"{path} cannot be brought up to schema version {newest_version()}: {why}.",
        "That was tried on a copy; the file is as it was.",
    )
