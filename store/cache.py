"""Results that runs keep for later runs; all of it can be deleted at any time.

Findings in texts, the spanning forest of near texts, and the reports of tenants with nothing left
to do.
"""

from __future__ import annotations

from collections.abc import Sequence

from .file import MemoryFile

# How many rows to write in one transaction.
_PORTION = 1_000
# The number of the part of `neighbours` that is the spanning forest.
_FOREST = -1


def read_findings(file: MemoryFile) -> list[tuple[str, bytes, str]]:
    """Return all findings as (kind, key, value)."""
    return file.conn.execute("SELECT kind, key, value FROM memos").fetchall()


def cache_findings(file: MemoryFile, memos: Sequence[tuple[str, bytes, str]]) -> None:
    """Store findings as (kind, key, value), in short transactions."""
    for start in range(0, len(memos), _PORTION):
        with file.transaction():
            file.conn.executemany(
                "INSERT INTO memos (kind, key, value) VALUES (?, ?, ?) "
                "ON CONFLICT (kind, key) DO UPDATE SET value = excluded.value",
                memos[start : start + _PORTION],
            )


def delete_findings(file: MemoryFile, keys: Sequence[tuple[str, bytes]]) -> None:
    """Delete findings by (kind, key), in short transactions."""
    for start in range(0, len(keys), _PORTION):
        part = keys[start : start + _PORTION]
        with file.transaction():
            file.conn.executemany("DELETE FROM memos WHERE kind = ? AND key = ?", part)


def read_forest(file: MemoryFile, tenant: str, basis: str) -> bytes:
    """Return the spanning forest of a tenant's texts; b"" if there is none of this basis."""
    query = "SELECT content FROM neighbours WHERE tenant = ? AND part = ? AND basis = ?"
    return next((row[0] for row in file.tuples(query, [tenant, _FOREST, basis])), b"")


def cache_forest(file: MemoryFile, tenant: str, basis: str, content: bytes) -> None:
    """Replace the spanning forest of a tenant's texts."""
    with file.transaction():
        # With the parts that earlier versions kept.
        file.conn.execute("DELETE FROM neighbours WHERE tenant = ?", [tenant])
        file.conn.execute(
            "INSERT INTO neighbours (tenant, part, basis, content) VALUES (?, ?, ?, ?)",
            [tenant, _FOREST, basis, content],
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


def cache_idle_report(
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
