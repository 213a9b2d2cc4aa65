"""A dry run: the plan of a real run, with or without what a model says, and nothing written."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from slowwave.consolidation.options import CycleOptions
from slowwave.consolidation.planning.savings import expected_counts, with_savings
from slowwave.consolidation.progress import Progress
from slowwave.consolidation.proposals import AskedWindow, Usage, VerifiedProposal
from slowwave.consolidation.runtime.interruption import InterruptedEarly, Interruption
from slowwave.consolidation.runtime.threads import run_in_thread
from slowwave.consolidation.vectors.embedder import Embedder
from slowwave.consolidation.writing.writer import Writer
from slowwave.store.file import open_reading

from .outcome import Outcome
from .purge import NOTHING, Purged
from .review import Reviewing
from .survey import Survey, Surveyor

if TYPE_CHECKING:
    from slowwave.consolidation.snapshot.tenant_view import TenantView


def rehearse(
    path: Path,
    surveyor: Surveyor,
    embedder: Embedder,
    writer: Writer,
    options: CycleOptions,
    progress: Progress,
    interruption: Interruption,
) -> Outcome:
    """Return the plan, and where it would lead; if it asks, what a model would make of it.

    Raises `InterruptedEarly`.
    """
    try:
        survey = surveyor.survey()
        reviewing = Reviewing(options.review)
        outcome = _planned_outcome(survey, reviewing)
        if not options.ask:
            return outcome
        views = survey.views
        return _asked_only(path, outcome, views, embedder, writer, reviewing, progress)
    except KeyboardInterrupt:
        interruption.close()
        raise InterruptedEarly(kept=False) from None


def _planned_outcome(survey: Survey, reviewing: Reviewing) -> Outcome:
    """Return the outcome of a dry run: the plan, and where it would lead."""
    plan, before, purgeable = survey.plan, survey.snapshot.counts, survey.purgeable or NOTHING
    views = survey.views
    written = [VerifiedProposal(one, "planned") for one in plan.proposals]
    after = expected_counts(before, reviewing.at_once(written, views), views)
    after = replace(after, superseded=after.superseded - len(purgeable.ids))
    results = with_savings((reviewing.foretold(one, views) for one in written), views)
    asked = tuple(AskedWindow(one, "planned") for one in plan.windows)
    purged = Purged(purgeable.ids, purgeable.kept)
    return Outcome(plan, tuple(results), before, after, Usage(), asked, purged=purged)


def _asked_only(
    path: Path,
    outcome: Outcome,
    views: Sequence[TenantView],
    embedder: Embedder,
    writer: Writer,
    reviewing: Reviewing,
    progress: Progress,
) -> Outcome:
    """Return what a dry run tells, with what the model makes of the windows.

    Answers that lie in the file are taken from there; new ones are not kept but by a recording.
    Raises `ModelError` if the model cannot be asked.
    """
    from slowwave.consolidation.writing.answer_store import FileAnswerStore
    from slowwave.consolidation.writing.drafts import Drafting

    plan = outcome.plan
    run_in_thread(writer.make_ready)
    written: dict[str, VerifiedProposal] = {}
    asked: list[AskedWindow] = []
    with open_reading(path) as file:
        drafting = Drafting(embedder, writer)
        for some in drafting.verified_drafts(plan, views, FileAnswerStore(file)):
            for one in some:
                if isinstance(one, AskedWindow):
                    asked.append(one)
                    progress.stage("asking", len(asked), len(plan.windows))
                else:
                    written[one.proposal.id] = one
    several = list(written.values())
    results = (reviewing.foretold(one, views) for one in several)
    after = expected_counts(outcome.before, reviewing.at_once(several, views), views)
    return replace(
        outcome,
        results=tuple(with_savings(results, views)),
        after=replace(after, superseded=after.superseded - len(outcome.purged.ids)),
        usage=sum((one.usage for one in asked), start=Usage()),
        asked=tuple(asked),
    )
