"""The tables and columns of a SQLite database, and which of them contain texts."""

from __future__ import annotations

import shlex
import sqlite3
from dataclasses import dataclass
from pathlib import Path

from .base import shortened
from .database import moment_of

# How many rows are looked at to find out what a column contains.
_ROWS = 200
# How many tables are offered.
_MAX_TABLES = 5
# What SQLite returns as `hidden` for a column that is not computed.
_STORED = 0


@dataclass(frozen=True)
class Column:
    """A column of a table."""

    name: str
    type: str
    is_generated: bool
    is_required: bool
    has_default: bool
    # Its place in the primary key, from 1; 0 if it is not in it.
    key: int

    @property
    def must_be_given(self) -> bool:
        """Whether a row without a value of it is refused."""
        return self.is_required and not self.has_default and not self.key

    @property
    def is_number(self) -> bool:
        """Whether it is declared for integers."""
        return any(word in self.type.upper() for word in ("INT", "BOOL"))


def quoted(name: str) -> str:
    """Return a name as SQL."""
    doubled = name.replace('"', '""')
    return f'"{doubled}"'


def tables_of(db: sqlite3.Connection) -> list[str]:
    """Return the tables that store rows, without SQLite's own."""
    rows = db.execute(
        "SELECT name FROM pragma_table_list WHERE schema = 'main' AND type = 'table' "
        "AND name NOT LIKE 'sqlite|_%' ESCAPE '|' ORDER BY 1"
    )
    return [name for (name,) in rows]


def columns_of(db: sqlite3.Connection, table: str) -> list[Column]:
    """Return the columns of a table; none if there is no such table."""
    rows = db.execute(
        'SELECT name, type, "notnull", dflt_value, pk, hidden FROM pragma_table_xinfo(?)', [table]
    )
    return [
        Column(name, type, hidden != _STORED, bool(required), default is not None, key)
        for name, type, required, default, key, hidden in rows
    ]


def offer(db: sqlite3.Connection, path: Path) -> tuple[str, str] | None:
    """Return which tables have texts, and the command that previews the one with most of them.

    None if no table has texts.
    """
    db.text_factory = lambda raw: raw.decode(errors="replace")
    tables = [table for name in tables_of(db) if (table := _described(db, name)) is not None]
    if not tables:
        return None
    tables.sort(reverse=True)
    seen = "; ".join(line for _, _, line in tables[:_MAX_TABLES])
    spec = tables[0][1]
    command = f"slowwave maintain {shlex.quote(str(path))} --table {shlex.quote(spec)} --dry-run"
    hint = f"Preview a table of texts of your own with: {command}"
    return f"It has texts in {seen}.", f"{hint} (to change it, add deleted=COLUMN to --table)"


def _described(db: sqlite3.Connection, table: str) -> tuple[int, str, str] | None:
    """Return the length of the texts of a table, its --table, and its description for a user."""
    names = [column.name for column in columns_of(db, table)]
    rows = db.execute(f"SELECT {', '.join(map(quoted, names))} FROM {quoted(table)} LIMIT {_ROWS}")
    columns = dict(zip(names, zip(*rows.fetchall(), strict=True), strict=False))
    lengths = {
        name: sum(len(text) for text in values if isinstance(text, str) and " " in text.strip())
        for name, values in columns.items()
    }
    dates = [name for name, values in columns.items() if _are_moments(values)]
    texts = {name: length for name, length in lengths.items() if length and name not in dates}
    if not texts:
        return None
    text = max(texts, key=lambda name: texts[name])
    sample = next(value for value in columns[text] if isinstance(value, str) and " " in value)
    (count,) = db.execute(f"SELECT count(*) FROM {quoted(table)}").fetchone()
    spec = f"{table}:{text}" + (f",date={dates[0]}" if dates else "")
    shown = " ".join(shortened(sample).split())
    return texts[text], spec, f"{table} (rows: {count:,}, such as '{shown}')"


def _are_moments(values: tuple[object, ...]) -> bool:
    """Whether a column has values, and all of them are times."""
    filled = [value for value in values if value is not None]
    return bool(filled) and all(isinstance(value, str) and moment_of(value) for value in filled)
