"""Results that depend on texts alone, kept so that later runs need not compute them again."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import islice
from typing import TypeVar

from .file import MemoryFile

# Rows of one transaction: a moment's work, where a row holds a thousand findings.
_PORTION = 32

T = TypeVar("T")


def read_cached(file: MemoryFile) -> list[tuple[str, bytes, str]]:
    """Return all that is kept, as (kind, key, value)."""
    return file.db.conn.execute("SELECT kind, key, value FROM memos").fetchall()


def keep_cached(file: MemoryFile, memos: Iterable[tuple[str, bytes, str]]) -> None:
    """Keep (kind, key, value), in short transactions."""
    for part in _portions(memos):
        with file.transaction():
            file.db.conn.executemany(
                "INSERT INTO memos (kind, key, value) VALUES (?, ?, ?) "
                "ON CONFLICT (kind, key) DO UPDATE SET value = excluded.value",
                part,
            )


def forget_cached(file: MemoryFile, places: Iterable[tuple[str, bytes]]) -> None:
    """Drop what is kept under (kind, key), in short transactions."""
    for part in _portions(places):
        with file.transaction():
            file.db.conn.executemany("DELETE FROM memos WHERE kind = ? AND key = ?", part)


def _portions(items: Iterable[T]) -> Iterator[list[T]]:
    waiting = iter(items)
    while part := list(islice(waiting, _PORTION)):
        yield part
