"""A dry run: the plan of a real run, with or without what a model says, and nothing written."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING

from slowwave.consolidation.ageing.choosing import Choice
from slowwave.consolidation.options import CycleOptions
from slowwave.consolidation.planning.savings import expected_counts, with_savings
from slowwave.consolidation.progress import Progress
from slowwave.consolidation.proposals import AskedWindow, Proposal, Usage, VerifiedProposal
from slowwave.consolidation.runtime.interruption import InterruptedEarly, Interruption
from slowwave.consolidation.runtime.threads import run_in_thread
from slowwave.consolidation.vectors.embedder import Embedder
from slowwave.consolidation.writing.writer import Writer
from slowwave.store.file import open_reading
from slowwave.store.intake import count_waiting

from .age import Aged
from .age_plan import AgePlan
from .outcome import Outcome
from .purge import NOTHING, Purged
from .review import Reviewing
from .set_aside import find_outdated
from .survey import Survey, Surveyor
from .taken_up import TakenUp

if TYPE_CHECKING:
    from slowwave.consolidation.snapshot.tenant_view import TenantView


def rehearse(
    path: Path,
    options: CycleOptions,
    embedder: Embedder,
    writer: Writer,
    now: datetime,
    progress: Progress,
    interruption: Interruption,
) -> Outcome:
    """Return the plan, and where it would lead; if it asks, what a model would make of it.

    Raises `InterruptedEarly`.
    """
    surveyor = Surveyor(path, options, embedder, writer, now, progress)
    age_plan = AgePlan(path, options, now)
    try:
        expiring = age_plan.expiring()
        survey = surveyor.survey(expiring=expiring)
        reviewing = Reviewing(options.review)
        outcome, at_once = _planned_outcome(survey, reviewing)
        if options.ask:
            views = survey.views
            outcome, at_once = _asked_only(
                path, outcome, views, embedder, writer, reviewing, progress
            )
        if options.consolidate:
            outcome = replace(
                outcome,
                set_aside=find_outdated(path, options.tenants),
                taken_up=_waiting(path, options.tenants, writer),
            )
        return _aged(outcome, age_plan, expiring, at_once)
    except KeyboardInterrupt:
        interruption.close()
        raise InterruptedEarly(kept=False) from None


def _planned_outcome(survey: Survey, reviewing: Reviewing) -> tuple[Outcome, list[Proposal]]:
    """Return the outcome of a dry run, the plan and where it would lead; and what is applied."""
    plan, before, purgeable = survey.plan, survey.snapshot.counts, survey.purgeable or NOTHING
    views = survey.views
    written = [VerifiedProposal(one, "planned") for one in plan.proposals]
    at_once = reviewing.at_once(written, views)
    after = expected_counts(before, at_once, views)
    after = replace(after, superseded=after.superseded - len(purgeable.ids))
    results = with_savings((reviewing.expected_result(one, views) for one in written), views)
    asked = tuple(AskedWindow(one, "planned") for one in plan.windows)
    purged = Purged(purgeable.ids, purgeable.kept, purgeable.staying)
    outcome = Outcome(plan, tuple(results), before, after, Usage(), asked, purged=purged)
    return outcome, at_once


def _asked_only(
    path: Path,
    outcome: Outcome,
    views: Sequence[TenantView],
    embedder: Embedder,
    writer: Writer,
    reviewing: Reviewing,
    progress: Progress,
) -> tuple[Outcome, list[Proposal]]:
    """Return what a dry run tells, with what the model makes of the windows, and what is applied.

    Answers kept in the file are used from there; new ones are not kept but by a recording.
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
    results = (reviewing.expected_result(one, views) for one in several)
    at_once = reviewing.at_once(several, views)
    after = expected_counts(outcome.before, at_once, views)
    asked_only = replace(
        outcome,
        results=tuple(with_savings(results, views)),
        after=replace(after, superseded=after.superseded - len(outcome.purged.ids)),
        usage=sum((one.usage for one in asked), start=Usage()),
        asked=tuple(asked),
    )
    return asked_only, at_once


def _waiting(path: Path, tenants: Sequence[str], writer: Writer) -> TakenUp:
    """Return how many conversations wait: a dry run reads none of them."""
    with open_reading(path) as file:
        waiting = sum(count_waiting(file, tenants).values())
    return TakenUp(waiting, is_due=bool(waiting) and writer.model is not None)


def _aged(
    outcome: Outcome, plan: AgePlan, expiring: Choice | None, at_once: Sequence[Proposal]
) -> Outcome:
    """Add to an outcome what would expire before it, and be archived after it."""
    excess = plan.excess(expiring, at_once)
    return replace(
        outcome,
        after=plan.counts_without(outcome.after, expiring, excess),
        expired=None if expiring is None else Aged(expiring.leaving, expiring),
        scores=plan.scores(expiring),
        archived=None if excess is None else Aged(excess.leaving, excess),
    )
