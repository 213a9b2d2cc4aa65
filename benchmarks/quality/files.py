"""Nights on temporary files, which are read with plain SQL."""

from __future__ import annotations

import sqlite3
import tempfile
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from slowwave.consolidation.cycle import run_cycle
from slowwave.consolidation.options import CycleOptions
from slowwave.consolidation.running.outcome import Outcome
from slowwave.consolidation.running.run_in_file import NightInputs
from slowwave.consolidation.vectors.embedder import Embedder
from slowwave.consolidation.writing.writer import BuiltInWriter, Writer
from slowwave.store.exchange import import_lines
from slowwave.store.file import create_file, open_writing

# Later than any date in the memories.
NOW = datetime(2026, 6, 1, 3, 0, tzinfo=UTC)

Row = dict[str, Any]


@contextmanager
def memory_file(lines: Sequence[str] = ()) -> Iterator[Path]:
    """Provide a temporary file with these memories."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "memory.db"
        create_file(path)
        add(path, lines)
        yield path


def add(path: Path, lines: Sequence[str]) -> None:
    """Import JSON Lines."""
    with open_writing(path) as file:
        import_lines(file, (line.encode() for line in lines), NOW)


def night(
    path: Path,
    embedder: Embedder,
    writer: Writer | None = None,
    options: CycleOptions = CycleOptions(),  # noqa: B008 - it is frozen
) -> Outcome:
    """Run the cycle over a file."""
    writer = writer or BuiltInWriter()
    return run_cycle(
        NightInputs(path=path, options=options, embedder=embedder, writer=writer, now=NOW)
    )


def rows(path: Path, sql: str, *values: object) -> list[Row]:
    """Read with plain SQL, as an agent would."""
    with closing(sqlite3.connect(path)) as db:
        db.row_factory = sqlite3.Row
        return [dict(row) for row in db.execute(sql, values)]


def active(path: Path) -> list[Row]:
    """Return the active memories."""
    return rows(path, "SELECT * FROM memories WHERE status = 'active'")


def all_rows(path: Path) -> Counter[str]:
    """Return every row of every table, as text."""
    tables = rows(path, "SELECT name FROM sqlite_schema WHERE type = 'table'")
    return Counter(
        f"{table['name']} {sorted(row.items())}"
        for table in tables
        for row in rows(path, f'SELECT * FROM "{table["name"]}"')  # noqa: S608 - its own tables
    )


def count_changed(before: Counter[str], after: Counter[str]) -> int:
    """Count the rows that were written or deleted between two calls of `all_rows`."""
    return max((before - after).total(), (after - before).total())
