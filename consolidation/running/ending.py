"""How a night ends: what is told of it, and what of that is kept in the file."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING

from slowwave.consolidation.planning.savings import expected_counts, weighed
from slowwave.consolidation.progress import Progress
from slowwave.consolidation.proposals import Asked, Plan, Result, Usage
from slowwave.consolidation.runtime.interruption import Interruption, OutOfTime
from slowwave.consolidation.snapshot.snapshot import Snapshot
from slowwave.consolidation.text.token_count import count_tokens
from slowwave.store.errors import StoreError
from slowwave.store.file import open_reading
from slowwave.store.memories import Counts, count_memories
from slowwave.store.purge import Purgeable

from .execute import Executed, LookAgain, Run
from .outcome import Outcome, report_of, verdict
from .purge import Purged, carry_out_purge

if TYPE_CHECKING:
    from slowwave.consolidation.snapshot.population import Population


def planned(
    plan: Plan, snapshot: Snapshot, populations: Sequence[Population], purgeable: Purgeable
) -> Outcome:
    """Return what a dry run tells: the plan, and where it would lead."""
    planned = [Result(one, "planned") for one in plan.proposals]
    after = expected_counts(snapshot.counts, plan.proposals, populations)
    after = replace(after, superseded=after.superseded - len(purgeable.ids))
    purged = Purged(purgeable.ids, purgeable.kept)
    results = tuple(weighed(planned, populations))
    asked = tuple(Asked(one, "planned") for one in plan.windows)
    return Outcome(plan, results, snapshot.counts, after, Usage(), asked, purged=purged)


def carried_out(
    run: Run,
    plan: Plan,
    populations: Sequence[Population],
    progress: Progress,
    interruption: Interruption,
    look_again: LookAgain,
) -> Executed:
    """Carry out a plan; what cannot be told as a result is an error, and the run has failed."""
    try:
        return run.carry_out(plan, populations, progress, interruption, look_again)
    except Exception:
        run.end("failed", plan.digest, {})
        raise


def ended(
    path: Path,
    run: Run,
    plan: Plan,
    snapshot: Snapshot,
    executed: Executed,
    interruption: Interruption,
) -> Outcome:
    """Count what is there now, and write down how the run ended as far as that can be."""
    with interruption.limited():
        outcome = Outcome(
            plan,
            executed.results,
            snapshot.counts,
            # What others added meanwhile is no work of a run that wrote nothing.
            _count(path, snapshot) if run.run_id else snapshot.counts,
            executed.usage,
            executed.asked,
            run.run_id,
            executed.interrupted,
            executed.broken_off,
        )
    try:
        with interruption.limited():
            run.end(verdict(outcome), plan.digest, report_of(outcome))
    except (OutOfTime, StoreError):
        # What was applied stands all the same, and is told.
        return replace(outcome, end_is_kept=False)
    return outcome


def purged_as_well(
    path: Path,
    outcome: Outcome,
    purgeable: Purgeable,
    snapshot: Snapshot,
    now: datetime,
    interruption: Interruption,
) -> Outcome:
    """Purge after a run. Raises `StoreError` if nothing at all was changed."""
    try:
        purged = carry_out_purge(path, purgeable, snapshot.tenants, now, interruption)
    except StoreError as error:
        if outcome.run_id is None:
            raise
        # What was consolidated before stands all the same, and is told.
        purged = Purged(kept=purgeable.kept, why=error.message)
    kept = outcome.end_is_kept and purged.end_is_kept
    return replace(outcome, purged=purged, after=_count(path, snapshot), end_is_kept=kept)


def _count(path: Path, snapshot: Snapshot) -> Counts:
    with open_reading(path) as file:
        return count_memories(file, snapshot.tenants, count_tokens)
