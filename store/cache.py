"""Results that runs keep for later runs; all of it can be deleted at any time.

Findings in texts, pairs of similar texts and their spanning forest, and the reports of tenants with
nothing left to do.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import islice
from typing import TypeVar

from .file import MemoryFile

# How many rows to write in one transaction: a row can contain a thousand findings.
_PORTION = 32
# The number of the part that is the spanning forest, and not pairs.
_FOREST = -1

T = TypeVar("T")


def read_cached(file: MemoryFile) -> list[tuple[str, bytes, str]]:
    """Return all findings as (kind, key, value)."""
    return file.conn.execute("SELECT kind, key, value FROM memos").fetchall()


def keep_cached(file: MemoryFile, memos: Iterable[tuple[str, bytes, str]]) -> None:
    """Store findings as (kind, key, value), in short transactions."""
    for part in _portions(memos):
        with file.transaction():
            file.conn.executemany(
                "INSERT INTO memos (kind, key, value) VALUES (?, ?, ?) "
                "ON CONFLICT (kind, key) DO UPDATE SET value = excluded.value",
                part,
            )


def forget_cached(file: MemoryFile, keys: Iterable[tuple[str, bytes]]) -> None:
    """Delete findings by (kind, key), in short transactions."""
    for part in _portions(keys):
        with file.transaction():
            file.conn.executemany("DELETE FROM memos WHERE kind = ? AND key = ?", part)


def _portions(items: Iterable[T]) -> Iterator[list[T]]:
    remaining = iter(items)
    while part := list(islice(remaining, _PORTION)):
        yield part


def read_parts(file: MemoryFile, tenant: str, basis: str) -> list[bytes]:
    """Return the parts of a tenant's similar pairs in order; none if their basis differs."""
    rows = file.conn.execute(
        "SELECT content, basis FROM neighbours WHERE tenant = ? AND part >= 0 ORDER BY part",
        [tenant],
    ).fetchall()
    return [row[0] for row in rows] if all(row[1] == basis for row in rows) else []


def read_forest(file: MemoryFile, tenant: str, basis: str) -> bytes:
    """Return the spanning forest of a tenant's texts; b"" if there is none of this basis."""
    query = "SELECT content FROM neighbours WHERE tenant = ? AND part = ? AND basis = ?"
    return next((row[0] for row in file.tuples(query, [tenant, _FOREST, basis])), b"")


def keep_forest(file: MemoryFile, tenant: str, basis: str, content: bytes) -> None:
    """Replace the spanning forest of a tenant's texts."""
    with file.transaction():
        file.conn.execute(
            "INSERT OR REPLACE INTO neighbours (tenant, part, basis, content) VALUES (?, ?, ?, ?)",
            [tenant, _FOREST, basis, content],
        )


def keep_parts(
    file: MemoryFile, tenant: str, basis: str, kept: int, parts: Sequence[bytes]
) -> None:
    """Keep the first `kept` parts, and replace the rest, each in a transaction of its own."""
    with file.transaction():
        file.conn.execute("DELETE FROM neighbours WHERE tenant = ? AND part >= ?", [tenant, kept])
    for number, content in enumerate(parts, start=kept):
        with file.transaction():
            file.conn.execute(
                "INSERT INTO neighbours (tenant, part, basis, content) VALUES (?, ?, ?, ?)",
                [tenant, number, basis, content],
            )


def read_change_counts(file: MemoryFile) -> dict[str, int]:
    """Return how many changes each tenant has had on which a plan depends."""
    return dict(file.tuples("SELECT tenant, count FROM changes"))


def count_changes(file: MemoryFile, tenant: str) -> int:
    """Return how many such changes a tenant has had."""
    return int(file.value("SELECT count FROM changes WHERE tenant = ?", [tenant]) or 0)


def read_idle_report(
    file: MemoryFile, tenant: str, key: str, now: str
) -> tuple[str | None, bytes] | None:
    """Return until when a report is valid, and the report; None if there is none for these options.

    An end that is None means until something changes.
    """
    rows = file.tuples(
        "SELECT until, report FROM standing "
        "WHERE tenant = ? AND key = ? AND changes = ? AND (until IS NULL OR until > ?)",
        [tenant, key, count_changes(file, tenant), now],
    )
    return next(rows, None)


def keep_idle_report(
    file: MemoryFile, tenant: str, key: str, changes: int, until: str | None, report: bytes
) -> None:
    """Store a report, unless something has changed since it was made."""
    with file.transaction():
        if count_changes(file, tenant) == changes:
            file.conn.execute(
                "DELETE FROM standing WHERE tenant = ? AND (changes <> ? OR key = ?)",
                [tenant, changes, key],
            )
            file.conn.execute(
                "INSERT INTO standing (tenant, key, changes, until, report) VALUES (?, ?, ?, ?, ?)",
                [tenant, key, changes, until, report],
            )
