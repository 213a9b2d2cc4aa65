"""Validate the form of pending proposals in the ledger."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

from msgspec import Meta, Struct, ValidationError, convert

if TYPE_CHECKING:
    from .ledger import Decision

# The key of the proposal in the column `numbers`.
KEPT = "kept"


class _Claim(Struct):
    text: str
    sources: list[str]


class _Draft(Struct):
    claims: Annotated[list[_Claim], Meta(min_length=1)]


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
    sources, leaving, survivor = set(decision.sources), set(proposal.leaving), decision.survivor
    claims, is_merge = proposal.draft.claims, decision.operation == "merge"
    faults = {
        "its sources are missing or repeated": not 0 < len(sources) == len(decision.sources),
        "it has more or fewer hashes than sources": len(proposal.source_hashes) != len(sources),
        "its draft differs from the ledger": " ".join(c.text for c in claims) != decision.draft,
        "a claim of its draft cites something other than its sources": not all(
            sources.issuperset(claim.sources) for claim in claims
        ),
        "the memories to supersede are not its sources, or are repeated": (
            not leaving <= sources or len(leaving) < len(proposal.leaving)
        ),
        "its survivor is not one of its sources": survivor not in (None, *sources),
        "its survivor would be superseded": survivor in leaving,
        "a merge must supersede all of its sources but the survivor": is_merge
        and (survivor is None or len(leaving) != len(sources) - 1),
    }
    return next((fault for fault, is_found in faults.items() if is_found), None)
