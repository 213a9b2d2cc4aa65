"""The schema of a file: its applied migrations and its tables."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Mapping
from contextlib import closing
from functools import cache

from .extension_points import ExtensionTables, extension_tables, run_script
from .migrations import OLDEST_VERSION
from .migrations import STEPS as STEPS


def newest_version() -> int:
    """Return the newest schema version."""
    return OLDEST_VERSION + len(STEPS) - 1


def version_of(conn: sqlite3.Connection) -> int:
    """Return the schema version of a file."""
    return int(conn.execute("PRAGMA user_version").fetchone()[0])


def is_outdated(conn: sqlite3.Connection) -> bool:
    """Whether a file has pending migrations."""
    return version_of(conn) < newest_version()


def count_rows(conn: sqlite3.Connection) -> dict[str, int]:
    """Return the number of rows of each table of a file, including an agent's own tables."""
    names = conn.execute(
        # Not virtual tables: an agent's may need a missing module.
        "SELECT name, replace(name, '\"', '\"\"') FROM sqlite_schema "
        "WHERE type = 'table' AND sql LIKE 'CREATE TABLE%'"
    ).fetchall()
    return {
        name: conn.execute(f'SELECT count(*) FROM "{quoted}"').fetchone()[0]
        for name, quoted in names
    }


def schema_parts(conn: sqlite3.Connection) -> dict[str, set[str]]:
    """Return each table, index and trigger of a file, with the columns of the tables."""
    parts: dict[str, set[str]] = {}
    for part, column in conn.execute(
        "SELECT part.type || ' ' || part.name, info.name FROM sqlite_schema AS part "
        # Not virtual tables: an agent's may need a missing module.
        "LEFT JOIN pragma_table_info(iif(part.sql LIKE 'CREATE TABLE%', part.name, '')) AS info"
    ):
        parts.setdefault(part, set()).add(column or "")
    return parts


def expected_parts(present: Mapping[str, set[str]]) -> dict[str, set[str]]:
    """Return what `schema_parts` must give for a file: a new file's parts, and an extension's.

    present: the parts that the file has. It has all parts of an extension, or none.
    """
    core = fresh_parts()
    expected = dict(core)
    for tables in extension_tables():
        of_extension = {
            part: names for part, names in fresh_parts(tables).items() if part not in core
        }
        # An agent may have a table of that name, with other columns.
        if any(names <= present.get(part, set()) for part, names in of_extension.items()):
            expected |= of_extension
    return expected


def fresh_parts(*extensions: ExtensionTables) -> dict[str, set[str]]:
    """Return what `schema_parts` gives for a new file to which extensions have written."""
    return _fresh_parts(tuple(STEPS.values()), tuple(tables.script for tables in extensions))


@cache
def _fresh_parts(
    steps: tuple[Callable[[sqlite3.Connection], None], ...], scripts: tuple[str, ...]
) -> dict[str, set[str]]:
    """Return the parts, cached: each check of a file compares it with new ones."""
    with closing(sqlite3.connect(":memory:")) as conn:
        for step in steps:
            step(conn)
        for script in scripts:
            run_script(conn, script)
        return schema_parts(conn)
