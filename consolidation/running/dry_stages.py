"""The stages of a dry run: those of a night, except that nothing is written."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from operator import itemgetter

from slowwave.consolidation.ageing.choosing import AgeingChoice
from slowwave.consolidation.planning.savings import expected_counts, with_savings
from slowwave.consolidation.proposals import AskedWindow, Result, Usage
from slowwave.consolidation.runtime.interruption import InterruptedEarly, Interruption
from slowwave.consolidation.runtime.threads import run_in_thread
from slowwave.consolidation.snapshot.idle import Findings
from slowwave.store.file import open_reading
from slowwave.store.intake import read_backlog

from .age import AgeingResult
from .age_plan import AgePlan
from .execute import ExecutionResult
from .night_inputs import NightInputs
from .outcome import Outcome, WaitingPartsResult
from .preflight import Preflight
from .purge import NOTHING, PurgeResult
from .review_policy import ReviewPolicy
from .review_queue import EarlierProposals, find_earlier
from .survey import Survey, Surveyor


class DryStages:
    """Goes through the stages of one night and writes nothing. Raises `InterruptedEarly`."""

    def __init__(self, night: NightInputs, interruption: Interruption) -> None:
        """Take what the stages depend on."""
        self._night = night
        self._interruption = interruption
        self._surveyor = Surveyor(night)
        self._age_plan = AgePlan(night)
        self._policy = ReviewPolicy(night.options.review)
        self._expiring: AgeingChoice | None = None
        self._waiting_parts = WaitingPartsResult()
        self._earlier = EarlierProposals()
        # The results that a night would apply without review.
        self._applicable: list[Result] = []

    @contextmanager
    def exclusive(self) -> Iterator[None]:
        """Take no lock: a dry run only reads."""
        try:
            yield
        except KeyboardInterrupt:
            self._interruption.close()
            raise InterruptedEarly(kept=False) from None

    def bring_up_to_date(self) -> None:
        """Do nothing: an older schema stays."""

    def expire(self) -> None:
        """Choose what would expire."""
        self._expiring = self._age_plan.expiring()

    def read_waiting(self, reader: Callable[[Preflight], WaitingPartsResult]) -> None:
        """Count the conversation parts that wait for a model; none is read."""
        if self._night.options.consolidate:
            with open_reading(self._night.path) as file:
                backlog = read_backlog(file, self._night.options.tenants)
            is_due = bool(backlog.parts) and self._night.writer.model is not None
            self._waiting_parts = WaitingPartsResult(backlog, is_due=is_due)

    def survey(self) -> Survey:
        """Survey the file without the memories that would expire, and plan."""
        options = self._night.options
        if options.consolidate:
            self._earlier = find_earlier(self._night.path, options.tenants)
        return self._surveyor.survey(expiring=self._expiring)

    def carry_out(self, survey: Survey) -> ExecutionResult:
        """Return the results to expect; a model is only asked with the option `ask`.

        Answers kept in the file are used, and new ones are only kept by a recording. Raises
        `ModelError` if the model cannot be asked.
        """
        plan = survey.plan
        results = [Result(proposal, "planned") for proposal in plan.proposals]
        asked = [AskedWindow(window, "planned") for window in plan.windows]
        if self._night.options.ask:
            results, asked = self._ask(survey)
        self._applicable = [
            result
            for result in results
            if result.state == "planned" and self._policy.why_waiting(result, survey.views) is None
        ]
        expected = [self._policy.expected_result(result, survey.views) for result in results]
        return ExecutionResult(
            tuple(with_savings(expected, survey.views)),
            tuple(asked),
            sum((each.usage for each in asked), start=Usage()),
            interrupted=False,
        )

    def close_run(self, survey: Survey, executed: ExecutionResult) -> Outcome:
        """Return the outcome with the counts to expect."""
        before = survey.snapshot.counts
        applied = [each.proposal for each in self._applicable]
        return Outcome(
            survey.plan,
            executed.results,
            before,
            expected_counts(before, applied, survey.views),
            executed.usage,
            executed.asked,
            earlier=self._earlier,
            waiting_parts=self._waiting_parts,
        )

    def limit(self, outcome: Outcome) -> Outcome:
        """Choose what would be archived; subtract it, and what would expire, from the counts."""
        applied = [each.proposal for each in self._applicable]
        expiring, excess = self._expiring, self._age_plan.excess(self._expiring, applied)
        return replace(
            outcome,
            after=self._age_plan.counts_without(outcome.after, expiring, excess),
            expired=None if expiring is None else AgeingResult(expiring.leaving, expiring),
            scores=self._age_plan.scores(expiring),
            archived=None if excess is None else AgeingResult(excess.leaving, excess),
        )

    def purge(self, outcome: Outcome, survey: Survey) -> Outcome:
        """Add what would be deleted."""
        purgeable = survey.purgeable or NOTHING
        after = outcome.after
        return replace(
            outcome,
            after=replace(after, superseded=after.superseded - len(purgeable.ids)),
            purged=PurgeResult(purgeable.ids, purgeable.kept, purgeable.staying),
        )

    def save_findings(self, outcome: Outcome, found: Findings) -> Outcome:
        """Do nothing: findings are not saved."""
        return outcome

    def _ask(self, survey: Survey) -> tuple[list[Result], list[AskedWindow]]:
        from slowwave.consolidation.writing.answer_store import FileAnswerStore
        from slowwave.consolidation.writing.drafts import Drafting

        night = self._night
        run_in_thread(night.writer.make_ready)
        places = {window.id: place for place, window in enumerate(survey.plan.windows)}
        results: dict[str, Result] = {}
        # Answers come in any order, and are listed in the order of the plan.
        answered: list[tuple[int, list[Result]]] = []
        asked: dict[int, AskedWindow] = {}
        with open_reading(night.path) as file:
            drafting = Drafting(night.embedder, night.writer)
            answers = FileAnswerStore(file)
            for part in drafting.verified_drafts(survey.plan, survey.views, answers):
                windows = {
                    places[each.window.id]: each for each in part if isinstance(each, AskedWindow)
                }
                asked |= windows
                made = [each for each in part if isinstance(each, Result)]
                answered.append((min(windows, default=-1), made))
                night.progress.stage("asking", len(asked), len(places))
        for _, made in sorted(answered, key=itemgetter(0)):
            results |= {result.proposal.id: result for result in made}
        return list(results.values()), [asked[place] for place in sorted(asked)]
