"""The phases of ageing within a night: what expires before it, what is above a limit after it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from datetime import datetime
from pathlib import Path

from slowwave.consolidation.ageing.decay import LayerScores
from slowwave.consolidation.errors import ConsolidationError
from slowwave.consolidation.options import CycleOptions
from slowwave.consolidation.proposals import Usage, join_plans
from slowwave.consolidation.runtime.interruption import InterruptedEarly, Interruption
from slowwave.store.errors import StoreError
from slowwave.store.memories import Counts

from .age import Aged, AgeingRun, count_now
from .age_plan import AgePlan
from .outcome import Outcome
from .preflight import Preflight

_HINT = "What had expired by then is marked so: see 'slowwave log'."


class AgeingPhases:
    """Carries the phases out around a night, and adds them to its outcome."""

    def __init__(
        self,
        path: Path,
        options: CycleOptions,
        now: datetime,
        preflight: Preflight,
        interruption: Interruption,
    ) -> None:
        """Take what the phases depend on."""
        self._path = path
        self._options = options
        self._now = now
        self._preflight = preflight
        self._interruption = interruption
        self._plan = AgePlan(path, options, now)
        # Before anything expired; None if nothing did.
        self._before: Counts | None = None
        self._expired: Aged | None = None
        self._scores: tuple[LayerScores, ...] | None = None

    def expire(self) -> None:
        """Let end what has come to its end, and see how much is left of the others.

        Raises `StoreError`.
        """
        choice = self._plan.expiring()
        if choice is not None and choice.leaving:
            self._before = count_now(self._path, self._plan.tenants)
            self._expired = self._run().carry_out("expire", choice)
        elif choice is not None:
            self._expired = Aged(choice=choice)
        if self.goes_on:
            self._scores = self._plan.scores()

    @property
    def goes_on(self) -> bool:
        """Whether the night follows: somebody may have interrupted it by now."""
        return self._expired is None or not self._expired.interrupted

    @contextmanager
    def telling(self) -> Iterator[None]:
        """Let who interrupts the night know that something expired before it."""
        try:
            yield
        except InterruptedEarly as error:
            if self._has_changed:
                error.hint = " ".join(filter(None, (error.hint, _HINT)))
            raise

    def ended_early(self, error: StoreError | ConsolidationError | None = None) -> Outcome:
        """Return the outcome of a night that could not follow; raises what stood in the way.

        But not if something expired: that stands, and is told.
        """
        if error is not None and not self._has_changed:
            raise error
        if error is not None:
            self._interruption.close()
        now = count_now(self._path, self._plan.tenants)
        outcome = Outcome(
            join_plans(()),
            (),
            now,
            now,
            Usage(),
            interrupted=error is None,
            broken_off=error,
            backup=self._preflight.backup,
        )
        return self.added_to(outcome)

    def added_to(self, outcome: Outcome) -> Outcome:
        """Return an outcome with what was done before the night."""
        expired = self._expired
        return replace(
            outcome,
            expired=expired,
            scores=self._scores,
            before=self._before or outcome.before,
            end_is_kept=outcome.end_is_kept and (expired is None or expired.end_is_kept),
            backup=self._preflight.backup,
        )

    def limit(self, outcome: Outcome) -> Outcome:
        """Archive what is above the limit, if there is one. Raises `StoreError` if that is all."""
        if self._options.limit is None or outcome.interrupted or outcome.broken_off:
            return outcome
        try:
            choice = self._plan.excess()
            archived = None if choice is None else self._run().carry_out("limit", choice)
        except StoreError as error:
            if outcome.run_id is None and not self._has_changed:
                raise
            # What was done before stands all the same, and is told.
            archived = Aged(why=error.message)
        if archived is None or archived.run_id is None:
            return replace(outcome, archived=archived)
        return replace(
            outcome,
            archived=archived,
            after=count_now(self._path, self._plan.tenants),
            interrupted=outcome.interrupted or archived.interrupted,
            end_is_kept=outcome.end_is_kept and archived.end_is_kept,
            backup=self._preflight.backup,
        )

    @property
    def _has_changed(self) -> bool:
        return self._expired is not None and self._expired.run_id is not None

    def _run(self) -> AgeingRun:
        tenants = self._plan.tenants
        shown = {"tenant": list(self._options.tenants)}
        return AgeingRun(self._path, tenants, self._now, self._preflight, self._interruption, shown)
