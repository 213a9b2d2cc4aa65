"""Pending proposals, read from the file with the current text of their sources."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from slowwave.store.file import MemoryFile, open_reading, open_writing
from slowwave.store.ledger import (
    Decision,
    decide_pending,
    read_pending,
    read_pending_keys,
    read_reviewed,
)
from slowwave.store.memories import read_memories
from slowwave.store.records import Memory

from .apply import find_outdated
from .kept_proposal import KeptProposal, kept_from_decision
from .preflight import Preflight


@dataclass(frozen=True)
class WaitingProposal:
    """A proposal that is or was pending, with the current state of its sources."""

    decision: Decision
    kept: KeptProposal
    memories: Mapping[str, Memory]
    # Why it can no longer be applied: a source changed, or it is damaged.
    stale: str | None

    @property
    def id(self) -> str:
        """The proposal's id."""
        return self.decision.key

    def decided(self, state: str, why: str, now: str) -> WaitingProposal:
        """Return it with a person's decision."""
        decision = replace(self.decision, state=state, why=why, decided_at=now)
        return replace(self, decision=decision)


@dataclass(frozen=True)
class EarlierProposals:
    """The proposals of earlier nights that were pending."""

    # How many can still be applied.
    waiting: int = 0
    # Those whose sources changed, and those that are damaged.
    outdated: tuple[WaitingProposal, ...] = ()


def find_earlier(path: Path, tenants: Sequence[str]) -> EarlierProposals:
    """Return the pending proposals of earlier nights; nothing is written.

    tenants: whose; () means all. Raises `StoreError`.
    """
    with open_reading(path) as file:
        return read_earlier(file, tenants)


def withdraw_outdated(
    path: Path, tenants: Sequence[str], preflight: Preflight, now: str
) -> EarlierProposals:
    """Mark outdated proposals of earlier nights as stale, and return what `find_earlier` does.

    No memory is changed. A stale proposal may be made again. Raises `StoreError`.
    """
    found = find_earlier(path, tenants)
    if not found.outdated:
        return found
    preflight.check_and_back_up()
    with open_writing(path) as file, file.transaction():
        # An agent may have changed the file since.
        found = read_earlier(file, tenants)
        for waiting in found.outdated:
            decide_pending(file, waiting.id, "stale", now, waiting.stale)
    return found


def read_queue(opened: MemoryFile, decided: bool = False) -> list[WaitingProposal]:
    """Return the pending proposals in the order in which they can be applied.

    Damaged proposals are included, as stale: they can be declined. decided: include proposals that
    a person has decided about. Raises `StoreError`.
    """
    found = read_pending(opened)
    if decided:
        known = {decision.key for decision in found}
        latest = {
            decision.key: decision
            for decision in read_reviewed(opened)
            if decision.key not in known
        }
        found += latest.values()
    return with_sources(opened, found)


def with_sources(opened: MemoryFile, decisions: Iterable[Decision]) -> list[WaitingProposal]:
    """Return the proposals of these decisions in the order in which they can be applied."""
    queue = _with_sources(
        opened, [(decision, kept_from_decision(decision)) for decision in decisions]
    )
    return sorted(queue, key=lambda waiting: (waiting.decision.run_id, waiting.kept.place))


def read_earlier(file: MemoryFile, tenants: Sequence[str]) -> EarlierProposals:
    """Return the pending proposals of these tenants, sorted into applicable and outdated."""
    changed = read_pending_keys(file, tenants)
    pending = [
        (decision, kept_from_decision(decision))
        for decision in read_pending(file)
        if decision.key in changed
    ]
    suspects = [
        (decision, kept) for decision, kept in pending if kept.fault or changed[decision.key]
    ]
    outdated = [waiting for waiting in _with_sources(file, suspects) if waiting.stale is not None]
    return EarlierProposals(len(changed) - len(outdated), tuple(outdated))


def refresh(opened: MemoryFile, waiting: WaitingProposal) -> WaitingProposal:
    """Return a proposal with the current state of its sources. Raises `StoreError`."""
    return _waiting(waiting.decision, waiting.kept, _sources_of(opened, [waiting.kept]))


def _with_sources(
    opened: MemoryFile, decided: Sequence[tuple[Decision, KeptProposal]]
) -> list[WaitingProposal]:
    memories = _sources_of(opened, (kept for _, kept in decided))
    return [_waiting(decision, kept, memories) for decision, kept in decided]


def _sources_of(opened: MemoryFile, proposals: Iterable[KeptProposal]) -> dict[str, Memory]:
    ids = sorted({memory_id for kept in proposals for memory_id in kept.proposal.sources})
    return {memory.id: memory for memory in read_memories(opened, ids)}


def _waiting(
    decision: Decision, kept: KeptProposal, known: Mapping[str, Memory]
) -> WaitingProposal:
    memories = {
        memory_id: known[memory_id] for memory_id in kept.proposal.sources if memory_id in known
    }
    if decision.state != "pending":
        return WaitingProposal(decision, kept, memories, None)
    return WaitingProposal(decision, kept, memories, find_outdated(kept, list(memories.values())))
