"""The pending proposals that a person chooses, and their approval or decline."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING

from slowwave.consolidation.progress import Progress
from slowwave.consolidation.running.review_queue import Choice, PendingProposal, find_pending
from slowwave.consolidation.runtime.interruption import Interruption
from slowwave.store.ledger import decide_pending
from slowwave.store.memories import read_memories
from slowwave.store.records import timestamp

if TYPE_CHECKING:
    from slowwave.consolidation.running.approval import ReviewResult
    from slowwave.consolidation.vectors.embedder import Embedder
    from slowwave.store.file import MemoryFile
    from slowwave.store.places import Place


def decline(place: Place, choice: Choice, reason: str | None) -> list[PendingProposal]:
    """Decline the chosen proposals, and return them as declined. Raises `StoreError`."""
    now = timestamp(datetime.now(UTC))
    why = f"declined by a person: {reason}" if reason else "declined by a person"

    def do(memory_file: MemoryFile) -> list[PendingProposal]:
        chosen = find_pending(memory_file, choice)
        with memory_file.transaction():
            for pending in chosen:
                decide_pending(memory_file, pending.id, "declined", now, why)
        return chosen

    return [pending.decided("declined", why, now) for pending in place.change(do)]


def apply_chosen(
    place: Place,
    choice: Choice,
    words: str | None,
    embedder: Embedder,
    progress: Progress | None = None,
    interruption: Interruption | None = None,
) -> ReviewResult:
    """Apply the chosen proposals as one run, unchanged or in a person's words.

    words: None applies them unchanged. Raises `StoreError`.
    """
    from slowwave.consolidation.running.approval import Approval, with_text

    now = datetime.now(UTC)

    def do(memory_file: MemoryFile) -> ReviewResult:
        approved = [pending.result for pending in find_pending(memory_file, choice)]
        if words is not None:
            approved = [
                with_text(item, words, list(read_memories(memory_file, item.proposal.sources)))
                for item in approved
            ]
        approval = Approval(
            file=memory_file,
            embedder=embedder,
            now=now,
            way="approve" if words is None else "edit",
            progress=progress or Progress(),
            interruption=interruption or Interruption(),
        )
        return approval.apply(approved)

    return place.change(do)
