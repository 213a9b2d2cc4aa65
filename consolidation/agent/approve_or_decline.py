"""What an agent decides about a proposal that waits for review; each is decided once."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from datetime import datetime
from pathlib import Path

from slowwave.consolidation.proposals import Result
from slowwave.consolidation.running.approval import Decided, carry_out
from slowwave.consolidation.running.review_queue import WaitingProposal, read_queue, with_sources
from slowwave.consolidation.vectors.embedder import Embedder
from slowwave.store.check import refuse_damaged
from slowwave.store.errors import Ambiguous, NotFound, StoreError
from slowwave.store.file import MemoryFile, maintenance_lock, open_reading, open_writing
from slowwave.store.ledger import REMEMBERED, Decision, decide_pending, read_latest_by_prefix
from slowwave.store.records import timestamp
from slowwave.store.undo.undoable import MIN_PREFIX

# What the ledger calls the way by which it was decided.
_WAY = "approve"


def read_waiting_of(path: Path, tenant: str) -> list[WaitingProposal]:
    """Return what waits of a tenant, in the order in which it can be applied.

    Raises `StoreError`.
    """
    with open_reading(path) as file:
        return [one for one in read_queue(file) if one.kept.proposal.tenant == tenant]


def approve_waiting(
    path: Path, tenant: str, proposal_id: str, embedder: Embedder, now: datetime
) -> Decided | None:
    """Carry out a proposal as it was kept; None if it does not wait, nor is decided.

    Raises `StoreError`, also if it is decided already, and `EmbedderError`.
    """
    with maintenance_lock(path), open_writing(path) as file:
        refuse_damaged(file)
        latest = _open_decision(file, tenant, proposal_id)
        if latest is None:
            return None
        kept = [one.kept for one in with_sources(file, [latest])]
        return carry_out(file, kept, embedder, now, _WAY)


def decline_waiting(path: Path, tenant: str, proposal_id: str, reason: str, now: datetime) -> bool:
    """Decline a proposal for good, and say whether it waits at all.

    Raises `StoreError`, also if it is decided already.
    """
    with maintenance_lock(path), open_writing(path) as file:
        refuse_damaged(file)
        waiting = _open_decision(file, tenant, proposal_id)
        if waiting is None:
            return False
        with file.transaction():
            decide_pending(file, waiting.key, "declined", timestamp(now), reason)
        return True


def find_planned(
    planned: Sequence[Result], proposal_id: str, shown: Collection[str] = ()
) -> Result:
    """Return the one whose id is meant of what a dry run planned.

    shown: the ids of what the agent was shown last. Raises `StoreError` if there is none, and
    `Ambiguous`.
    """
    fitting = [one for one in planned if _fits(one.proposal.id, proposal_id)]
    if len(fitting) > 1:
        raise _ambiguous(proposal_id)
    if not fitting:
        raise not_planned(proposal_id, shown)
    return fitting[0]


def not_planned(proposal_id: str, shown: Collection[str] = ()) -> StoreError:
    """Return what to tell an agent whose proposal cannot be decided about; `shown` is as above."""
    if len(proposal_id) < MIN_PREFIX:
        return NotFound(
            f"There is no proposal '{proposal_id}'.",
            f"Give the whole id, or at least its first {MIN_PREFIX} characters.",
        )
    if any(_fits(one, proposal_id) for one in shown):
        return StoreError(
            f"Proposal '{proposal_id}' is stale: the plan does not have it any more.",
            "Nothing was changed. A memory changed since; look at what is pending now.",
        )
    return NotFound(
        f"There is no proposal '{proposal_id}': none of that id waits, or would be made now.",
        "Nothing was changed. Look at what is pending now.",
    )


def _open_decision(file: MemoryFile, tenant: str, proposal_id: str) -> Decision | None:
    """Return a decision that waits; None if the ledger does not know it, or it may be planned."""
    known = read_latest_by_prefix(file, proposal_id) if len(proposal_id) >= MIN_PREFIX else []
    mine = [one for one in known if one.tenant == tenant]
    waiting = [one for one in mine if one.state == "pending"]
    if len(waiting) > 1:
        raise _ambiguous(proposal_id)
    if waiting:
        return waiting[0]
    for one in mine:
        if one.state == "applied" or one.state in REMEMBERED:
            raise StoreError(
                f"Proposal '{proposal_id}' was decided already: it is {one.state}.",
                "Nothing was changed. Look at what is pending now.",
            )
    return None


def _fits(proposal_id: str, named: str) -> bool:
    return proposal_id == named or (len(named) >= MIN_PREFIX and proposal_id.startswith(named))


def _ambiguous(proposal_id: str) -> Ambiguous:
    return Ambiguous(f"More than one proposal begins with '{proposal_id}'.", "Give more of the id.")
