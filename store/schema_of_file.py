"""What a file has of the schema: the steps that it has had, and its tables."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from .extension_tables import ExtensionTables, extension_tables
from .schema import STEPS
from .sql_script import run_script

if TYPE_CHECKING:
    from sqlite_utils import Database, Migrations

# The table by which sqlite-utils knows which steps a file has had, and what it calls ours there.
_RECORD = "_sqlite_migrations"
_STEP_SET = "slowwave"


def newest_version() -> int:
    """Return the version of a file that has had every step."""
    return len(STEPS)


def step_names() -> set[str]:
    """Return the names by which a file knows the steps that it has had."""
    return {step.__name__ for step in STEPS}


def applied_steps(db: Database) -> set[str]:
    """Return the names of the steps that a file has had.

    By two queries: each opening of a file asks, and `Migrations.applied` reads the whole schema.
    """
    if db.conn.execute("SELECT 1 FROM sqlite_schema WHERE name = ?", [_RECORD]).fetchone() is None:
        return set()
    had = db.conn.execute(f"SELECT name FROM {_RECORD} WHERE migration_set = ?", [_STEP_SET])
    return {name for (name,) in had}


def is_outdated(db: Database) -> bool:
    """Whether a file has not had every step."""
    return not step_names() <= applied_steps(db)


def migrations() -> Migrations:
    """Return the steps as a set that takes those which a file has not had."""
    from sqlite_utils import Migrations

    steps = Migrations(_STEP_SET)
    for step in STEPS:
        steps()(step)
    return steps


def schema_parts(db: Database) -> dict[str, set[str]]:
    """Return each table, index and trigger, with the columns of the tables."""
    parts: dict[str, set[str]] = {}
    for part, column in db.conn.execute(
        "SELECT part.type || ' ' || part.name, info.name FROM sqlite_schema AS part "
        # Not the virtual ones: an agent's may need a module that is not here.
        "LEFT JOIN pragma_table_info(iif(part.sql LIKE 'CREATE TABLE%', part.name, '')) AS info"
    ):
        parts.setdefault(part, set()).add(column or "")
    return parts


def expected_parts(kept: Mapping[str, set[str]]) -> dict[str, set[str]]:
    """Return what `schema_parts` must give for a file: a new file's parts, and an extension's.

    kept: the parts that the file has. Of an extension it has all parts or none.
    """
    core = expected_parts()
    expected = dict(core)
    for tables in extension_tables():
        added = {part: names for part, names in expected_parts(tables).items() if part not in core}
        if added.keys() & kept.keys():
            expected |= added
    return expected


def expected_parts(*extensions: ExtensionTables) -> dict[str, set[str]]:
    """Return what `schema_parts` gives for a new file to which extensions have written."""
    from sqlite_utils import Database

    db = Database(memory=True, execute_plugins=False)
    try:
        for step in STEPS:
            step(db)
        for tables in extensions:
            run_script(db, tables.script)
        return schema_parts(db)
    finally:
        db.conn.close()
