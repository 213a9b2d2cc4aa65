"""Migrate older files, and check that nothing is lost."""

from __future__ import annotations

import sqlite3
from collections import Counter
from pathlib import Path

from . import schema_of_file
from .errors import StoreError
from .schema_of_file import count_rows, newest_version

# By table, the rows that a migration may drop: names that earlier runs found in texts.
_FOUND_NAMES = {
    "journal": "table_name IN ('memory_entities', 'entity_scans')",
    "memory_entities": "run_id IS NOT NULL",
    "entities": "run_id IS NOT NULL",
    "entity_scans": "true",
}


def apply_steps(conn: sqlite3.Connection) -> None:
    """Apply the pending migrations in the caller's transaction."""
    from sqlite_utils import Database, Migrations  # loads numpy

    steps = Migrations("slowwave")
    for name, step in schema_of_file.STEPS.items():
        steps(name=name)(lambda db, step=step: step(db.conn))
    # Other packages must not register SQL functions here.
    steps.apply(Database(conn, execute_plugins=False))
    conn.execute(f"PRAGMA user_version = {newest_version():d}")


def migrate(conn: sqlite3.Connection, path: Path) -> None:
    """Migrate a file in the caller's transaction, which an error must roll back.

    Raises `StoreError` if it would lose something.
    """
    rows, dangling = _count_rows(conn), _count_dangling(conn)
    try:
        apply_steps(conn)
    except sqlite3.DatabaseError as error:
        # The file contains something that a step cannot handle, or the disk is full.
        raise _migration_error(path, str(error)) from error
    rows_after = _count_rows(conn)
    for table, count in rows.items():
        if rows_after.get(table, 0) != count:
            raise _migration_error(path, f"{table} would lose some of its {count} rows")
    if _count_dangling(conn) != dangling:
        raise _migration_error(path, "rows would refer to missing rows")


def _count_rows(conn: sqlite3.Connection) -> dict[str, int]:
    """Count the rows to keep of each table, including an agent's."""
    counts = count_rows(conn)
    counts.pop("_sqlite_migrations", None)
    for table, where in _FOUND_NAMES.items():
        if table in counts:
            sql = f"SELECT count(*) FROM {table} WHERE {where}"
            counts[table] -= conn.execute(sql).fetchone()[0]
    return counts


def _count_dangling(conn: sqlite3.Connection) -> Counter[tuple[str, str]]:
    """Count the rows of each table that refer to missing rows of another."""
    return Counter((row[0], row[2]) for row in conn.execute("PRAGMA foreign_key_check"))


def _migration_error(path: Path, reason: str) -> StoreError:
    version = newest_version()
    return StoreError(
        f"{path} cannot be migrated to schema version {version}: {reason}.",
        "Nothing was changed.",
    )
