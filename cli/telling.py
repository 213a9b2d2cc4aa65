"""Memories as a report shows them: by their dates and texts, read when it is written."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from slowwave.store.errors import StoreError
from slowwave.store.file import open_reading
from slowwave.store.memories import read_memories
from slowwave.store.records import Memory

from .output import clean, shortened

# So many characters of a text are enough to know which memory it is; what a pipe takes is for more
# than that, and still no megabytes of one memory.
MOST_SAID = 200
MOST_PIPED = 20_000
_GONE = "(no longer in the file)"


@dataclass(frozen=True)
class Telling:
    """Tells what memories say."""

    path: Path

    def memories(self, ids: Iterable[str]) -> dict[str, Memory]:
        """Return those of the memories that can be read, by their ids.

        A report is written after the run: whatever has become of the file, the rest of it is told.
        """
        wanted = sorted(set(ids))
        if not wanted:
            return {}
        try:
            with open_reading(self.path) as file:
                return {memory.id: memory for memory in read_memories(file, wanted)}
        except StoreError:
            return {}


def said(memory: Memory | None) -> str:
    """Return what a memory says; on a terminal the beginning of it."""
    if memory is None:
        return _GONE
    return shortened(memory.content, MOST_SAID if sys.stdout.isatty() else MOST_PIPED)


def dated(memory: Memory | None) -> str:
    """Return the beginning of what a memory says, and when that was observed."""
    return _GONE if memory is None else f"{clean(memory.observed_at[:10])}  {said(memory)}"


class Signed(Protocol):
    """A statement with who worded it, and who gave a second opinion on it."""

    @property
    def written_by(self) -> str | None:
        """The model that worded it; None where a source says it word for word."""

    @property
    def checked_by(self) -> str | None:
        """The model that gave a second opinion on it."""


def whose_words(claim: Signed) -> str:
    """Say whose words a statement has, and who was for it."""
    if claim.written_by is None:
        return "word for word from its sources"
    also = "" if claim.checked_by is None else f" and by {claim.checked_by}"
    return f"worded by {claim.written_by}, checked word by word{also}"


def in_time(ids: Iterable[str], memories: dict[str, Memory]) -> list[str]:
    """Return ids in the order in which the memories were observed."""
    known = {one: memory.observed_at for one, memory in memories.items()}
    return sorted(set(ids), key=lambda one: (known.get(one, ""), one))


def counted(count: int, one: str, more: str) -> str:
    """Return a number with its noun."""
    return f"{count:,} {one if count == 1 else more}"


def memories_of(several: Sequence[Sequence[str]]) -> set[str]:
    """Return the ids that are in any of several groups."""
    return {memory_id for ids in several for memory_id in ids}
