"""A memory in a view: its text and its day, read when the view is written."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from slowwave.cli.terminal.output import clean
from slowwave.cli.terminal.wording import counted, day_of, shortened_for_stdout, time_of
from slowwave.consolidation.proposals import BY_PERSON
from slowwave.store.errors import StoreError
from slowwave.store.file import open_reading
from slowwave.store.lineage import read_source_texts
from slowwave.store.memories import read_memories

if TYPE_CHECKING:
    from slowwave.consolidation.recall.search import Hit
    from slowwave.store.records import Claim, Memory

PURGED = " (purged)"
_MISSING = "(no longer in the file)"


@dataclass(frozen=True)
class MemoryView:
    """What a view shows of a memory."""

    id: str
    content: str
    # Empty if it is not known.
    observed_at: str
    # None if the memory was deleted.
    status: str | None = None
    # The name of its file or row, if an agent keeps it as one of its own.
    file: str = ""
    # The subject of the memory if its text does not mention it.
    subject: str = ""

    @property
    def head(self) -> str:
        """Its day, its file and its subject, as its text follows them."""
        names = "".join(f"{name}: " for name in (self.file, self.subject) if name)
        return clean((self.day and f"{self.day}  ") + names)

    @property
    def day(self) -> str:
        """The day on which it was observed; empty if it is not known."""
        return day_of(self.observed_at)


def memory_as_json(memory: Memory) -> dict[str, Any]:
    """Return all fields of a memory."""
    return asdict(memory) | {"observed_at": time_of(memory.observed_at)}


def mark(text: str) -> dict[str, str]:
    """Return the first instruction to its reader that a text contains, if there is one."""
    from slowwave.consolidation.text.injection import commands

    instructions = commands(text)
    return {"tries_to_command": instructions[0]} if instructions else {}


def findings_as_json(hit: Hit) -> dict[str, Any]:
    """Return what the search found out about a memory, and any instruction that it contains."""
    newer, contradicts = map(_named, (hit.later, hit.contradicts))
    return {
        "relevance": round(hit.relevance, 4),
        "sources": list(hit.sources),
        "shared": hit.is_shared,
        "newer": newer,
        "later": newer and newer["id"],
        "contradicts": contradicts,
        # Read by scripts; nothing is guessed any longer.
        "perhaps_later": None,
        **(mark(hit.memory.content) or mark(hit.rival.content if hit.rival else "")),
    }


def _named(memory: Memory | None) -> dict[str, str | None] | None:
    if memory is None:
        return None
    return {"id": memory.id, "content": memory.content, "observed_at": time_of(memory.observed_at)}


def view_memories(memories: Iterable[Memory]) -> dict[str, MemoryView]:
    """Return the views of memories, by id."""
    return {
        memory.id: MemoryView(
            id=memory.id,
            content=memory.content,
            observed_at=memory.observed_at,
            status=memory.status,
            file=memory.file,
            subject=memory.unmentioned_subject,
        )
        for memory in memories
    }


def missing(memory_id: str, content: str = _MISSING) -> MemoryView:
    """Return the view of a memory that is not in the file."""
    return MemoryView(memory_id, content, "")


def read_views(path: Path, ids: Iterable[str]) -> dict[str, MemoryView]:
    """Return the views of memories, by id; of purged ones, with the text that lineage kept.

    The file may have changed since the run, or be unreadable: what cannot be read is missing.
    """
    sorted_ids = sorted(set(ids))
    if not sorted_ids:
        return {}
    try:
        with open_reading(path) as file:
            views = view_memories(read_memories(file, sorted_ids))
            purged_texts = read_source_texts(
                file, [memory_id for memory_id in sorted_ids if memory_id not in views]
            )
    except StoreError:
        return {}
    return views | {
        memory_id: missing(memory_id, f"{text}{PURGED}") for memory_id, text in purged_texts.items()
    }


def dated(memory: MemoryView | None, whole: bool = False) -> str:
    """Return the head and the text of a memory on one line.

    whole: on a terminal, too, which otherwise shows its beginning.
    """
    if memory is None:
        return _MISSING
    return f"{memory.head}{(clean if whole else shortened_for_stdout)(memory.content)}"


def sort_by_time(ids: Iterable[str], memories: Mapping[str, MemoryView]) -> list[str]:
    """Return distinct ids, ordered by when the memories were observed."""

    def moment(memory_id: str) -> tuple[str, str]:
        memory = memories.get(memory_id)
        return "" if memory is None else memory.observed_at, memory_id

    return sorted(set(ids), key=moment)


def ids_in(groups: Iterable[Iterable[str]]) -> set[str]:
    """Return the ids that any of these groups contains."""
    return {memory_id for ids in groups for memory_id in ids}


def author_of(claim: Claim) -> str:
    """Return who wrote a statement, and who checked it."""
    if claim.written_by is None:
        return "verbatim from its sources"
    if claim.written_by == BY_PERSON:
        return "written by a person, its values checked by program"
    if claim.checked_by is None:
        return f"written by {claim.written_by}, its values checked by program, not read by a model"
    return f"written by {claim.written_by}, checked by program and read by {claim.checked_by}"


def authors_of(claims: Iterable[Claim]) -> list[str]:
    """Return how many statements each author wrote; verbatim ones do not count."""
    authors = Counter(author_of(claim) for claim in claims if claim.written_by)
    return [f"{counted(count, 'statement')} {author}" for author, count in authors.items()]
