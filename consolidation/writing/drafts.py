"""Turn a plan into checked results: its own proposals, and a model's."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from slowwave.consolidation.proposals import AskedWindow, Plan, Result
from slowwave.consolidation.snapshot.tenant_view import TenantView
from slowwave.consolidation.vectors.embedder import Embedder, refuse_another_space
from slowwave.store.vectors import to_blob

from .answer_store import AnswerStore
from .writer import Job, Writer


def verified_drafts(
    plan: Plan,
    views: Sequence[TenantView],
    embedder: Embedder,
    writer: Writer,
    answers: AnswerStore,
) -> Iterator[Sequence[Result | AskedWindow]]:
    """Yield the plan's own proposals, then a model's results as its answers arrive.

    The results have the vectors of drafts that may be written. Raises `EmbedderError`, and
    `ModelError` before anything is applied if the model cannot be asked.
    """
    yield [Result(proposal, "planned") for proposal in plan.proposals]
    if not plan.windows:
        return
    by_tenant = {view.tenant: view for view in views}
    jobs = [
        Job(window, tuple(by_tenant[window.tenant].sources(window.memories)))
        for window in plan.windows
    ]
    # Vectors of another model are refused before anything is applied.
    source = jobs[0].sources[0]
    refuse_another_space(embedder, embedder.encode([source.text])[0], source.vector)
    excluded = {key for window in plan.windows for key in window.excluded}
    for answered in writer.write(jobs, answers):
        results = [
            each
            for each in answered
            if isinstance(each, Result) and each.proposal.id not in excluded
        ]
        yield [
            *_embed(embedder, results),
            *(each for each in answered if isinstance(each, AskedWindow)),
        ]


def _embed(embedder: Embedder, results: Sequence[Result]) -> list[Result]:
    """Return the results with the vectors of the drafts that may be written to the file."""
    texts = {
        result.proposal.id: result.proposal.draft.text
        for result in results
        if result.state == "planned" and not result.proposal.keeps_text
    }
    vectors = embedder.encode(list(texts.values())) if texts else ()
    blobs = dict(zip(texts, map(to_blob, vectors), strict=True))
    return [
        replace(result, vector=(embedder.name, blobs[result.proposal.id]))
        if result.proposal.id in blobs
        else result
        for result in results
    ]
