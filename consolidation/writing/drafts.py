"""From a plan to proposals that may be applied: what is certain, and what a model writes."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from slowwave.consolidation.proposals import AskedWindow, Plan, Source, VerifiedProposal
from slowwave.consolidation.snapshot.tenant_view import TenantView
from slowwave.consolidation.vectors.embedder import Embedder, refuse_another_space

from .answer_store import AnswerStore
from .writer import Job, Writer

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


class Drafting:
    """Yields what a plan comes to, with a model asked about its windows."""

    def __init__(self, embedder: Embedder, writer: Writer) -> None:
        """Take the embedder for drafts, and the writer."""
        self._embedder = embedder
        self._writer = writer
        # Of accepted drafts, by proposal: float32, shape (d,), unit length.
        self.vectors: dict[str, NDArray[np.float32]] = {}

    def verified_drafts(
        self, plan: Plan, views: Sequence[TenantView], answers: AnswerStore
    ) -> Iterator[Sequence[VerifiedProposal | AskedWindow]]:
        """Yield first what needs no model, then what a model makes of the windows, as it comes.

        Raises `ModelError` before anything is applied if the model cannot be asked, and
        `EmbedderError`.
        """
        yield [VerifiedProposal(proposal, "planned") for proposal in plan.proposals]
        if not plan.windows:
            return
        by_tenant = {view.tenant: view for view in views}
        jobs = [
            Job(window, tuple(by_tenant[window.tenant].sources(window.memories)))
            for window in plan.windows
        ]
        self._refuse_another_space(jobs[0].sources[0])
        excluded = {key for window in plan.windows for key in window.excluded}
        for answered in self._writer.write(jobs, answers):
            wanted = [
                made
                for made in answered
                if isinstance(made, AskedWindow) or made.proposal.id not in excluded
            ]
            self._embed([made for made in wanted if isinstance(made, VerifiedProposal)])
            yield wanted

    def _embed(self, written: Sequence[VerifiedProposal]) -> None:
        """Compute the vectors of the texts that may be written to the file."""
        proposals = [
            each.proposal
            for each in written
            if each.state == "planned" and not each.proposal.keeps_text
        ]
        if proposals:
            vectors = self._embedder.encode([proposal.draft.text for proposal in proposals])
            self.vectors |= {
                proposal.id: vector for proposal, vector in zip(proposals, vectors, strict=True)
            }

    def _refuse_another_space(self, source: Source) -> None:
        """Refuse vectors that another model made, before anything is applied."""
        (vector,) = self._embedder.encode([source.text])
        refuse_another_space(self._embedder, vector, source.vector)
