"""Pending proposals, read from the file with the current text of their sources."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from slowwave.consolidation.proposals import Proposal, Result
from slowwave.store.errors import StoreError
from slowwave.store.file import MemoryFile, open_reading, open_writing
from slowwave.store.ledger import (
    Decision,
    decide_pending,
    read_latest_by_prefix,
    read_pending,
    read_reviewed,
)
from slowwave.store.memories import read_memories
from slowwave.store.prefixes import MIN_PREFIX, match_prefix
from slowwave.store.records import Memory

from .apply import find_stale
from .kept_proposal import kept_from_decision
from .run_in_file import Preflight

_RECONSIDER = "'slowwave maintain FILE --reconsider' proposes it again."
_NEXT_RUN = "The next run plans its memories again."
_UNDO = "'slowwave undo FILE {id}' undoes it."
# What was decided, and what can be done about it, by the state of the proposal.
_DECIDED = {
    "approved": ("was applied", _UNDO),
    "applied": ("was applied", _UNDO),
    "declined": ("was declined", _RECONSIDER),
    "rejected": ("was rejected", _RECONSIDER),
    "undone": ("was undone", _RECONSIDER),
    "stale": ("was withdrawn", _NEXT_RUN),
    "failed": ("failed", _NEXT_RUN),
    "skipped": ("was skipped", _NEXT_RUN),
}


@dataclass(frozen=True)
class PendingProposal:
    """A proposal that is or was pending, with the current state of its sources."""

    decision: Decision
    result: Result
    memories: Mapping[str, Memory]
    # Why it can no longer be applied: a source changed, or it is damaged.
    stale: str | None

    @property
    def id(self) -> str:
        """The proposal's id."""
        return self.decision.key

    @property
    def proposal(self) -> Proposal:
        """The proposal itself."""
        return self.result.proposal

    def decided(self, state: str, why: str, now: str) -> PendingProposal:
        """Return it with a person's decision."""
        decision = replace(self.decision, state=state, why=why, decided_at=now)
        return replace(self, decision=decision)


@dataclass(frozen=True)
class Choice:
    """Which of the pending proposals are chosen; by default, all."""

    # Whole ids or unique prefixes.
    ids: tuple[str, ...] = ()
    operation: str | None = None

    def of(self, queue: Sequence[PendingProposal]) -> list[PendingProposal]:
        """Return the chosen ones. Raises `NotFound` and `Ambiguous`."""
        chosen = [
            pending for pending in queue if self.operation in (None, pending.proposal.operation)
        ]
        ids = {pending.id for pending in chosen}
        hint = "'slowwave review FILE' lists all of them."
        wanted = {match_prefix(prefix, ids, "pending proposal", hint=hint) for prefix in self.ids}
        return [pending for pending in chosen if not wanted or pending.id in wanted]


@dataclass(frozen=True)
class EarlierProposals:
    """The proposals of earlier nights that were pending."""

    # How many can still be applied.
    pending: int = 0
    # Proposals whose sources changed, and damaged ones.
    outdated: tuple[PendingProposal, ...] = ()


def withdraw_outdated(
    path: Path, tenants: Sequence[str], now: str, preflight: Preflight | None
) -> EarlierProposals:
    """Mark outdated proposals of earlier nights as stale, and return what was pending.

    tenants: whose; () means all. preflight: None in a dry run, which writes nothing. No memory is
    changed. A stale proposal may be made again. Raises `StoreError`.
    """
    with open_reading(path) as file:
        earlier = read_earlier(file, tenants)
    if preflight is None or not earlier.outdated:
        return earlier
    preflight.check_and_back_up()
    with open_writing(path) as file, file.transaction():
        # An agent may have changed the file since.
        earlier = read_earlier(file, tenants)
        for pending in earlier.outdated:
            decide_pending(file, pending.id, "stale", now, pending.stale)
    return earlier


def read_queue(
    opened: MemoryFile, tenants: Collection[str] = (), decided: bool = False
) -> list[PendingProposal]:
    """Return the pending proposals in the order in which they can be applied.

    Damaged proposals are included, as stale: they can be declined. tenants: whose; () means all.
    decided: include proposals that a person has decided about. Raises `StoreError`.
    """
    decisions = {decision.key: decision for decision in read_reviewed(opened)} if decided else {}
    decisions |= {decision.key: decision for decision in read_pending(opened)}
    kept = [
        (decision, kept_from_decision(decision))
        for decision in decisions.values()
        if not tenants or decision.tenant in tenants
    ]
    memory_by_id = read_sources(opened, (result for _, result in kept))
    queue = []
    for decision, result in kept:
        sources = result.proposal.sources
        memories = {
            memory_id: memory_by_id[memory_id] for memory_id in sources if memory_id in memory_by_id
        }
        stale = find_stale(result, memories) if decision.state == "pending" else None
        queue.append(PendingProposal(decision, result, memories, stale))
    return sorted(queue, key=lambda pending: (pending.decision.run_id, pending.result.place))


def find_pending(
    opened: MemoryFile, choice: Choice, tenants: Collection[str] = ()
) -> list[PendingProposal]:
    """Return the chosen pending proposals. tenants: as in `read_queue`.

    Raises `NotFound` and `Ambiguous`, and `StoreError` if a decision was made on one of them, or if
    nothing is pending.
    """
    queue = read_queue(opened, tenants)
    for prefix in choice.ids:
        if len(prefix) < MIN_PREFIX or any(pending.id.startswith(prefix) for pending in queue):
            continue
        decisions = read_latest_by_prefix(opened, prefix)
        if len(decisions) == 1 and (not tenants or decisions[0].tenant in tenants):
            raise StoreError(*describe_decision(decisions[0]))
    chosen = choice.of(queue)
    if not chosen:
        raise StoreError("No pending proposal matches.", "'slowwave review FILE' lists all.")
    return chosen


def describe_decision(decision: Decision) -> tuple[str, str]:
    """Describe the decision on a proposal and its date, and return a hint."""
    decided, hint = _DECIDED.get(decision.state, (f"is {decision.state}", ""))
    short = decision.key[:8]
    # An applied decision records why it was queued.
    is_done = decision.state in ("approved", "applied")
    reason = f" ({decision.why})" if decision.why and not is_done else ""
    decided = f"{decided} on {decision.decided_at[:10]}{reason}"
    return f"Proposal {short} is no longer pending: it {decided}.", hint.format(id=short)


def read_sources(file: MemoryFile, proposals: Iterable[Result]) -> dict[str, Memory]:
    """Return the memories of these proposals that still exist, by id."""
    ids = {memory_id for result in proposals for memory_id in result.proposal.sources}
    return {memory.id: memory for memory in read_memories(file, sorted(ids))}


def read_earlier(file: MemoryFile, tenants: Sequence[str]) -> EarlierProposals:
    """Return the pending proposals of these tenants, sorted into applicable and outdated."""
    proposals = read_queue(file, tenants)
    outdated = tuple(pending for pending in proposals if pending.stale is not None)
    return EarlierProposals(len(proposals) - len(outdated), outdated)
