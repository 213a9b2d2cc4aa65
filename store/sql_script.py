"""A script of SQL, statement by statement."""

from __future__ import annotations

import sqlite3
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from sqlite_utils import Database


def run_script(db: Database, script: str) -> None:
    """Run each statement of a script, within the transaction of the caller."""
    # `executescript` would commit.
    for statement in statements_of(script):
        db.conn.execute(statement)


def statements_of(script: str) -> list[str]:
    """Split a script where SQLite itself says that a statement is complete."""
    statements, lines = [], ""
    for line in script.splitlines(keepends=True):
        lines += line
        if sqlite3.complete_statement(lines):
            statements.append(lines)
            lines = ""
    return statements
