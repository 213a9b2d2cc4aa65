"""From a plan to drafts that were checked: what a run writes, before it is applied."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import zip_longest
from typing import TYPE_CHECKING, TypeVar

from slowwave.consolidation.planning.composition import sorted_by_time
from slowwave.consolidation.proposals import AskedWindow, Plan, Proposal, Source, VerifiedProposal
from slowwave.consolidation.snapshot.tenant_view import TenantView
from slowwave.consolidation.vectors.embedder import BATCH, Embedder, refuse_another_space
from slowwave.consolidation.vectors.prefetch import PrefetchedVectors
from slowwave.consolidation.verification.faults import reasons_of

from .answer_store import AnswerStore
from .verifier import Verifier
from .writer import TOGETHER, Job, Writer

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


class Drafting:
    """Yields what a plan writes, each draft checked, and has a model asked about its windows."""

    def __init__(self, embedder: Embedder, writer: Writer) -> None:
        """Take the embedder for drafts, and the writer."""
        self._embedder = embedder
        self._writer = writer
        # Of drafts that passed verification, by proposal: to be kept with the memory.
        self.vectors: dict[str, NDArray[np.float32]] = {}

    def verified_drafts(
        self, plan: Plan, views: Sequence[TenantView], answers: AnswerStore
    ) -> Iterator[Sequence[VerifiedProposal | AskedWindow]]:
        """Yield what is to be carried out, some at once.

        First what is certain; then what a model says of the windows; then, of what waits for that,
        what the model left as it was.
        """
        by_tenant = {view.tenant: view for view in views}
        at_once = [one for one in plan.proposals if not one.waits]
        waiting = [one for one in plan.proposals if one.waits]
        yield from self._verify_planned(at_once, by_tenant)
        taken: set[str] = set()
        excluded = {one for window in plan.windows for one in window.excluded}
        for answered in self._ask_about_windows(plan, by_tenant, answers):
            some = [
                one
                for one in answered
                if not isinstance(one, VerifiedProposal) or one.proposal.id not in excluded
            ]
            for one in some:
                if isinstance(one, VerifiedProposal) and one.state == "planned":
                    taken.update(one.proposal.sources)
            yield some
        left = [one for one in waiting if taken.isdisjoint(one.sources)]
        yield [_declined(one) for one in waiting if not taken.isdisjoint(one.sources)]
        yield from self._verify_planned(left, by_tenant)

    def _verify_planned(
        self, proposals: Sequence[Proposal], by_tenant: Mapping[str, TenantView]
    ) -> Iterator[Sequence[VerifiedProposal]]:
        """Verify what the plan holds the draft of; that needs no model."""
        yield [VerifiedProposal(one, "planned") for one in proposals if one.keeps_text]
        composed = [one for one in proposals if not one.keeps_text]
        if composed:
            self._refuse_another_space(_sources_of(composed[0], by_tenant)[0])
        ahead = PrefetchedVectors(self._embedder, BATCH)
        parts = list(portions(composed, BATCH))
        for part, coming in zip_longest(parts, parts[1:], fillvalue=()):
            # The next ones are computed while these are looked at and applied.
            ahead.prefetch([*_texts(part), *_texts(coming)])
            # Before the first is looked at: what goes through together must not hang on time.
            vectors = {text: ahead.take(text) for text in _texts(part)}
            verifier = Verifier(vectors.__getitem__, self.vectors)
            for some in portions(part, TOGETHER):
                yield [
                    accepted_or_rejected(one, _sources_of(one, by_tenant), verifier) for one in some
                ]

    def _ask_about_windows(
        self, plan: Plan, by_tenant: Mapping[str, TenantView], answers: AnswerStore
    ) -> Iterator[Sequence[VerifiedProposal | AskedWindow]]:
        if not plan.windows:
            return
        jobs = [
            Job(one, tuple(by_tenant[one.tenant].sources(one.memories))) for one in plan.windows
        ]
        self._refuse_another_space(jobs[0].sources[0])
        # While some are computed nobody looks at what else the model answers: not for long.
        ahead = PrefetchedVectors(self._embedder, TOGETHER)

        def take(text: str) -> NDArray[np.float32]:
            try:
                return ahead.take(text)
            finally:
                ahead.drop(text)

        verifier = Verifier(take, self.vectors, lambda text: ahead.prefetch([text]))
        yield from self._writer.write(jobs, verifier, answers)

    def _refuse_another_space(self, source: Source) -> None:
        """Refuse vectors that another model made, before anything is applied."""
        (vector,) = self._embedder.encode([source.text])
        refuse_another_space(self._embedder, vector, source.vector)


def _sources_of(proposal: Proposal, by_tenant: Mapping[str, TenantView]) -> list[Source]:
    return sorted_by_time(by_tenant[proposal.tenant].sources(proposal.sources))


def _declined(proposal: Proposal) -> VerifiedProposal:
    return VerifiedProposal(proposal, "declined", "a model grouped its memories otherwise")


def _texts(proposals: Sequence[Proposal]) -> list[str]:
    """Return what drafts say, each text once."""
    return list(dict.fromkeys(one.draft.text for one in proposals))


_One = TypeVar("_One")


def portions(several: Sequence[_One], size: int) -> Iterator[Sequence[_One]]:
    """Return so many at a time."""
    return (several[start : start + size] for start in range(0, len(several), size))


def accepted_or_rejected(
    proposal: Proposal, sources: Sequence[Source], verifier: Verifier
) -> VerifiedProposal:
    """Return a planned draft as accepted, yet to be applied, or as rejected with reasons."""
    faults = verifier.faults(proposal, sources)
    if faults:
        return VerifiedProposal(proposal, "rejected", reasons_of(faults))
    return VerifiedProposal(proposal, "planned")
