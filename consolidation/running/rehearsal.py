"""A dry run: the plan of a real run, with or without what a model says, and nothing written."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from slowwave.consolidation.planning.savings import expected_counts, with_savings
from slowwave.consolidation.progress import Progress
from slowwave.consolidation.proposals import AskedWindow, Plan, Result, Usage
from slowwave.consolidation.runtime.interruption import InterruptedEarly, Interruption
from slowwave.consolidation.runtime.threads import run_in_thread
from slowwave.consolidation.vectors.embedder import Embedder
from slowwave.consolidation.writing.writer import Writer
from slowwave.store.file import open_reading
from slowwave.store.memories import Counts

from .ending import planned_outcome
from .outcome import Outcome
from .survey import Surveyor

if TYPE_CHECKING:
    from slowwave.consolidation.snapshot.tenant_view import TenantView


def rehearse(
    path: Path,
    surveyor: Surveyor,
    embedder: Embedder,
    writer: Writer,
    asks: bool,
    progress: Progress,
    interruption: Interruption,
) -> Outcome:
    """Return the plan, and where it would lead; with `asks` what a model would make of it.

    Raises `InterruptedEarly`.
    """
    try:
        survey = surveyor.survey()
        outcome = planned_outcome(survey)
        if not asks:
            return outcome
        return _asked_only(path, outcome, survey.views, embedder, writer, progress)
    except KeyboardInterrupt:
        interruption.close()
        raise InterruptedEarly(kept=False) from None


def _asked_only(
    path: Path,
    outcome: Outcome,
    views: Sequence[TenantView],
    embedder: Embedder,
    writer: Writer,
    progress: Progress,
) -> Outcome:
    """Return what a dry run tells, with what the model makes of the windows.

    Answers that lie in the file are taken from there; new ones are not kept but by a recording.
    Raises `ModelError` if the model cannot be asked.
    """
    from slowwave.consolidation.writing.drafts import Drafting, KeptAnswers

    plan = outcome.plan
    run_in_thread(writer.make_ready)
    results: dict[str, Result] = {}
    asked: list[AskedWindow] = []
    with open_reading(path) as file:
        drafting = Drafting(embedder, writer)
        for some in drafting.checked_drafts(plan, views, KeptAnswers(file)):
            for one in some:
                if isinstance(one, AskedWindow):
                    asked.append(one)
                    progress.stage("asking", len(asked), len(plan.windows))
                else:
                    results[one.proposal.id] = Result(one.proposal, one.state, one.why)
    return replace(
        outcome,
        results=tuple(with_savings(results.values(), views)),
        after=_expected(outcome, plan, list(results.values()), views),
        usage=sum((one.usage for one in asked), start=Usage()),
        asked=tuple(asked),
    )


def _expected(
    outcome: Outcome,
    plan: Plan,
    results: Sequence[Result],
    views: Sequence[TenantView],
) -> Counts:
    """Return the counts to which all that would be applied leads, purging aside."""
    done = [one.proposal for one in results if one.state == "planned"]
    before = expected_counts(outcome.before, plan.proposals, views)
    after = expected_counts(outcome.before, done, views)
    purged = before.superseded - outcome.after.superseded
    return replace(after, superseded=after.superseded - purged)
