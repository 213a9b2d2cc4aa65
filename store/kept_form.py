"""Validate the form of pending proposals in the ledger."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, TypeGuard

if TYPE_CHECKING:
    from .ledger import Decision

# The key of the proposal in the column `numbers`.
KEPT = "kept"
# Fields of a proposal that the ledger also has as columns.
_COLUMNS = ("operation", "tenant", "survivor")


def find_row_fault(decision: Decision) -> str | None:
    """Return why the proposal of a row of the ledger is invalid; None if it is valid."""
    kept = decision.numbers.get(KEPT)
    fault = find_fault(kept)
    if fault is not None or not isinstance(kept, dict):
        return fault
    proposal = kept["proposal"]
    expected = {name: getattr(decision, name) for name in _COLUMNS}
    expected |= {"id": decision.key, "sources": list(decision.sources)}
    for name, value in expected.items():
        if proposal[name] != value:
            return f"its {name} differs from the ledger"
    if " ".join(claim["text"] for claim in proposal["draft"]["claims"]) != decision.draft:
        return "its draft differs from the ledger"
    return None


def find_fault(kept: object) -> str | None:
    """Return why a proposal from JSON is invalid; None if it is consistent in itself."""
    proposal = kept.get("proposal") if isinstance(kept, dict) else None
    if not isinstance(proposal, dict):
        return "it was not stored" if kept is None else "it is not a proposal"
    for name in ("id", *_COLUMNS):
        if not isinstance(proposal.get(name), str) and (
            name != "survivor" or proposal.get(name, "") is not None
        ):
            return f"its {name} is not a text"
    lists = {name: proposal.get(name) for name in ("sources", "source_hashes", "leaving")}
    for name, found in lists.items():
        if not _are_texts(found):
            return f"its {name} are not a list of texts"
    return _wrong_draft(proposal) or _wrong_sources(proposal)


def _wrong_draft(proposal: Mapping[str, Any]) -> str | None:
    draft = proposal.get("draft")
    claims = draft.get("claims") if isinstance(draft, dict) else None
    if not isinstance(claims, list) or not claims:
        return "its draft has no claims"
    for claim in claims:
        if not isinstance(claim, dict) or not isinstance(claim.get("text"), str):
            return "a claim of its draft has no text"
        cited = claim.get("sources")
        if not _are_texts(cited) or not set(cited) <= set(proposal["sources"]):
            return "a claim of its draft cites something other than its sources"
    return None


def _wrong_sources(proposal: Mapping[str, Any]) -> str | None:
    sources, leaving, survivor = set(proposal["sources"]), proposal["leaving"], proposal["survivor"]
    if not sources or len(sources) != len(proposal["sources"]):
        return "its sources are missing or repeated"
    if len(proposal["source_hashes"]) != len(sources):
        return "it has more or fewer hashes than sources"
    if not set(leaving) <= sources or len(set(leaving)) != len(leaving):
        return "the memories to supersede are not its sources, or are repeated"
    if survivor is not None and survivor not in sources:
        return "its survivor is not one of its sources"
    if survivor in leaving:
        return "its survivor would be superseded"
    if proposal["operation"] == "merge" and (survivor is None or len(leaving) != len(sources) - 1):
        return "a merge must supersede all of its sources but the survivor"
    return None


def _are_texts(found: object) -> TypeGuard[list[str]]:
    return isinstance(found, list) and all(isinstance(item, str) for item in found)
