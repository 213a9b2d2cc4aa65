"""The stages of a dry run: those of a night, but that each says what it would do."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from operator import itemgetter

from slowwave.consolidation.ageing.choosing import AgeingChoice
from slowwave.consolidation.planning.savings import expected_counts, with_savings
from slowwave.consolidation.proposals import AskedWindow, Usage, VerifiedProposal
from slowwave.consolidation.runtime.interruption import InterruptedEarly, Interruption
from slowwave.consolidation.runtime.threads import run_in_thread
from slowwave.consolidation.snapshot.idle import Findings
from slowwave.store.file import open_reading
from slowwave.store.intake import read_backlog

from .age import Aged
from .age_plan import AgePlan
from .execute import Executed
from .held_for_review import Reviewing
from .night_inputs import NightInputs
from .outcome import Outcome
from .preflight import Preflight
from .purge import NOTHING, Purged
from .set_aside import EarlierProposals, find_earlier
from .survey import Survey, Surveyor
from .taken_up import TakenUp


class DryStages:
    """Goes through the stages of one night and writes nothing. Raises `InterruptedEarly`."""

    def __init__(self, night: NightInputs, interruption: Interruption) -> None:
        """Take what the stages depend on."""
        self._night = night
        self._interruption = interruption
        self._surveyor = Surveyor(night)
        self._age_plan = AgePlan(night)
        self._reviewing = Reviewing(night.options.review)
        self._expiring: AgeingChoice | None = None
        self._taken_up = TakenUp()
        self._earlier = EarlierProposals()
        # What a night would apply without asking a person.
        self._at_once: list[VerifiedProposal] = []

    @contextmanager
    def alone(self) -> Iterator[None]:
        """Keep nobody out: a dry run only reads."""
        try:
            yield
        except KeyboardInterrupt:
            self._interruption.close()
            raise InterruptedEarly(kept=False) from None

    def bring_up_to_date(self) -> None:
        """Leave an older schema as it is."""

    def expire(self) -> None:
        """Choose what would expire."""
        self._expiring = self._age_plan.expiring()

    def read_waiting(self, reader: Callable[[Preflight], TakenUp]) -> None:
        """Count the conversations that wait for a model; none of them is read."""
        if self._night.options.consolidate:
            with open_reading(self._night.path) as file:
                backlog = read_backlog(file, self._night.options.tenants)
            is_due = bool(backlog.parts) and self._night.writer.model is not None
            self._taken_up = TakenUp(backlog, is_due=is_due)

    def survey(self) -> Survey:
        """Look at the file as it would be once memories have expired, and plan."""
        options = self._night.options
        if options.consolidate:
            self._earlier = find_earlier(self._night.path, options.tenants)
        return self._surveyor.survey(expiring=self._expiring)

    def carry_out(self, survey: Survey) -> Executed:
        """Return what the plan comes to; a model is asked only if that is wanted.

        Answers kept in the file are used from there; new ones are not kept but by a recording.
        Raises `ModelError` if the model cannot be asked.
        """
        plan = survey.plan
        written = [VerifiedProposal(proposal, "planned") for proposal in plan.proposals]
        asked = [AskedWindow(window, "planned") for window in plan.windows]
        if self._night.options.ask:
            written, asked = self._ask(survey)
        self._at_once = [
            each
            for each in written
            if each.state == "planned" and self._reviewing.why_waiting(each, survey.views) is None
        ]
        results = [self._reviewing.expected_result(each, survey.views) for each in written]
        return Executed(
            tuple(with_savings(results, survey.views)),
            tuple(asked),
            sum((each.usage for each in asked), start=Usage()),
            interrupted=False,
        )

    def close_run(self, survey: Survey, executed: Executed) -> Outcome:
        """Count what would be there then."""
        before = survey.snapshot.counts
        applied = [each.proposal for each in self._at_once]
        return Outcome(
            survey.plan,
            executed.results,
            before,
            expected_counts(before, applied, survey.views),
            executed.usage,
            executed.asked,
            earlier=self._earlier,
            taken_up=self._taken_up,
        )

    def limit(self, outcome: Outcome) -> Outcome:
        """Choose what would be archived, and count without it and what would expire."""
        applied = [each.proposal for each in self._at_once]
        expiring, excess = self._expiring, self._age_plan.excess(self._expiring, applied)
        return replace(
            outcome,
            after=self._age_plan.counts_without(outcome.after, expiring, excess),
            expired=None if expiring is None else Aged(expiring.leaving, expiring),
            scores=self._age_plan.scores(expiring),
            archived=None if excess is None else Aged(excess.leaving, excess),
        )

    def purge(self, outcome: Outcome, survey: Survey) -> Outcome:
        """Return what would be deleted."""
        purgeable = survey.purgeable or NOTHING
        after = outcome.after
        return replace(
            outcome,
            after=replace(after, superseded=after.superseded - len(purgeable.ids)),
            purged=Purged(purgeable.ids, purgeable.kept, purgeable.staying),
        )

    def save_findings(self, outcome: Outcome, found: Findings) -> Outcome:
        """Keep nothing."""
        return outcome

    def _ask(self, survey: Survey) -> tuple[list[VerifiedProposal], list[AskedWindow]]:
        from slowwave.consolidation.writing.answer_store import FileAnswerStore
        from slowwave.consolidation.writing.drafts import Drafting

        night = self._night
        run_in_thread(night.writer.make_ready)
        places = {window.id: place for place, window in enumerate(survey.plan.windows)}
        written: dict[str, VerifiedProposal] = {}
        # Answers come in any order; they are listed in the order of the plan.
        answered: list[tuple[int, list[VerifiedProposal]]] = []
        asked: dict[int, AskedWindow] = {}
        with open_reading(night.path) as file:
            drafting = Drafting(night.embedder, night.writer)
            answers = FileAnswerStore(file)
            for part in drafting.verified_drafts(survey.plan, survey.views, answers):
                windows = {
                    places[each.window.id]: each for each in part if isinstance(each, AskedWindow)
                }
                asked |= windows
                made = [each for each in part if isinstance(each, VerifiedProposal)]
                answered.append((min(windows, default=-1), made))
                night.progress.stage("asking", len(asked), len(places))
        for _, made in sorted(answered, key=itemgetter(0)):
            written |= {each.proposal.id: each for each in made}
        return list(written.values()), [asked[place] for place in sorted(asked)]
