"""Turn a plan into checked results: its own proposals, and a model's."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from slowwave.consolidation.proposals import AskedWindow, Plan, Result, Source
from slowwave.consolidation.snapshot.tenant_view import TenantView
from slowwave.consolidation.vectors.embedder import Embedder, refuse_another_space

from .answer_store import AnswerStore
from .writer import Job, Writer

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


class Drafting:
    """Yields the checked results of a plan, and asks a model about its windows."""

    def __init__(self, embedder: Embedder, writer: Writer) -> None:
        """Take the embedder for drafts, and the writer."""
        self._embedder = embedder
        self._writer = writer
        # The vectors of accepted drafts by proposal id: float32, shape (d,), unit length.
        self.vectors: dict[str, NDArray[np.float32]] = {}

    def verified_drafts(
        self, plan: Plan, views: Sequence[TenantView], answers: AnswerStore
    ) -> Iterator[Sequence[Result | AskedWindow]]:
        """Yield the plan's own proposals, then a model's results as its answers arrive.

        Raises `EmbedderError`, and `ModelError` before anything is applied if the model cannot be
        asked.
        """
        yield [Result(proposal, "planned") for proposal in plan.proposals]
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
            self._embed([made for made in wanted if isinstance(made, Result)])
            yield wanted

    def _embed(self, results: Sequence[Result]) -> None:
        """Compute the vectors of the drafts that may be written to the file."""
        proposals = [
            result.proposal
            for result in results
            if result.state == "planned" and not result.proposal.keeps_text
        ]
        if proposals:
            vectors = self._embedder.encode([proposal.draft.text for proposal in proposals])
            self.vectors |= {
                proposal.id: vector for proposal, vector in zip(proposals, vectors, strict=True)
            }

    def _refuse_another_space(self, source: Source) -> None:
        """Refuse vectors of another model before anything is applied. Raises `EmbedderError`."""
        (vector,) = self._embedder.encode([source.text])
        refuse_another_space(self._embedder, vector, source.vector)
