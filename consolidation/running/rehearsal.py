"""A dry run: the plan of a real run, with or without what a model says, and nothing written."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from slowwave.consolidation.ageing.choosing import AgeingChoice
from slowwave.consolidation.planning.savings import expected_counts, with_savings
from slowwave.consolidation.proposals import AskedWindow, Proposal, Usage, VerifiedProposal
from slowwave.consolidation.runtime.interruption import InterruptedEarly, Interruption
from slowwave.consolidation.runtime.threads import run_in_thread
from slowwave.store.file import open_reading
from slowwave.store.intake import read_backlog

from .age import Aged
from .age_plan import AgePlan
from .held_for_review import Reviewing
from .night_inputs import NightInputs
from .outcome import Outcome
from .purge import NOTHING, Purged
from .set_aside import find_earlier
from .survey import Survey, Surveyor
from .taken_up import TakenUp

if TYPE_CHECKING:
    from slowwave.consolidation.snapshot.tenant_view import TenantView


def rehearse(night: NightInputs, interruption: Interruption) -> Outcome:
    """Return the plan, and where it would lead; if it asks, what a model would make of it.

    Raises `InterruptedEarly`.
    """
    surveyor, age_plan, options = Surveyor(night), AgePlan(night), night.options
    try:
        expiring = age_plan.expiring()
        survey = surveyor.survey(expiring=expiring)
        reviewing = Reviewing(options.review)
        outcome, at_once = _planned_outcome(survey, reviewing)
        if options.ask:
            outcome, at_once = _asked_only(night, outcome, survey.views, reviewing)
        if options.consolidate:
            outcome = replace(
                outcome,
                earlier=find_earlier(night.path, options.tenants),
                taken_up=_waiting(night),
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
    night: NightInputs,
    outcome: Outcome,
    views: Sequence[TenantView],
    reviewing: Reviewing,
) -> tuple[Outcome, list[Proposal]]:
    """Return what a dry run tells, with what the model makes of the windows, and what is applied.

    Answers kept in the file are used from there; new ones are not kept but by a recording.
    Raises `ModelError` if the model cannot be asked.
    """
    from slowwave.consolidation.writing.answer_store import FileAnswerStore
    from slowwave.consolidation.writing.drafts import Drafting

    plan = outcome.plan
    run_in_thread(night.writer.make_ready)
    written: dict[str, VerifiedProposal] = {}
    asked: list[AskedWindow] = []
    with open_reading(night.path) as file:
        drafting = Drafting(night.embedder, night.writer)
        for some in drafting.verified_drafts(plan, views, FileAnswerStore(file)):
            for one in some:
                if isinstance(one, AskedWindow):
                    asked.append(one)
                    night.progress.stage("asking", len(asked), len(plan.windows))
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


def _waiting(night: NightInputs) -> TakenUp:
    """Return how many conversations wait: a dry run reads none of them."""
    with open_reading(night.path) as file:
        backlog = read_backlog(file, night.options.tenants)
    return TakenUp(backlog, is_due=bool(backlog.parts) and night.writer.model is not None)


def _aged(
    outcome: Outcome, plan: AgePlan, expiring: AgeingChoice | None, at_once: Sequence[Proposal]
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
