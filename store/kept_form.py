"""Whether a proposal that waits is still what was kept, as far as its form shows."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, TypeGuard

if TYPE_CHECKING:
    from .ledger import Decision

# Under which the numbers of a row of the ledger hold it.
KEPT = "kept"
# What the ledger says of a proposal in columns of its own.
_COLUMNS = ("operation", "tenant", "survivor")


def find_row_fault(decision: Decision) -> str | None:
    """Say why what a row of the ledger keeps cannot be what it kept; None if it may be that."""
    kept = decision.numbers.get(KEPT)
    fault = find_fault(kept)
    if fault is not None or not isinstance(kept, dict):
        return fault
    proposal = kept["proposal"]
    told = {name: getattr(decision, name) for name in _COLUMNS}
    told |= {"id": decision.key, "sources": list(decision.sources)}
    for name, value in told.items():
        if proposal[name] != value:
            return f"its {name} is not what the ledger says"
    if " ".join(claim["text"] for claim in proposal["draft"]["claims"]) != decision.draft:
        return "its draft is not what the ledger says"
    return None


def find_fault(kept: object) -> str | None:
    """Say why a kept proposal, as JSON has it, is not one; None if it is consistent in itself."""
    proposal = kept.get("proposal") if isinstance(kept, dict) else None
    if not isinstance(proposal, dict):
        return "nothing is kept of it" if kept is None else "what is kept is no proposal"
    for name in ("id", *_COLUMNS):
        if not isinstance(proposal.get(name), str) and (
            name != "survivor" or proposal.get(name, "") is not None
        ):
            return f"its {name} is no text"
    lists = {name: proposal.get(name) for name in ("sources", "source_hashes", "leaving")}
    for name, found in lists.items():
        if not _are_texts(found):
            return f"its {name} are no list of texts"
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
            return "a claim of its draft cites what is none of its sources"
    return None


def _wrong_sources(proposal: Mapping[str, Any]) -> str | None:
    sources, leaving, survivor = set(proposal["sources"]), proposal["leaving"], proposal["survivor"]
    if not sources or len(sources) != len(proposal["sources"]):
        return "its sources are none, or one of them twice"
    if len(proposal["source_hashes"]) != len(sources):
        return "it has not as many hashes as sources"
    if not set(leaving) <= sources or len(set(leaving)) != len(leaving):
        return "what would leave is none of its sources, or there twice"
    if survivor is not None and survivor not in sources:
        return "the memory that stays is none of its sources"
    if survivor in leaving:
        return "the memory that stays would leave, too"
    if proposal["operation"] == "merge" and (survivor is None or len(leaving) != len(sources) - 1):
        return "of a merge one memory stays, and all others leave"
    return None


def _are_texts(found: object) -> TypeGuard[list[str]]:
    return isinstance(found, list) and all(isinstance(one, str) for one in found)
