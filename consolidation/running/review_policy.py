"""Decide which proposals of a night wait for review, and why."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from slowwave.consolidation.options import Review
from slowwave.consolidation.proposals import Proposal, Result
from slowwave.consolidation.thresholds import LOW_COHESION

if TYPE_CHECKING:
    from slowwave.consolidation.snapshot.tenant_view import TenantView

_WAITS = "waits for review"


@dataclass(frozen=True)
class ReviewPolicy:
    """The proposals that a person reviews before they are applied."""

    review: Review

    def why_waiting(self, result: Result, views: Sequence[TenantView]) -> str | None:
        """Return why a planned proposal waits for review; None if it does not."""
        if self.review == "never" or result.state != "planned":
            return None
        risks = list(_risks(result, views))
        if self.review == "risky" and not risks:
            return None
        return f"{_WAITS}: {', '.join(risks)}" if risks else _WAITS

    def hold_for_review(self, result: Result, views: Sequence[TenantView]) -> Result:
        """Return the result as pending if it waits for review, else unchanged."""
        why = self.why_waiting(result, views)
        return result if why is None else replace(result, state="pending", why=why)

    def expected_result(self, result: Result, views: Sequence[TenantView]) -> Result:
        """Return the result of a dry run: still planned, with the reason why it would wait."""
        return replace(result, why=self.why_waiting(result, views) or result.why)


def _risks(result: Result, views: Sequence[TenantView]) -> Iterator[str]:
    proposal = result.proposal
    if proposal.operation == "update":
        yield "it replaces a value"
    if proposal.operation == "extract":
        yield "it is about a rule"
    if _has_protected(proposal, views):
        yield "it has a human, pinned or core memory among its sources"
    if proposal.mean_similarity < LOW_COHESION:
        yield f"its memories are loosely connected, at {proposal.mean_similarity:.2f}"
    if any(claim.written_by for claim in proposal.draft.claims):
        yield "a model wrote it"
    if proposal.by_model and result.why:
        yield result.why


def _has_protected(proposal: Proposal, views: Sequence[TenantView]) -> bool:
    view = next(view for view in views if view.tenant == proposal.tenant)
    return any(view.memory(memory_id).protected for memory_id in proposal.sources)
