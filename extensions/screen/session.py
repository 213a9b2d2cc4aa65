"""The decisions of a person at the screen, applied by the same code as the commands."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import partial
from typing import TYPE_CHECKING, Literal

from slowwave.cli.nights.chosen_proposals import apply_chosen, approve, decline
from slowwave.cli.terminal.wording import counted
from slowwave.consolidation.running.review_queue import Choice, PendingProposal, read_queue
from slowwave.store.file import open_reading

if TYPE_CHECKING:
    from slowwave.consolidation.vectors.embedder import Embedder
    from slowwave.store.file import MemoryFile
    from slowwave.store.places import Place

State = Literal["pending", "stale", "applied", "edited", "declined", "decided"]


@dataclass(frozen=True)
class UndoableDecision:
    """A decision that can be undone."""

    # The proposal before the decision.
    pending: PendingProposal
    state: State
    # The run that applied it; None if it was declined.
    run_id: str | None


@dataclass(frozen=True)
class KeyResult:
    """The outcome of a key press: a sentence, and the proposal that it changed, or None."""

    message: str
    key: str | None = None


@dataclass
class Session:
    """The pending proposals, and the decisions at this screen."""

    place: Place
    embedder: Embedder
    choice: Choice
    queue: dict[str, PendingProposal] = field(default_factory=dict)
    decisions: list[UndoableDecision] = field(default_factory=list)
    # The ids of proposals that are still pending in the file.
    pending_ids: set[str] = field(default_factory=set)

    def load(self) -> None:
        """Read the pending proposals. Raises `StoreError`."""
        with self.place.reading() as memory_file, open_reading(memory_file) as opened:
            self.queue = {pending.id: pending for pending in self.choice.of(read_queue(opened))}
        self.pending_ids = set(self.queue)

    def state_of(self, key: str) -> State:
        """Return the state of a proposal."""
        for decision in self.decisions:
            if decision.pending.id == key:
                return decision.state
        if key not in self.pending_ids:
            return "decided"  # by another program
        return "stale" if self.queue[key].stale else "pending"

    def is_open(self, key: str) -> bool:
        """Whether it can be decided."""
        return self.state_of(key) in ("pending", "stale")

    def approve(self, keys: Sequence[str], words: str | None = None) -> KeyResult:
        """Apply proposals as one run, unchanged or with another text. Raises `StoreError`."""
        chosen = [self.queue[key] for key in keys]
        choice, way = Choice(tuple(keys)), "approve" if words is None else "edit"
        try:
            apply = partial(apply_chosen, choice, words)
            decided = approve(self.place, way, apply, self.embedder)
        finally:  # others may have become stale
            self._read_again()
        applied = {result.proposal.id for result in decided.results if result.state == "applied"}
        state: State = "applied" if words is None else "edited"
        self.decisions += [
            UndoableDecision(pending, state, decided.run_id)
            for pending in chosen
            if pending.id in applied
        ]
        messages = [
            f"Not applied, {result.state}: {result.why}"
            for result in decided.results
            if result.state != "applied"
        ]
        if applied:
            messages.insert(0, f"Applied {len(applied):,} of {len(keys):,}. Undo with u.")
        return KeyResult(" ".join(messages), next(iter(applied), None))

    def decline(self, key: str, reason: str) -> KeyResult:
        """Decline it permanently. Raises `StoreError`."""
        pending = self.queue[key]
        try:
            decline(self.place, Choice((key,)), reason.strip() or None)
        finally:
            self._read_again()
        self.decisions.append(UndoableDecision(pending, "declined", None))
        return KeyResult(f"Declined {key[:8]}. It is not proposed again.", key)

    def undo(self) -> KeyResult:
        """Undo the last decision; its proposal is pending again. Raises `StoreError`."""
        if not self.decisions:
            return KeyResult("There is no decision to undo.")
        decision = self.decisions[-1]

        def make_pending(opened: MemoryFile) -> None:
            from slowwave.consolidation.running.approval import make_pending_again

            make_pending_again(
                opened, decision.pending.decision, decision.run_id, datetime.now(UTC)
            )

        self.place.change(make_pending)
        self.decisions.pop()
        self._read_again()
        return KeyResult(
            f"Undid {decision.pending.id[:8]}: it is pending again.", decision.pending.id
        )

    def describe_effect(self, keys: Sequence[str]) -> str:
        """Return what applying proposals does."""
        proposals = [self.queue[key].proposal for key in keys]
        operations = Counter(proposal.operation for proposal in proposals)
        counts = ", ".join(f"{count} {name}" for name, count in sorted(operations.items()))
        leaving = {memory for proposal in proposals for memory in proposal.leaving}
        written = sum(not proposal.keeps_text for proposal in proposals)
        superseded = counted(len(leaving), "memory is superseded", "memories are superseded")
        return f"{counts}: {superseded}, {counted(written, 'text is', 'texts are')} written."

    def summary(self) -> str:
        """Return the numbers of decisions and of pending proposals."""
        counts = Counter(decision.state for decision in self.decisions)
        parts = [f"{number} {state}" for state, number in sorted(counts.items())]
        pending = sum(self.is_open(key) for key in self.queue)
        parts.append(
            f"{counted(pending, 'proposal', 'proposals')} pending" if pending else "nothing pending"
        )
        return f"{', '.join(parts)}."

    def _read_again(self) -> None:
        """Read again which proposals are pending, and the memories of these."""
        with self.place.reading() as memory_file, open_reading(memory_file) as opened:
            pending_now = {pending.id: pending for pending in read_queue(opened)}
        self.pending_ids = set(pending_now)
        self.queue |= {key: pending_now[key] for key in self.queue if key in pending_now}
