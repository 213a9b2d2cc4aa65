"""Which texts a model was shown, so that a night asks only about what is new."""

from __future__ import annotations

from collections.abc import Iterable

from .file import MemoryFile


def read_asked(file: MemoryFile, key: str) -> frozenset[tuple[str, str]]:
    """Give (tenant, content hash) of each text that was shown under a key.

    key: a hash of the model and of what it was told to do.
    """
    rows = file.db.conn.execute("SELECT tenant, content_hash FROM asked WHERE key = ?", [key])
    return frozenset((tenant, content_hash) for tenant, content_hash in rows)


def keep_asked(file: MemoryFile, tenant: str, hashes: Iterable[str], key: str, run_id: str) -> None:
    """Note that texts were shown, within the transaction of the caller."""
    file.db.conn.executemany(
        "INSERT OR REPLACE INTO asked (tenant, content_hash, key, run_id) VALUES (?, ?, ?, ?)",
        [(tenant, one, key, run_id) for one in hashes],
    )
