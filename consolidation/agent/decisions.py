"""Find the proposal that an agent decides about; each is decided once."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from slowwave.consolidation.proposals import Result
from slowwave.store.errors import Ambiguous, NotFound, StoreError
from slowwave.store.file import MemoryFile
from slowwave.store.ledger import REMEMBERED, Decision, read_latest_by_prefix
from slowwave.store.undo.undoable import MIN_PREFIX


def find_pending(file: MemoryFile, tenant: str, proposal_id: str) -> Decision | None:
    """Return the decision of a tenant's pending proposal; None if there is none with this id.

    Raises `StoreError` if a proposal with this id was decided already, and `Ambiguous`.
    """
    known = read_latest_by_prefix(file, proposal_id) if len(proposal_id) >= MIN_PREFIX else []
    mine = [decision for decision in known if decision.tenant == tenant]
    pending = [decision for decision in mine if decision.state == "pending"]
    if len(pending) > 1:
        raise _ambiguous(proposal_id)
    if pending:
        return pending[0]
    for decision in mine:
        if decision.state == "applied" or decision.state in REMEMBERED:
            raise StoreError(
                f"Proposal '{proposal_id}' was decided already: it is {decision.state}.",
                "Nothing was changed. List the pending proposals.",
            )
    return None


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


def _fits(proposal_id: str, named: str) -> bool:
    return proposal_id == named or (len(named) >= MIN_PREFIX and proposal_id.startswith(named))


def _ambiguous(proposal_id: str) -> Ambiguous:
    return Ambiguous(f"More than one proposal begins with '{proposal_id}'.", "Use more of the id.")
