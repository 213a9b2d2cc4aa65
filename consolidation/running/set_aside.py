"""Proposals that wait for review and can no longer be applied: set aside, so nobody is asked."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from slowwave.store.errors import UnusableFile
from slowwave.store.file import MemoryFile, open_reading, open_writing
from slowwave.store.ledger import Decision, decide_waiting, read_waiting
from slowwave.store.memories import read_memories

from .apply import find_stale
from .kept_proposal import KeptProposal, kept_of
from .preflight import Preflight


@dataclass(frozen=True)
class SetAside:
    """A proposal that waited, and why it cannot be applied any more."""

    proposal: str
    why: str


def find_outdated(path: Path, tenants: Sequence[str]) -> tuple[SetAside, ...]:
    """Return what waits for a person although its sources have changed; nothing is written.

    tenants: whose; () means all. Raises `StoreError`.
    """
    with open_reading(path) as file:
        return _outdated(file, tenants)


def set_aside_outdated(
    path: Path, tenants: Sequence[str], preflight: Preflight, now: str
) -> tuple[SetAside, ...]:
    """Withdraw the waiting proposals that `find_outdated` finds. Raises `StoreError`.

    No memory is changed, and the next look may propose the same anew: it is `stale`, which is not
    remembered as a decision.
    """
    if not find_outdated(path, tenants):
        return ()
    preflight.check_and_back_up()
    with open_writing(path) as file, file.transaction():
        # An agent may have changed things since.
        found = _outdated(file, tenants)
        for one in found:
            decide_waiting(file, one.proposal, "stale", now, one.why)
    return found


def _outdated(file: MemoryFile, tenants: Sequence[str]) -> tuple[SetAside, ...]:
    decisions = (one for one in read_waiting(file) if not tenants or one.tenant in tenants)
    waiting = [kept for one in decisions if (kept := _readable(one)) is not None]
    memories = {one.id: one for one in read_memories(file, _sources(waiting))}
    found = []
    for kept in waiting:
        proposal = kept.proposal
        known = [memories[one] for one in proposal.sources if one in memories]
        if (stale := find_stale(proposal, known)) is not None:
            found.append(SetAside(proposal.id, stale.why or ""))
    return tuple(found)


def _readable(decision: Decision) -> KeptProposal | None:
    """Return what is kept; None if it is damaged, which is for the review to say."""
    try:
        return kept_of(decision.numbers, decision.key)
    except UnusableFile:
        return None


def _sources(waiting: Sequence[KeptProposal]) -> list[str]:
    return sorted({one for kept in waiting for one in kept.proposal.sources})
