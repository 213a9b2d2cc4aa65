"""What extensions keep in a memory file, as they register it under `slowwave.schema`.

A file has the tables of an extension from the first time that the extension writes to it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING

from .extension_points import registered
from .sql_script import run_script

if TYPE_CHECKING:
    from sqlite_utils import Database

    from .file import MemoryFile


@dataclass(frozen=True)
class ExtensionTables:
    """The tables of an extension."""

    # What makes them, with their indexes and triggers, where they do not exist.
    script: str
    # Each with the order of its rows in an export of the whole file.
    order: Mapping[str, str]
    # Yields what is wrong with their rows: the name of a problem, and its details.
    find_faults: Callable[[MemoryFile], Iterator[tuple[str, str]]]


@cache
def extension_tables() -> tuple[ExtensionTables, ...]:
    """Return the tables of each installed extension."""
    return tuple(tables for _, tables in registered("schema"))


def complete_tables(db: Database) -> None:
    """Make what is missing of each extension of which a file has a table."""
    for tables in extension_tables():
        if any(has_table(db, table) for table in tables.order):
            run_script(db, tables.script)


def has_table(db: Database, name: str) -> bool:
    """Whether a file has a table."""
    there = "SELECT 1 FROM sqlite_schema WHERE type = 'table' AND name = ?"
    return db.conn.execute(there, [name]).fetchone() is not None
