"""The proposals that a person chooses, and their approval or decline."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from slowwave.consolidation.progress import Progress
from slowwave.consolidation.running.review_queue import Choice, PendingProposal, find_pending
from slowwave.consolidation.runtime.interruption import Interruption
from slowwave.store.ledger import decide_pending
from slowwave.store.records import timestamp

if TYPE_CHECKING:
    from slowwave.consolidation.running.approval import Approval, ReviewResult
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


def approve(
    place: Place,
    way: str,
    apply: Callable[[Approval], ReviewResult],
    embedder: Embedder,
    progress: Progress | None = None,
    interruption: Interruption | None = None,
) -> ReviewResult:
    """Apply proposals as one run.

    way: as in `Approval`. apply: chooses the proposals, and has the approval apply them. Raises
    `StoreError`.
    """
    from slowwave.consolidation.running.approval import Approval

    now, progress = datetime.now(UTC), progress or Progress()
    interruption = interruption or Interruption()
    return place.change(
        lambda file: apply(Approval(file, embedder, now, way, progress, interruption))
    )


def apply_chosen(choice: Choice, words: str | None, approval: Approval) -> ReviewResult:
    """Apply the chosen pending proposals, unchanged if words is None, or in a person's words."""
    from slowwave.consolidation.running.approval import with_text

    return approval.apply(
        [
            pending.result
            if words is None
            else with_text(pending.result, words, list(pending.memories.values()))
            for pending in find_pending(approval.file, choice)
        ]
    )
