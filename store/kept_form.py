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
    id: str
    operation: str
    tenant: str
    survivor: str | None
    sources: Annotated[list[str], Meta(min_length=1)]
    source_hashes: list[str]
    leaving: list[str]
    draft: _Draft


class _Kept(Struct):
    proposal: _Proposal


def find_row_fault(decision: Decision) -> str | None:
    """Return why the proposal of a row of the ledger is invalid; None if it is valid."""
    stored = decision.numbers.get(KEPT)
    if (fault := find_fault(stored)) is not None:
        return fault
    proposal = convert(stored, _Kept).proposal
    columns = {name: getattr(decision, name) for name in ("operation", "tenant", "survivor")}
    for name, value in (columns | {"id": decision.key, "sources": list(decision.sources)}).items():
        if getattr(proposal, name) != value:
            return f"its {name} differs from the ledger"
    if " ".join(claim.text for claim in proposal.draft.claims) != decision.draft:
        return "its draft differs from the ledger"
    return None


def find_fault(stored: object) -> str | None:
    """Return why a proposal from JSON is invalid; None if it is consistent in itself."""
    if stored is None:
        return "it was not stored"
    try:
        proposal = convert(stored, _Kept).proposal
    except ValidationError as error:
        return f"it is not a proposal: {error}"
    return next((fault for fault, is_found in _inconsistencies(proposal) if is_found), None)


def _inconsistencies(proposal: _Proposal) -> list[tuple[str, bool]]:
    sources, leaving = set(proposal.sources), set(proposal.leaving)
    survivor, is_merge = proposal.survivor, proposal.operation == "merge"
    return [
        (
            "a claim of its draft cites something other than its sources",
            not all(sources.issuperset(claim.sources) for claim in proposal.draft.claims),
        ),
        ("its sources are repeated", len(sources) < len(proposal.sources)),
        (
            "it has more or fewer hashes than sources",
            len(proposal.source_hashes) != len(sources),
        ),
        (
            "the memories to supersede are not its sources, or are repeated",
            not leaving <= sources or len(leaving) < len(proposal.leaving),
        ),
        ("its survivor is not one of its sources", survivor not in (None, *sources)),
        ("its survivor would be superseded", survivor in leaving),
        (
            "a merge must supersede all of its sources but the survivor",
            is_merge and (survivor is None or len(leaving) != len(sources) - 1),
        ),
    ]
