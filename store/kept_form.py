"""Validate the form of pending proposals in the ledger."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

from msgspec import Meta, Struct, ValidationError, convert

from .records import Claim

if TYPE_CHECKING:
    from .ledger import Decision

# The key of the proposal in the column `numbers`.
KEPT = "kept"


class _Draft(Struct):
    claims: Annotated[list[Claim], Meta(min_length=1)]


class _Proposal(Struct):
    """What the columns of the ledger do not contain; they count, not their copies in JSON."""

    source_hashes: list[str]
    leaving: list[str]
    draft: _Draft


class _Kept(Struct):
    proposal: _Proposal
    # Counts and a cost; no plausible number is larger.
    usage: dict[str, Annotated[float, Meta(ge=0, le=2**53)] | None] = {}


def find_fault(decision: Decision) -> str | None:
    """Return why the pending proposal of a row of the ledger is invalid; None if it is valid."""
    if KEPT not in decision.numbers:
        return "it was not stored"
    try:
        proposal = convert(decision.numbers[KEPT], _Kept).proposal
    except ValidationError as error:
        return f"it is not a proposal: {error}"
    sources, survivor, claims = decision.sources, decision.survivor, proposal.draft.claims
    staying = [memory for memory in sources if memory not in proposal.leaving]
    is_consistent = (
        0 < len(set(sources)) == len(sources) == len(proposal.source_hashes)
        and len(staying) + len(proposal.leaving) == len(sources)
        and (survivor in staying or survivor is None)
        and (staying == [survivor] or decision.operation != "merge")
        and all(set(claim.sources) <= set(sources) for claim in claims)
        and " ".join(claim.text for claim in claims) == decision.draft
    )
    return None if is_consistent else "its sources, survivor and draft do not fit together"
