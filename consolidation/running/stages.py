"""The stages of a night that writes."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace

from slowwave.consolidation.ageing.choosing import AgeingChoice
from slowwave.consolidation.ageing.decay import LayerScores
from slowwave.consolidation.errors import ConsolidationError
from slowwave.consolidation.proposals import Usage, join_plans
from slowwave.consolidation.runtime.interruption import InterruptedEarly, Interruption, OutOfTime
from slowwave.consolidation.snapshot.idle import Findings
from slowwave.store.ageing import Phase
from slowwave.store.errors import StoreError
from slowwave.store.file import maintenance_lock
from slowwave.store.memories import Counts
from slowwave.store.records import timestamp

from .age import AgeingResult, age
from .age_plan import AgePlan
from .batched_run import count_now
from .execute import ExecutionResult, carry_out_plan
from .night_inputs import NightInputs
from .outcome import Outcome, WaitingPartsResult
from .preflight import Preflight
from .purge import PurgeResult, carry_out_purge
from .review_queue import EarlierProposals, withdraw_outdated
from .run_in_file import RunInFile
from .save_findings import save_findings
from .survey import Survey, Surveyor

_EARLIER_HINT = "Memories expired or conversations were read before that: see 'slowwave log'."


class EndedEarly(Exception):
    """The night ended before its plan was executed, after something was written."""

    def __init__(self, outcome: Outcome) -> None:
        """Take the outcome so far."""
        super().__init__()
        self.outcome = outcome


class Stages:
    """Runs the stages of one night, in the order of the methods.

    Until the plan is executed a stage raises `InterruptedEarly`, and `StoreError` or
    `ConsolidationError` if nothing was changed. If memories expired or conversations were read
    before, an error is raised as `EndedEarly`, so that this is reported.
    """

    def __init__(self, night: NightInputs, interruption: Interruption) -> None:
        """Take what the stages depend on."""
        self._night = night
        self._interruption = interruption
        self._preflight = Preflight(night.path, night.options.keep_backups, night.now)
        self._run = self._new_run()
        self._surveyor = Surveyor(night)
        self._age_plan = AgePlan(night)
        # The counts before anything expired or was read; None if nothing was.
        self._before: Counts | None = None
        self._expired: AgeingResult | None = None
        self._scores: tuple[LayerScores, ...] | None = None
        self._waiting_parts = WaitingPartsResult()
        self._earlier = EarlierProposals()

    @contextmanager
    def exclusive(self) -> Iterator[None]:
        """Hold the maintenance lock. Raises `FileHeld` if another run holds it."""
        with maintenance_lock(self._night.path):
            yield

    def bring_up_to_date(self) -> None:
        """Migrate an older schema."""
        with self._interruptible():
            self._preflight.bring_up_to_date()

    def expire(self) -> None:
        """Expire memories, and score the others."""
        with self._reporting_earlier(), self._interruptible():
            choice = self._age_plan.expiring()
            if choice is not None:
                if choice.leaving:
                    self._before = count_now(self._night.path, self._tenants)
                self._expired = self._age("expire", choice)
            if self._expired is not None and self._expired.interrupted:
                raise EndedEarly(self._so_far())
            self._scores = self._age_plan.scores()

    def read_waiting(self, reader: Callable[[Preflight], WaitingPartsResult]) -> None:
        """Read the conversation parts that wait for a model."""
        if not self._night.options.consolidate:
            return
        with self._reporting_earlier(), self._interruptible():
            self._waiting_parts = reader(self._preflight)
            self._before = self._before or self._waiting_parts.before
            if self._waiting_parts.interrupted or self._waiting_parts.broken_off is not None:
                raise EndedEarly(self._so_far(self._waiting_parts.broken_off))

    def survey(self) -> Survey:
        """Withdraw outdated pending proposals, survey the file, and plan."""
        with self._reporting_earlier(), self._interruptible():
            if self._night.options.consolidate:
                self._earlier = withdraw_outdated(
                    self._night.path,
                    self._night.options.tenants,
                    self._preflight,
                    timestamp(self._night.now),
                )
            # Its id must sort after those of the phases before it.
            self._run = self._new_run()
            return self._surveyor.survey(self._run)

    def carry_out(self, survey: Survey) -> ExecutionResult:
        """Execute the plan."""
        with self._reporting_earlier(), self._interruptible():
            return carry_out_plan(
                self._run,
                survey,
                self._surveyor,
                self._night.options.review,
                self._night.progress,
                self._interruption,
            )

    def close_run(self, survey: Survey, executed: ExecutionResult) -> Outcome:
        """Count the memories, and record how the run ended."""
        before, tenants = survey.snapshot.counts, survey.snapshot.tenants
        applied = any(result.state == "applied" for result in executed.results)
        with self._interruption.limited():
            outcome = Outcome(
                survey.plan,
                executed.results,
                before,
                # A run that changed nothing does not count what agents added meanwhile.
                count_now(self._night.path, tenants) if applied else before,
                executed.usage,
                executed.asked,
                self._run.run_id,
                executed.interrupted,
                executed.broken_off,
                earlier=self._earlier,
            )
        try:
            with self._interruption.limited():
                self._run.end(outcome.verdict, survey.plan.digest, outcome.report)
        except (OutOfTime, StoreError):
            # What was applied is reported.
            outcome = replace(outcome, end_is_kept=False)
        return self._with_earlier(outcome)

    def limit(self, outcome: Outcome) -> Outcome:
        """Archive memories above the limit. Raises `StoreError` if nothing at all was changed."""
        if self._night.options.limit is None or outcome.interrupted or outcome.broken_off:
            return outcome
        try:
            choice = self._age_plan.excess()
            if choice is None:
                return outcome
            archived = self._age("limit", choice)
        except StoreError as error:
            if outcome.run_id is None and not self._has_earlier:
                raise
            # What was done before is reported.
            archived = AgeingResult(why=error.message)
        if archived.run_id is None:
            return replace(outcome, archived=archived)
        return replace(
            outcome,
            archived=archived,
            after=count_now(self._night.path, self._tenants),
            interrupted=archived.interrupted,
            end_is_kept=outcome.end_is_kept and archived.end_is_kept,
            backup=self._preflight.backup,
        )

    def purge(self, outcome: Outcome, survey: Survey) -> Outcome:
        """Delete memories that were superseded long ago, if requested.

        Raises `StoreError` if nothing at all was changed.
        """
        purgeable, tenants = survey.purgeable, survey.snapshot.tenants
        if purgeable is None or outcome.interrupted or outcome.broken_off:
            return outcome
        try:
            purged = carry_out_purge(
                self._night.path, purgeable, tenants, self._night.now, self._interruption
            )
        except StoreError as error:
            archived = outcome.archived is not None and outcome.archived.run_id is not None
            if outcome.run_id is None and not self._has_earlier and not archived:
                raise
            # What was consolidated before is reported.
            purged = PurgeResult(kept=purgeable.kept, staying=purgeable.staying, why=error.message)
        kept = outcome.end_is_kept and purged.end_is_kept
        after = count_now(self._night.path, tenants)
        return replace(outcome, purged=purged, after=after, end_is_kept=kept)

    def save_findings(self, outcome: Outcome, found: Findings) -> Outcome:
        """Save the findings for the next night."""
        return save_findings(self._surveyor, found, outcome, self._preflight, self._interruption)

    def _new_run(self) -> RunInFile:
        night = self._night
        return RunInFile(
            night.path,
            night.embedder,
            night.writer,
            night.now,
            night.options.shown,
            self._preflight,
        )

    @property
    def _tenants(self) -> list[str]:
        return self._age_plan.tenants

    @property
    def _has_earlier(self) -> bool:
        """Whether anything was written before the survey."""
        expired = self._expired is not None and self._expired.run_id is not None
        return expired or bool(self._waiting_parts.runs)

    def _age(self, phase: Phase, choice: AgeingChoice) -> AgeingResult:
        """Run a phase of ageing, if it has anything to do."""
        if not choice.leaving:
            return AgeingResult(choice=choice)
        return age(self._night, phase, choice, self._tenants, self._preflight, self._interruption)

    @contextmanager
    def _interruptible(self) -> Iterator[None]:
        """End the run if the block is interrupted. Raises `InterruptedEarly`."""
        try:
            yield
        except KeyboardInterrupt:
            self._interruption.close()
            with self._interruption.limited():
                kept = self._run.end_early()
            early = InterruptedEarly(kept)
            if self._has_earlier:
                early.hint = " ".join(filter(None, (early.hint, _EARLIER_HINT)))
            raise early from None

    @contextmanager
    def _reporting_earlier(self) -> Iterator[None]:
        """Turn an error after earlier writes into `EndedEarly`."""
        try:
            yield
        except (StoreError, ConsolidationError) as error:
            if not self._has_earlier:
                raise
            self._interruption.close()
            raise EndedEarly(self._so_far(error)) from error

    def _so_far(self, error: StoreError | ConsolidationError | None = None) -> Outcome:
        """Return the outcome of a night that ended before its survey."""
        now = count_now(self._night.path, self._tenants)
        outcome = Outcome(
            join_plans(()),
            (),
            now,
            now,
            Usage(),
            interrupted=error is None,
            broken_off=error,
        )
        return self._with_earlier(outcome)

    def _with_earlier(self, outcome: Outcome) -> Outcome:
        expired = self._expired
        return replace(
            outcome,
            usage=outcome.usage + self._waiting_parts.usage,
            waiting_parts=self._waiting_parts,
            expired=expired,
            scores=self._scores,
            before=self._before or outcome.before,
            end_is_kept=outcome.end_is_kept and (expired is None or expired.end_is_kept),
            backup=self._preflight.backup,
        )
