"""The stages of a night; a dry run goes through the same ones, and writes nothing."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, nullcontext, suppress
from dataclasses import replace
from typing import TYPE_CHECKING

from slowwave.consolidation.ageing.selection import (
    LayerScores,
    LeavingMemory,
    choose_expired,
    scores_by_layer,
)
from slowwave.consolidation.proposals import Plan, Usage, Window
from slowwave.consolidation.running.savings import expected_counts
from slowwave.consolidation.runtime.interruption import InterruptedEarly, Interruption, OutOfTime
from slowwave.consolidation.snapshot.idle import Findings
from slowwave.store.errors import SlowwaveError, StoreError
from slowwave.store.file import open_reading
from slowwave.store.intake import read_backlog
from slowwave.store.lock import maintenance_lock
from slowwave.store.memories import Counts
from slowwave.store.records import timestamp

from .execute import Execution, ExecutionResult
from .outcome import Outcome, QueuedPartsResult
from .phases import (
    AgeingResult,
    PurgeResult,
    age,
    choose_archived,
    count_now,
    counts_without,
    purge_memories,
    read_ages,
    read_tenants,
)
from .review_queue import EarlierProposals, withdraw_outdated
from .run_in_file import NightInputs, Preflight, RunInFile
from .survey import Survey, save_findings, survey_file

if TYPE_CHECKING:
    from slowwave.consolidation.snapshot.tenant_view import TenantView


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
        # The counts before anything expired or was read; None if nothing was.
        self._before: Counts | None = None
        self._expired: AgeingResult | None = None
        self._scores: tuple[LayerScores, ...] | None = None
        self._queued_parts = QueuedPartsResult()
        self._earlier_proposals = EarlierProposals()

    @contextmanager
    def exclusive(self) -> Iterator[None]:
        """Hold the maintenance lock, except in a dry run. Raises `FileHeld` if another run does."""
        night = self._night
        with nullcontext() if night.dry_run else maintenance_lock(night.path):
            try:
                yield
            except KeyboardInterrupt:
                if not night.dry_run:
                    raise
                self._interruption.close()
                raise InterruptedEarly from None

    def migrate(self) -> None:
        """Migrate an older schema, which a dry run reads unchanged."""
        if not self._night.dry_run:
            with self._guarded():
                self._preflight.migrate()

    def expire(self) -> None:
        """Expire memories, and score the others."""
        night, options = self._night, self._night.options
        with self._guarded():
            if options.expire:
                ages, now = read_ages(night)
                choice = choose_expired(ages, options.retention, now, options.include_protected)
                if choice.leaving and not night.dry_run:
                    self._before = count_now(night.path, read_tenants(night))
                self._expired = age(night, "expire", choice, self._preflight, self._interruption)
                if self._expired.interrupted:
                    raise EndedEarly(self._so_far())
            if options.decay:
                self._scores = scores_by_layer(*read_ages(night, self._gone))

    def read_queued(self, reader: Callable[[Preflight], QueuedPartsResult]) -> None:
        """Read the conversation parts queued for a model; a dry run only counts them."""
        night = self._night
        if not night.options.consolidate:
            return
        with self._guarded():
            if night.dry_run:
                with open_reading(night.path) as file:
                    backlog = read_backlog(file, night.options.tenants)
                is_due = bool(backlog.parts) and night.writer.name == "model"
                self._queued_parts = QueuedPartsResult(backlog, is_due=is_due)
                return
            self._queued_parts = reader(self._preflight)
            self._before = self._before or self._queued_parts.before
            if self._queued_parts.interrupted or self._queued_parts.broken_off is not None:
                raise EndedEarly(self._so_far(self._queued_parts.broken_off))

    def survey(self) -> Survey:
        """Withdraw outdated pending proposals, survey the file, and plan."""
        night = self._night
        with self._guarded():
            if night.options.consolidate:
                self._earlier_proposals = withdraw_outdated(
                    night.path,
                    night.options.tenants,
                    timestamp(night.now),
                    None if night.dry_run else self._preflight,
                )
            # Its id must sort after those of the phases before it.
            self._run = self._new_run()
            keeper = None if night.dry_run else self._run
            return survey_file(night, keeper, leaving=self._leaving)

    def execute(self, survey: Survey) -> ExecutionResult:
        """Execute the plan, after a backup if memories will be purged."""
        night, run, cache = self._night, self._run, survey.findings.cache

        def plan_again(answered: Sequence[Window]) -> tuple[Plan, Sequence[TenantView]]:
            second_survey = survey_file(night, run, cache, answered=answered)
            return second_survey.plan, second_survey.snapshot.views

        with self._guarded():
            if survey.purgeable is not None and survey.purgeable.ids and not night.dry_run:
                self._preflight.check_and_back_up()
            execution = Execution(night, run, survey.snapshot.views)
            return execution.execute(survey.plan, self._interruption, plan_again)

    def close_run(self, survey: Survey, executed: ExecutionResult) -> Outcome:
        """Count the memories, and record how the run ended."""
        night, before = self._night, survey.snapshot.counts
        if night.dry_run:
            after = expected_counts(before, executed.applicable, survey.snapshot.views)
            after = counts_without(night, after, self._leaving)
        elif any(result.state == "applied" for result in executed.results):
            with self._interruption.limited():
                after = count_now(night.path, survey.snapshot.tenants)
        else:
            # What agents added meanwhile is not counted.
            after = before
        outcome = Outcome(
            survey.plan,
            executed.results,
            before,
            after,
            executed.usage,
            executed.asked,
            self._run.run_id,
            executed.interrupted,
            executed.broken_off,
            earlier=self._earlier_proposals,
        )
        try:
            with self._interruption.limited():
                self._run.end(outcome.verdict, survey.plan.digest, outcome.report)
        except (OutOfTime, StoreError) as error:
            # What was applied is reported even so; the ledger shows the run as interrupted.
            why = f"the end of the run was not recorded: {error.message}"
            outcome = replace(outcome, why_unrecorded=why)
        return self._with_earlier_stages(outcome)

    def limit(self, outcome: Outcome, executed: ExecutionResult) -> Outcome:
        """Archive memories above the limit. Raises `StoreError` if nothing at all was changed."""
        night = self._night
        if outcome.interrupted or outcome.broken_off:
            return outcome
        try:
            choice = choose_archived(night, self._gone, executed.applicable)
            if choice is None:
                return outcome
            archived = age(night, "limit", choice, self._preflight, self._interruption)
        except StoreError as error:
            if outcome.last_run is None:
                raise
            # What was done before is reported.
            archived = AgeingResult(why=error.message)
        outcome = replace(outcome, archived=archived)
        if night.dry_run:
            return replace(outcome, after=counts_without(night, outcome.after, archived.leaving))
        if archived.run_id is None:
            return outcome
        return replace(
            outcome,
            after=count_now(night.path, read_tenants(night)),
            interrupted=archived.interrupted,
            backup=self._preflight.backup,
        )

    def purge(self, outcome: Outcome, survey: Survey) -> Outcome:
        """Delete memories that were superseded long ago, if requested.

        Raises `StoreError` if nothing at all was changed.
        """
        night, purgeable, tenants = self._night, survey.purgeable, survey.snapshot.tenants
        if purgeable is None or outcome.interrupted or outcome.broken_off:
            return outcome
        if night.dry_run:
            superseded = outcome.after.superseded - len(purgeable.ids)
            return replace(
                outcome,
                purged=PurgeResult(ids=purgeable.ids, staying=purgeable.staying),
                after=replace(outcome.after, superseded=superseded),
            )
        try:
            purged = purge_memories(night.path, purgeable, tenants, night.now, self._interruption)
        except StoreError as error:
            if outcome.last_run is None:
                raise
            # What was done before is reported.
            purged = PurgeResult(why=error.message, staying=purgeable.staying)
        return replace(outcome, purged=purged, after=count_now(night.path, tenants))

    def save_findings(self, outcome: Outcome, findings: Findings) -> Outcome:
        """Save the findings for the next night."""
        night = self._night
        outcome = save_findings(night, findings, outcome, self._run, self._interruption)
        return replace(outcome, backup=self._preflight.backup)

    def _new_run(self) -> RunInFile:
        night, shown = self._night, self._night.options.shown
        return RunInFile(
            night.path, night.embedder, night.writer, night.now, shown, self._preflight
        )

    @property
    def _leaving(self) -> tuple[LeavingMemory, ...]:
        """The memories that expired, or would in a dry run."""
        return () if self._expired is None else self._expired.leaving

    @property
    def _gone(self) -> frozenset[str]:
        return frozenset(memory.id for memory in self._leaving)

    @property
    def _has_written(self) -> bool:
        """Whether anything was written before the survey."""
        expired = self._expired is not None and self._expired.run_id is not None
        return expired or bool(self._queued_parts.runs)

    @contextmanager
    def _guarded(self) -> Iterator[None]:
        """End the run if the block raises, and report what was written before an error.

        Raises `InterruptedEarly`, and `EndedEarly` instead of an error after earlier writes.
        """
        try:
            try:
                yield
            except KeyboardInterrupt:
                self._interruption.close()
                with self._interruption.limited():
                    # The interruption may have come within the beginning of the run.
                    self._run.has_begun()
                    self._run.end("interrupted", None, {})
                raise InterruptedEarly from None
        except Exception as error:
            self._interruption.close()
            with suppress(StoreError):
                why = getattr(error, "message", type(error).__name__)
                self._run.end("failed", None, {"why": why})
            if not (self._has_written and isinstance(error, SlowwaveError)):
                raise
            raise EndedEarly(self._so_far(error)) from error

    def _so_far(self, error: SlowwaveError | None = None) -> Outcome:
        """Return the outcome of a night that ended before its survey."""
        now = count_now(self._night.path, read_tenants(self._night))
        outcome = Outcome(
            Plan(), (), now, now, Usage(), interrupted=error is None, broken_off=error
        )
        return self._with_earlier_stages(outcome)

    def _with_earlier_stages(self, outcome: Outcome) -> Outcome:
        return replace(
            outcome,
            usage=outcome.usage + self._queued_parts.usage,
            queued_parts=self._queued_parts,
            expired=self._expired,
            scores=self._scores,
            before=self._before or outcome.before,
            backup=self._preflight.backup,
            migrated_from=self._preflight.migrated_from,
        )
