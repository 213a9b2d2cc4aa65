"""What installed extensions register: commands, options, places, tables."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from importlib.metadata import entry_points
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .erasing import Eraser
    from .file import MemoryFile


def registered(group: str, name: str | None = None) -> Iterator[tuple[str, Any]]:
    """Yield the name and the object of each entry point under `slowwave.{group}`, by name.

    name: only this one.
    """
    for point in _points(group):
        if name in (None, point.name):
            yield point.name, point.load()


@cache
def _points(group: str) -> tuple[Any, ...]:
    return tuple(sorted(entry_points(group=f"slowwave.{group}"), key=lambda point: point.name))


@dataclass(frozen=True)
class ExtensionTables:
    """The tables of an extension, which a file has once the extension has written to it."""

    # Creates the missing tables, indexes and triggers.
    script: str
    # The names of those in an export of the whole file; their first columns are the key.
    exported: tuple[str, ...]
    # Yields the name and the details of each problem of their rows.
    find_faults: Callable[[MemoryFile], Iterator[tuple[str, str]]]
    # Erases texts, and what belongs to forgotten memories, in the caller's transaction; returns how
    # many rows changed.
    erase: Callable[[MemoryFile, Sequence[str], Eraser], int]


@cache
def extension_tables() -> tuple[ExtensionTables, ...]:
    """Return the tables of each installed extension."""
    return tuple(tables for _, tables in registered("schema"))


def complete_tables(conn: sqlite3.Connection) -> None:
    """Create the missing parts of each extension of which a file has a table."""
    for tables in extension_tables():
        if any(has_table(conn, table) for table in tables.exported):
            run_script(conn, tables.script)


def has_table(conn: sqlite3.Connection, name: str) -> bool:
    """Whether a file has a table."""
    sql = "SELECT 1 FROM sqlite_schema WHERE type = 'table' AND name = ?"
    return conn.execute(sql, [name]).fetchone() is not None


def run_script(conn: sqlite3.Connection, script: str) -> None:
    """Run each statement of a script, in the caller's transaction."""
    # `executescript` would commit.
    for statement in statements_of(script):
        conn.execute(statement)


def statements_of(script: str) -> list[str]:
    """Split a script into statements that SQLite considers complete."""
    statements, statement = [], ""
    for line in script.splitlines(keepends=True):
        statement += line
        if sqlite3.complete_statement(statement):
            statements.append(statement)
            statement = ""
    return statements
