"""Approve and decline pending proposals for an agent; each is decided once."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from datetime import datetime
from pathlib import Path

from slowwave.consolidation.proposals import Result
from slowwave.consolidation.running.approval import ReviewResult, apply_approved
from slowwave.consolidation.running.review_queue import WaitingProposal, read_queue, with_sources
from slowwave.consolidation.vectors.embedder import Embedder
from slowwave.store.check import refuse_damaged
from slowwave.store.errors import Ambiguous, NotFound, StoreError
from slowwave.store.file import MemoryFile, maintenance_lock, open_reading, open_writing
from slowwave.store.ledger import REMEMBERED, Decision, decide_pending, read_latest_by_prefix
from slowwave.store.records import timestamp
from slowwave.store.undo.undoable import MIN_PREFIX

# How the decision was made, as recorded in the ledger.
_WAY = "approve"


def read_waiting_of(path: Path, tenant: str) -> list[WaitingProposal]:
    """Return a tenant's pending proposals in the order in which they can be applied.

    Raises `StoreError`.
    """
    with open_reading(path) as file:
        return [waiting for waiting in read_queue(file) if waiting.kept.proposal.tenant == tenant]


def approve_waiting(
    path: Path, tenant: str, proposal_id: str, embedder: Embedder, now: datetime
) -> ReviewResult | None:
    """Apply a pending proposal; return None if there is none with this id.

    Raises `StoreError`, also if it was decided already, and `EmbedderError`.
    """
    with maintenance_lock(path), open_writing(path) as file:
        refuse_damaged(file)
        latest = _open_decision(file, tenant, proposal_id)
        if latest is None:
            return None
        kept = [waiting.kept for waiting in with_sources(file, [latest])]
        return apply_approved(file, kept, embedder, now, _WAY)


def decline_waiting(path: Path, tenant: str, proposal_id: str, reason: str, now: datetime) -> bool:
    """Decline a pending proposal; return whether there is one with this id.

    Raises `StoreError`, also if it was decided already.
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
    """Return the planned result whose id matches.

    shown: the ids that the agent was shown last. Raises `StoreError` if none matches, and
    `Ambiguous`.
    """
    fitting = [result for result in planned if _fits(result.proposal.id, proposal_id)]
    if len(fitting) > 1:
        raise _ambiguous(proposal_id)
    if not fitting:
        raise not_planned(proposal_id, shown)
    return fitting[0]


def not_planned(proposal_id: str, shown: Collection[str] = ()) -> StoreError:
    """Return the error for an id without a proposal. shown: as in `find_planned`."""
    if len(proposal_id) < MIN_PREFIX:
        return NotFound(
            f"There is no proposal '{proposal_id}'.",
            f"Use the whole id, or at least its first {MIN_PREFIX} characters.",
        )
    if any(_fits(shown_id, proposal_id) for shown_id in shown):
        return StoreError(
            f"Proposal '{proposal_id}' is stale: a new plan does not contain it.",
            "Nothing was changed. A memory changed since; list the pending proposals.",
        )
    return NotFound(
        f"There is no proposal '{proposal_id}': it is neither pending nor in a new plan.",
        "Nothing was changed. List the pending proposals.",
    )


def _open_decision(file: MemoryFile, tenant: str, proposal_id: str) -> Decision | None:
    """Return the pending decision; None if there is none."""
    known = read_latest_by_prefix(file, proposal_id) if len(proposal_id) >= MIN_PREFIX else []
    mine = [decision for decision in known if decision.tenant == tenant]
    waiting = [decision for decision in mine if decision.state == "pending"]
    if len(waiting) > 1:
        raise _ambiguous(proposal_id)
    if waiting:
        return waiting[0]
    for decision in mine:
        if decision.state == "applied" or decision.state in REMEMBERED:
            raise StoreError(
                f"Proposal '{proposal_id}' was decided already: it is {decision.state}.",
                "Nothing was changed. List the pending proposals.",
            )
    return None


def _fits(proposal_id: str, named: str) -> bool:
    return proposal_id == named or (len(named) >= MIN_PREFIX and proposal_id.startswith(named))


def _ambiguous(proposal_id: str) -> Ambiguous:
    return Ambiguous(f"More than one proposal begins with '{proposal_id}'.", "Use more of the id.")
