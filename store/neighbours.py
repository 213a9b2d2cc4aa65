"""The pairs of texts that lie near each other, as runs found them, part by part."""

from __future__ import annotations

from collections.abc import Sequence

from .file import MemoryFile


def read_parts(file: MemoryFile, tenant: str, basis: str) -> list[bytes]:
    """Return the parts of a tenant in their order; none if they were made on another basis."""
    rows = file.db.conn.execute(
        "SELECT content, basis FROM neighbours WHERE tenant = ? ORDER BY part", [tenant]
    ).fetchall()
    return [row[0] for row in rows] if all(row[1] == basis for row in rows) else []


def keep_parts(
    file: MemoryFile, tenant: str, basis: str, staying: int, parts: Sequence[bytes]
) -> None:
    """Keep parts behind the first ones of those that are there, in place of all others.

    Each in a transaction of its own, so that no agent waits for long.
    """
    with file.transaction():
        file.db.conn.execute(
            "DELETE FROM neighbours WHERE tenant = ? AND part >= ?", [tenant, staying]
        )
    for number, content in enumerate(parts, start=staying):
        with file.transaction():
            file.db.conn.execute(
                "INSERT INTO neighbours (tenant, part, basis, content) VALUES (?, ?, ?, ?)",
                [tenant, number, basis, content],
            )
