"""One night, from the file to the outcome; start reading here. `run_cycle` names its stages.

A dry run goes through the same stages, and each stops before its first write.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import replace
from typing import TYPE_CHECKING

from slowwave.store.errors import SlowwaveError, StoreError
from slowwave.store.file import open_reading
from slowwave.store.intake import read_backlog
from slowwave.store.lock import maintenance_lock
from slowwave.store.memories import Counts
from slowwave.store.records import timestamp

from .ageing.selection import LayerScores, LeavingMemory, choose_expired, scores_by_layer
from .ingest.read_queued_parts import read_queued_parts
from .proposals import Plan, Window
from .running.execute import Execution, ExecutionResult
from .running.outcome import Outcome, QueuedPartsResult
from .running.phases import (
    AgeingResult,
    PurgeResult,
    choose_archived,
    count_now,
    counts_without,
    expire_or_archive,
    purge_memories,
    read_ages,
    read_tenants,
)
from .running.review_queue import EarlierProposals, withdraw_outdated
from .running.run_in_file import NightInputs, Preflight, RunInFile
from .running.survey import Survey, save_findings, survey_file
from .runtime.interruption import InterruptedEarly
from .snapshot.idle import Findings

if TYPE_CHECKING:
    from .snapshot.tenant_view import TenantView


def run_cycle(night: NightInputs) -> Outcome:
    """Run a night on a memory file; a dry run only returns what it would do.

    Expired memories are never merged into live ones, and memories are consolidated before others
    are archived.

    Agents may read and write the file meanwhile: it is only locked in short transactions. Raises
    `StoreError`, `EmbedderError` or `ModelError` if nothing was changed, `InterruptedEarly` if
    nothing was consolidated, and `OutOfTime`.
    """
    stages = _Stages(night)
    with stages.exclusive():
        try:
            stages.migrate()
            stages.expire()
            stages.read_queued()
            survey = stages.survey()
            executed = stages.execute(survey)
        except _EndedEarly as early:
            return early.outcome
        outcome = stages.close_run(survey, executed)
        outcome = stages.limit(outcome, executed)
        outcome = stages.purge(outcome, survey)
        findings = survey.findings
        # Free its memory: saving the findings may survey the file again.
        del survey
        return stages.save_findings(outcome, findings)


class _EndedEarly(Exception):
    """The night ended before its plan was executed, after something was written."""

    def __init__(self, outcome: Outcome) -> None:
        super().__init__()
        self.outcome = outcome


class _Stages:
    """Runs the stages of one night, in the order of the methods.

    Until the plan is executed a stage raises `InterruptedEarly`, and `StoreError` or
    `ConsolidationError` if nothing was changed. If memories expired or conversations were read
    before, an error is raised as `_EndedEarly`, so that this is reported.
    """

    def __init__(self, night: NightInputs) -> None:
        self._night = night
        self._preflight = Preflight(night.path, night.options.keep_backups, night.now)
        self._run = self._new_run()
        # Before anything expired or was read, and what changed since; None if nothing did.
        self._counts: tuple[Counts, Counts] | None = None
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
                night.interruption.close()
                raise InterruptedEarly from None

    def migrate(self) -> None:
        """Migrate an older schema after a backup; a dry run refuses it."""
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
                before = count_now(night.path, read_tenants(night)) if choice.leaving else None
                self._expired = expire_or_archive(night, "expire", choice, self._preflight)
                if before is not None:
                    self._counts = before, counts_without(night, before, self._leaving)
                if self._expired.interrupted or night.interruption.requested:
                    raise _EndedEarly(self._so_far())
                # The end of that run was not to be interrupted; the rest of the night may be.
                night.interruption.open()
            if options.decay:
                self._scores = scores_by_layer(*read_ages(night, self._expired_ids))

    def read_queued(self) -> None:
        """Let a model read queued conversation parts; a dry run only counts them."""
        night = self._night
        if not night.options.consolidate:
            return
        with self._guarded():
            if night.dry_run:
                with open_reading(night.path) as file:
                    backlog = read_backlog(file, night.options.tenants)
                would_be_read = bool(backlog.parts) and night.writer.name == "model"
                self._queued_parts = QueuedPartsResult(backlog, would_be_read=would_be_read)
                return
            parts = self._queued_parts = read_queued_parts(night, self._preflight)
            if parts.counts is not None:
                before, after = self._counts or (parts.counts[0], parts.counts[0])
                self._counts = before, after.changed_by(*parts.counts)
            if parts.interrupted or parts.broken_off is not None:
                raise _EndedEarly(self._so_far(parts.broken_off))

    def survey(self) -> Survey:
        """Withdraw outdated pending proposals, survey the file, and plan."""
        night = self._night
        with self._guarded():
            if night.options.consolidate:
                preflight = None if night.dry_run else self._preflight
                tenants, now = night.options.tenants, timestamp(night.now)
                self._earlier_proposals = withdraw_outdated(night.path, tenants, now, preflight)
            # Its id must sort after those of the phases before it.
            self._run = self._new_run()
            keep = None if night.dry_run else self._keep
            return survey_file(night, keep, leaving=self._leaving)

    def execute(self, survey: Survey) -> ExecutionResult:
        """Ask the model, queue what a person reviews, and write rows, lineage and journal.

        If memories will be purged, after a backup.
        """
        night, run, cache = self._night, self._run, survey.findings.cache

        def plan_again(answered: Sequence[Window]) -> tuple[Plan, Sequence[TenantView]]:
            second_survey = survey_file(night, self._keep, cache, answered=answered)
            return second_survey.plan, second_survey.snapshot.views

        with self._guarded():
            if survey.purgeable is not None and survey.purgeable.ids and not night.dry_run:
                self._preflight.check_and_back_up()
            snapshot = survey.snapshot
            execution = Execution(night, run, snapshot.views, snapshot.counts)
            return execution.execute(survey.plan, plan_again)

    def close_run(self, survey: Survey, executed: ExecutionResult) -> Outcome:
        """Record how the run ended. What agents added meanwhile is not counted."""
        outcome = Outcome(
            plan=survey.plan,
            results=executed.results,
            before=survey.snapshot.counts,
            after=executed.after,
            usage=executed.usage,
            asked=executed.asked,
            run_id=self._run.recorded_id,
            interrupted=self._run.interrupted,
            broken_off=self._run.broken_off,
            earlier=self._earlier_proposals,
        )
        # What was applied is reported even so; the ledger shows the run as interrupted.
        why = self._run.try_to_end(outcome.verdict, outcome.report, survey.plan.digest)
        return self._with_earlier_stages(replace(outcome, why_unrecorded=why))

    def limit(self, outcome: Outcome, executed: ExecutionResult) -> Outcome:
        """Archive memories above the limit. Raises `StoreError` if nothing at all was changed."""
        night = self._night
        if outcome.interrupted or outcome.broken_off:
            return outcome
        try:
            choice = choose_archived(night, self._expired_ids, executed.applicable)
            if choice is None:
                return outcome
            archived = expire_or_archive(night, "limit", choice, self._preflight)
        except StoreError as error:
            if outcome.last_run is None:
                raise
            # What was done before is reported.
            archived = AgeingResult(why=error.message)
        after = counts_without(night, outcome.after, archived.leaving)
        interrupted = archived.interrupted
        return replace(outcome, archived=archived, after=after, interrupted=interrupted)

    def purge(self, outcome: Outcome, survey: Survey) -> Outcome:
        """Delete memories that were superseded long ago, if requested.

        Raises `StoreError` if nothing at all was changed.
        """
        night, purgeable, tenants = self._night, survey.purgeable, survey.snapshot.tenants
        if purgeable is None or outcome.interrupted or outcome.broken_off:
            return outcome
        try:
            purged = purge_memories(night, purgeable, tenants, self._preflight)
        except StoreError as error:
            if outcome.last_run is None:
                raise
            purged = PurgeResult(why=error.message, staying=purgeable.staying)
        superseded = outcome.after.superseded - len(purged.ids)
        return replace(outcome, purged=purged, after=replace(outcome.after, superseded=superseded))

    def save_findings(self, outcome: Outcome, findings: Findings) -> Outcome:
        """Save what the next night need not compute."""
        outcome = save_findings(self._night, findings, outcome, self._run, self._preflight)
        return replace(outcome, backup=self._preflight.backup)

    def _keep(self, vectors: Sequence[tuple[str, str, bytes]]) -> None:
        self._run.store_vectors(self._night.embedder.name, vectors)

    def _new_run(self) -> RunInFile:
        night = self._night
        return RunInFile(self._preflight, night.now, night.options.shown, night.interruption)

    @property
    def _leaving(self) -> tuple[LeavingMemory, ...]:
        """The memories that expired, or would in a dry run."""
        return () if self._expired is None else self._expired.leaving

    @property
    def _expired_ids(self) -> frozenset[str]:
        return frozenset(memory.id for memory in self._leaving)

    @contextmanager
    def _guarded(self) -> Iterator[None]:
        """End the run if the block raises, and report what was written before an error.

        Raises `InterruptedEarly`, and `_EndedEarly` instead of an error after earlier writes.
        """
        try:
            yield
        except KeyboardInterrupt as interrupt:
            self._run.fail(interrupt)
            raise InterruptedEarly from None
        except Exception as error:
            self._run.fail(error)
            has_expired = self._expired is not None and self._expired.run_id is not None
            if isinstance(error, SlowwaveError) and (has_expired or self._queued_parts.runs):
                raise _EndedEarly(self._so_far(error)) from error
            if isinstance(error, SlowwaveError) and self._run.recorded_id is not None:
                error.hint = f"No memory was changed; what was stored before is kept. {error.hint}"
            raise

    def _so_far(self, error: SlowwaveError | None = None) -> Outcome:
        """Return the outcome of a night that ended before its survey."""
        counts = count_now(self._night.path, read_tenants(self._night))
        outcome = Outcome(before=counts, after=counts, interrupted=error is None, broken_off=error)
        return self._with_earlier_stages(outcome)

    def _with_earlier_stages(self, outcome: Outcome) -> Outcome:
        before, after = self._counts or (outcome.before, outcome.before)
        return replace(
            outcome,
            before=before,
            after=after.changed_by(outcome.before, outcome.after),
            usage=outcome.usage + self._queued_parts.usage,
            queued_parts=self._queued_parts,
            expired=self._expired,
            scores=self._scores,
            backup=self._preflight.backup,
            migrated_from=self._preflight.migrated_from,
        )
