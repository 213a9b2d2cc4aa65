"""Which proposals of a night wait for a person, and why."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from slowwave.consolidation.options import Review
from slowwave.consolidation.proposals import Proposal, Result, VerifiedProposal
from slowwave.consolidation.thresholds import LOW_COHESION

if TYPE_CHECKING:
    from slowwave.consolidation.snapshot.tenant_view import TenantView

_WAITS = "waits for review"


@dataclass(frozen=True)
class Reviewing:
    """What a person wants to see before it is applied."""

    review: Review

    def why_waiting(self, written: VerifiedProposal, views: Sequence[TenantView]) -> str | None:
        """Say why a proposal that could be applied is not; None if it is, or cannot be."""
        if self.review == "never" or written.state != "planned":
            return None
        risks = list(_risks(written, views))
        if self.review == "risky" and not risks:
            return None
        return f"{_WAITS}: {', '.join(risks)}" if risks else _WAITS

    def hold_for_review(
        self, written: VerifiedProposal, views: Sequence[TenantView]
    ) -> VerifiedProposal:
        """Let a proposal wait that a person wants to see; all others are as they were."""
        why = self.why_waiting(written, views)
        return written if why is None else replace(written, state="pending", why=why)

    def expected_result(self, written: VerifiedProposal, views: Sequence[TenantView]) -> Result:
        """Return what a dry run tells of a proposal: that it would wait, too."""
        why = self.why_waiting(written, views) or written.why
        return Result(written.proposal, written.state, why)


def _risks(written: VerifiedProposal, views: Sequence[TenantView]) -> Iterator[str]:
    proposal = written.proposal
    if proposal.operation == "update":
        yield "it replaces a value"
    if proposal.operation == "extract":
        yield "it is about a rule"
    if _has_protected(proposal, views):
        yield "it has a human, pinned or core memory among its sources"
    if proposal.mean_similarity < LOW_COHESION:
        yield f"its memories hang together loosely, at {proposal.mean_similarity:.2f}"
    if any(claim.written_by for claim in proposal.draft.claims):
        yield "a model wrote it"
    if proposal.by_model and written.why:
        yield written.why


def _has_protected(proposal: Proposal, views: Sequence[TenantView]) -> bool:
    view = next(one for one in views if one.tenant == proposal.tenant)
    return any(view.memory(one).protected for one in proposal.sources)
