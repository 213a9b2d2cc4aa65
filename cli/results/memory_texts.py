"""Memories as a report shows them: by their dates and texts, read when it is written."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from slowwave.cli.terminal.wording import day_of, shortened_for_stdout
from slowwave.store.errors import StoreError
from slowwave.store.file import open_reading
from slowwave.store.lineage import read_source_texts
from slowwave.store.memories import read_memories

PURGED = " (purged)"
_GONE = "(no longer in the file)"


@dataclass(frozen=True)
class ShownMemory:
    """What a report says of one memory."""

    content: str
    # Empty where it is no longer known.
    observed_at: str


@dataclass(frozen=True)
class MemoryTexts:
    """Reads the texts of memories from a file."""

    path: Path

    def memories(self, ids: Iterable[str]) -> dict[str, ShownMemory]:
        """Return what can be told of memories, by their ids: of purged ones, what lineage kept.

        A report is written after the run: whatever became of the file, the rest is reported.
        """
        wanted = sorted(set(ids))
        if not wanted:
            return {}
        try:
            with open_reading(self.path) as file:
                there = {
                    one.id: ShownMemory(one.content, one.observed_at)
                    for one in read_memories(file, wanted)
                }
                left = read_source_texts(file, [one for one in wanted if one not in there])
        except StoreError:
            return {}
        return there | {one: ShownMemory(f"{text}{PURGED}", "") for one, text in left.items()}


def said(memory: ShownMemory | None) -> str:
    """Return what a memory says; on a terminal the beginning of it."""
    if memory is None:
        return _GONE
    return shortened_for_stdout(memory.content)


def dated(memory: ShownMemory | None) -> str:
    """Return the beginning of what a memory says, and when that was observed."""
    return _GONE if memory is None else f"{day_of(memory.observed_at)}  {said(memory)}".strip()


def in_time(ids: Iterable[str], memories: dict[str, ShownMemory]) -> list[str]:
    """Return ids in the order in which the memories were observed."""

    def moment(memory_id: str) -> str:
        memory = memories.get(memory_id)
        return "" if memory is None else memory.observed_at

    return sorted(set(ids), key=lambda one: (moment(one), one))


def memories_of(several: Sequence[Sequence[str]]) -> set[str]:
    """Return the ids that are in any of several groups."""
    return {memory_id for ids in several for memory_id in ids}
