"""What waits for a person: read from the file, whole, with its sources as they are now."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from slowwave.store.file import MemoryFile
from slowwave.store.ledger import (
    Decision,
    read_pending,
    read_pending_keys,
    read_reviewed,
)
from slowwave.store.memories import read_memories
from slowwave.store.records import Memory

from .apply import find_outdated
from .kept_proposal import KeptProposal, kept_of


@dataclass(frozen=True)
class WaitingProposal:
    """A proposal that waits, or waited, with its sources as they are now."""

    decision: Decision
    kept: KeptProposal
    memories: Mapping[str, Memory]
    # Why it cannot be applied any more: a source has changed, or it is damaged.
    stale: str | None

    @property
    def id(self) -> str:
        """The proposal's id."""
        return self.decision.key

    def decided(self, state: str, why: str, now: str) -> WaitingProposal:
        """Return it as it is once a person has decided."""
        decision = replace(self.decision, state=state, why=why, decided_at=now)
        return replace(self, decision=decision)


def read_queue(opened: MemoryFile, decided: bool = False) -> list[WaitingProposal]:
    """Return what waits, in the order in which it can be applied. Raises `StoreError`.

    What is damaged is there, too, as what cannot be applied any more: it may be declined.

    decided: also what a person has decided about since.
    """
    found = read_pending(opened)
    if decided:
        known = {one.key for one in found}
        latest = {one.key: one for one in read_reviewed(opened) if one.key not in known}
        found += latest.values()
    return with_sources(opened, found)


def with_sources(opened: MemoryFile, decisions: Iterable[Decision]) -> list[WaitingProposal]:
    """Return what waits, or waited, whole, in the order in which it can be applied."""
    queue = _with_sources(opened, [(one, kept_of(one)) for one in decisions])
    return sorted(queue, key=lambda one: (one.decision.run_id, one.kept.place))


def read_outdated(opened: MemoryFile, tenants: Sequence[str]) -> tuple[int, list[WaitingProposal]]:
    """Return how many proposals wait and can be applied, and those that cannot any more.

    tenants: whose; () means all. The latter, whose sources have changed or which are damaged, in
    the order of runs and ids.
    """
    changed = read_pending_keys(opened, tenants)
    waiting = [(one, kept_of(one)) for one in read_pending(opened) if one.key in changed]
    suspected = [(one, kept) for one, kept in waiting if kept.fault or changed[one.key]]
    outdated = [one for one in _with_sources(opened, suspected) if one.stale is not None]
    return len(changed) - len(outdated), outdated


def seen_again(opened: MemoryFile, waiting: WaitingProposal) -> WaitingProposal:
    """Return what waits with its sources as they are now. Raises `StoreError`."""
    return _waiting(waiting.decision, waiting.kept, _sources_of(opened, [waiting.kept]))


def _with_sources(
    opened: MemoryFile, several: Sequence[tuple[Decision, KeptProposal]]
) -> list[WaitingProposal]:
    memories = _sources_of(opened, (kept for _, kept in several))
    return [_waiting(decision, kept, memories) for decision, kept in several]


def _sources_of(opened: MemoryFile, several: Iterable[KeptProposal]) -> dict[str, Memory]:
    ids = sorted({one for kept in several for one in kept.proposal.sources})
    return {one.id: one for one in read_memories(opened, ids)}


def _waiting(
    decision: Decision, kept: KeptProposal, known: Mapping[str, Memory]
) -> WaitingProposal:
    memories = {one: known[one] for one in kept.proposal.sources if one in known}
    if decision.state != "pending":
        return WaitingProposal(decision, kept, memories, None)
    return WaitingProposal(decision, kept, memories, find_outdated(kept, list(memories.values())))
