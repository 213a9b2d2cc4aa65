"""What an agent decides about a proposal that waits for review; each is decided once."""

from __future__ import annotations

from datetime import datetime
from pathlib import Path

from slowwave.consolidation.running.approval import Decided, carry_out
from slowwave.consolidation.running.review_queue import WaitingProposal, read_queue, with_sources
from slowwave.consolidation.vectors.embedder import Embedder
from slowwave.store.check import refuse_damaged
from slowwave.store.errors import StoreError
from slowwave.store.file import MemoryFile, maintenance_lock, open_reading, open_writing
from slowwave.store.ledger import REMEMBERED, Decision, decide_waiting, read_latest
from slowwave.store.records import timestamp

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
        if _open_decision(file, tenant, proposal_id) is None:
            return False
        with file.transaction():
            decide_waiting(file, proposal_id, "declined", timestamp(now), reason)
        return True


def not_planned(proposal_id: str) -> StoreError:
    """Return what to tell an agent whose proposal cannot be decided about."""
    return StoreError(
        f"Proposal '{proposal_id}' is stale: the plan does not have it any more.",
        "Nothing was changed. It was decided already, or a memory changed since; look at what "
        "is pending now, and give the whole id.",
    )


def _open_decision(file: MemoryFile, tenant: str, proposal_id: str) -> Decision | None:
    """Return a decision that waits; None if the ledger does not know it, or it may be planned."""
    latest = read_latest(file, proposal_id)
    if latest is None or latest.tenant != tenant:
        return None
    if latest.state == "pending":
        return latest
    if latest.state == "applied" or latest.state in REMEMBERED:
        raise not_planned(proposal_id)
    return None
