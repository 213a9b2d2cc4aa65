"""Which of the proposals that wait a person means, and having those approved or declined."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from slowwave.store.errors import Ambiguous, NotFound, StoreError
from slowwave.store.ledger import read_latest_by_prefix

from .decided_before import what_became

if TYPE_CHECKING:
    from slowwave.consolidation.progress import Progress
    from slowwave.consolidation.proposals import Result
    from slowwave.consolidation.running.approval import ReviewResult
    from slowwave.consolidation.running.review_queue import WaitingProposal
    from slowwave.consolidation.vectors.embedder import Embedder
    from slowwave.store.file import MemoryFile
    from slowwave.store.places import Place

# Ids of proposals are hashes: so much of one is soon unique.
_FEWEST = 4


@dataclass(frozen=True)
class Choice:
    """Which of what waits is meant."""

    ids: tuple[str, ...]
    operation: str | None
    everything: bool

    @property
    def is_empty(self) -> bool:
        """Whether nothing is named."""
        return not (self.ids or self.operation or self.everything)

    def of(self, queue: Sequence[WaitingProposal]) -> list[WaitingProposal]:
        """Return those that are meant. Raises `NotFound` and `Ambiguous`."""
        known = sorted(one.id for one in queue) if self.ids else []
        wanted = {_match(one, known) for one in self.ids}
        return [
            one
            for one in queue
            if (not self.ids or one.id in wanted)
            and (self.operation is None or one.kept.proposal.operation == self.operation)
        ]


def decline(place: Place, choice: Choice, reason: str | None) -> list[WaitingProposal]:
    """Decline what is chosen, and return it as it is then. Raises `StoreError`."""
    from slowwave.store.ledger import decide_pending
    from slowwave.store.records import timestamp

    now = timestamp(datetime.now(UTC))
    why = f"declined by a person: {reason}" if reason else "declined by a person"

    def do(opened: MemoryFile) -> list[WaitingProposal]:
        chosen = chosen_of(opened, choice)
        with opened.transaction():
            for one in chosen:
                decide_pending(opened, one.id, "declined", now, why)
        return chosen

    return [one.decided("declined", why, now) for one in place.change(do)]


def carry_out_chosen(
    place: Place,
    choice: Choice,
    words: str | None,
    embedder: Embedder,
    progress: Progress | None = None,
) -> ReviewResult:
    """Apply what is chosen, with a person's words if there are any. Raises `StoreError`."""
    way = "approve" if words is None else "edit"
    return _carried_out(place, choice, lambda _: words, way, embedder, progress)


def carry_out_worded(
    place: Place,
    words: Mapping[str, str | None],
    embedder: Embedder,
    progress: Progress | None = None,
) -> ReviewResult:
    """Apply what waits by its ids, each with a person's words or as it was kept, as one run.

    words: by the ids; None where it is applied as it was kept. Raises `StoreError`.
    """
    way = "approve" if None in words.values() else "edit"
    choice = Choice(tuple(words), None, False)
    return _carried_out(place, choice, words.__getitem__, way, embedder, progress)


def _carried_out(
    place: Place,
    choice: Choice,
    words_of: Callable[[str], str | None],
    way: str,
    embedder: Embedder,
    progress: Progress | None,
) -> ReviewResult:
    """Apply what is chosen as one run; words_of: a person's words for a proposal, by its id."""
    from slowwave.consolidation.running.approval import apply_approved

    now = datetime.now(UTC)

    def do(opened: MemoryFile) -> ReviewResult:
        chosen = [_worded(opened, one, words_of(one.id)) for one in chosen_of(opened, choice)]
        return apply_approved(opened, chosen, embedder, now, way, progress)

    return place.change(do)


def check_words(
    place: Place, key: str, words: str, embedder: Embedder, progress: Progress
) -> Result:
    """Look whether one that waits could be applied with a person's words, and change nothing.

    It is `planned` if it could. Raises `StoreError`.
    """
    from slowwave.consolidation.running.inspection import inspect
    from slowwave.store.file import open_reading

    with place.reading() as memory_file, open_reading(memory_file) as opened:
        (waiting,) = chosen_of(opened, Choice((key,), None, False))
        (checked,) = inspect(opened, [_worded(opened, waiting, words)], embedder, progress)
    return checked


def _worded(opened: MemoryFile, waiting: WaitingProposal, words: str | None) -> Result:
    from slowwave.consolidation.running.approval import with_text
    from slowwave.store.memories import read_memories

    if words is None:
        return waiting.kept
    memories = list(read_memories(opened, waiting.kept.proposal.sources))
    return with_text(waiting.kept, words, memories)


def chosen_of(opened: MemoryFile, choice: Choice) -> list[WaitingProposal]:
    """Return what is chosen of what waits. Raises `StoreError` if that is nothing."""
    from slowwave.consolidation.running.review_queue import read_queue

    queue = read_queue(opened)
    for one in choice.ids:
        _refuse_decided(opened, one, queue)
    chosen = choice.of(queue)
    if not chosen:
        raise StoreError("Nothing of that kind waits for review.", "'slowwave review' lists all.")
    return chosen


def _refuse_decided(opened: MemoryFile, prefix: str, queue: Sequence[WaitingProposal]) -> None:
    """Say of what waits no more what became of it. Raises `NotFound`."""
    if len(prefix) < _FEWEST or any(one.id.startswith(prefix) for one in queue):
        return
    found = read_latest_by_prefix(opened, prefix)
    if len(found) == 1:
        said, hint = what_became(found[0])
        raise NotFound(f"{said} It waits no more.", hint)


def _match(prefix: str, known: Sequence[str]) -> str:
    """Return the id of what is meant; known: all ids, sorted."""
    start = bisect_left(known, prefix)
    found = [one for one in known[start : start + 2] if one.startswith(prefix)]
    if prefix in found:
        return prefix
    if not found or len(prefix) < _FEWEST:
        raise NotFound(
            f"No proposal '{prefix}' waits for review.",
            f"'slowwave review' lists all; give at least {_FEWEST} characters of an id.",
        )
    if len(found) > 1:
        raise Ambiguous(f"More than one proposal begins with '{prefix}'.", "Give more of the id.")
    return found[0]
