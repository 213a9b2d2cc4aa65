"""Reports that stay valid until something changes in a tenant."""

from __future__ import annotations

from .file import MemoryFile


def changes_of(file: MemoryFile, tenant: str) -> int:
    """Return how often something changed in a tenant that a plan depends on."""
    return int(file.value("SELECT count FROM changes WHERE tenant = ?", [tenant]) or 0)


def read_idle_report(file: MemoryFile, tenant: str, key: str, now: str) -> bytes | None:
    """Return the report that still stands for these options; None if there is none."""
    report = file.value(
        "SELECT report FROM standing WHERE tenant = ? AND key = ? AND changes = ? "
        "AND (until IS NULL OR until > ?)",
        [tenant, key, changes_of(file, tenant), now],
    )
    return report if isinstance(report, bytes) else None


def rests_until(file: MemoryFile, tenant: str, key: str, now: str) -> tuple[str | None] | None:
    """Return until when such a report stands, alone in a tuple; None if there is none.

    Until None: as long as nothing changes.
    """
    rows = file.rows(
        "SELECT until FROM standing WHERE tenant = ? AND key = ? AND changes = ? "
        "AND (until IS NULL OR until > ?)",
        [tenant, key, changes_of(file, tenant), now],
    )
    return next(((row["until"],) for row in rows), None)


def keep_idle_report(
    file: MemoryFile, tenant: str, key: str, changes: int, until: str | None, report: bytes
) -> None:
    """Keep a report, unless something has changed since it was made."""
    with file.transaction():
        if changes_of(file, tenant) == changes:
            file.db.conn.execute(
                "DELETE FROM standing WHERE tenant = ? AND (changes <> ? OR key = ?)",
                [tenant, changes, key],
            )
            file.db.conn.execute(
                "INSERT INTO standing (tenant, key, changes, until, report) VALUES (?, ?, ?, ?, ?)",
                [tenant, key, changes, until, report],
            )
