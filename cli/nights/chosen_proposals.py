"""The pending proposals that a person chooses, and their approval or decline."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from slowwave.cli.views.review import describe_decision
from slowwave.consolidation.progress import Progress
from slowwave.consolidation.runtime.interruption import Interruption
from slowwave.store.errors import NotFound, StoreError
from slowwave.store.ledger import decide_pending, read_latest_by_prefix
from slowwave.store.memories import read_memories
from slowwave.store.prefixes import MIN_PREFIX, match_prefix
from slowwave.store.records import timestamp

if TYPE_CHECKING:
    from slowwave.consolidation.running.approval import ReviewResult
    from slowwave.consolidation.running.review_queue import PendingProposal
    from slowwave.consolidation.vectors.embedder import Embedder
    from slowwave.store.file import MemoryFile
    from slowwave.store.places import Place


@dataclass(frozen=True)
class Choice:
    """Which of the pending proposals are chosen."""

    ids: tuple[str, ...] = ()
    operation: str | None = None

    def of(self, queue: Sequence[PendingProposal]) -> list[PendingProposal]:
        """Return the chosen ones. Raises `NotFound` and `Ambiguous`."""
        pending_ids = {pending.id for pending in queue}
        hint = "'slowwave review FILE' lists all of them."
        wanted = {
            match_prefix(prefix, pending_ids, "pending proposal", hint=hint) for prefix in self.ids
        }
        return [
            pending
            for pending in queue
            if (not self.ids or pending.id in wanted)
            and self.operation in (None, pending.proposal.operation)
        ]


def decline(place: Place, choice: Choice, reason: str | None) -> list[PendingProposal]:
    """Decline the chosen proposals, and return them as declined. Raises `StoreError`."""
    now = timestamp(datetime.now(UTC))
    why = f"declined by a person: {reason}" if reason else "declined by a person"

    def do(memory_file: MemoryFile) -> list[PendingProposal]:
        chosen = chosen_of(memory_file, choice)
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
        approved = [pending.result for pending in chosen_of(memory_file, choice)]
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


def chosen_of(memory_file: MemoryFile, choice: Choice) -> list[PendingProposal]:
    """Return the chosen proposals. Raises `StoreError` if there are none."""
    from slowwave.consolidation.running.review_queue import read_queue

    queue = read_queue(memory_file)
    for prefix in choice.ids:
        if len(prefix) < MIN_PREFIX or any(pending.id.startswith(prefix) for pending in queue):
            continue
        decisions = read_latest_by_prefix(memory_file, prefix)
        if len(decisions) == 1:
            raise NotFound(*describe_decision(decisions[0]))
    chosen = choice.of(queue)
    if not chosen:
        raise StoreError("No pending proposal matches.", "'slowwave review FILE' lists all.")
    return chosen
