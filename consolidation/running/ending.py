"""How a night ends: its outcome, what of that is kept in the file, and the purge after it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from datetime import datetime
from pathlib import Path

from slowwave.consolidation.runtime.interruption import InterruptedEarly, Interruption, OutOfTime
from slowwave.consolidation.snapshot.snapshot import Snapshot
from slowwave.consolidation.text.token_count import count_tokens
from slowwave.store.errors import StoreError
from slowwave.store.file import open_reading
from slowwave.store.memories import Counts, count_memories

from .execute import Executed
from .outcome import Outcome, report_of, verdict
from .purge import Purged, carry_out_purge
from .run_in_file import RunInFile
from .survey import Survey


@contextmanager
def end_if_interrupted(run: RunInFile, interruption: Interruption) -> Iterator[None]:
    """End the run if the block is interrupted. Raises `InterruptedEarly`."""
    try:
        yield
    except KeyboardInterrupt:
        interruption.close()
        with interruption.limited():
            kept = run.end_early()
        raise InterruptedEarly(kept) from None


def close_run(
    path: Path, run: RunInFile, survey: Survey, executed: Executed, interruption: Interruption
) -> Outcome:
    """Count what is there now, and write down how the run ended as far as that can be."""
    plan, before = survey.plan, survey.snapshot.counts
    with interruption.limited():
        outcome = Outcome(
            plan,
            executed.results,
            before,
            # What others added meanwhile is no work of a run that wrote nothing.
            _count(path, survey.snapshot) if run.run_id else before,
            executed.usage,
            executed.asked,
            run.run_id,
            executed.interrupted,
            executed.broken_off,
            backup=run.preflight.backup,
        )
    try:
        with interruption.limited():
            run.end(verdict(outcome), plan.digest, report_of(outcome))
    except (OutOfTime, StoreError):
        # What was applied stays applied, and is reported.
        return replace(outcome, end_is_kept=False)
    return outcome


def purge_after_run(
    path: Path, outcome: Outcome, survey: Survey, now: datetime, interruption: Interruption
) -> Outcome:
    """Purge after a run, if that is wanted. Raises `StoreError` if nothing at all was changed."""
    purgeable, snapshot = survey.purgeable, survey.snapshot
    if purgeable is None or outcome.interrupted or outcome.broken_off:
        return outcome
    try:
        purged = carry_out_purge(path, purgeable, snapshot.tenants, now, interruption)
    except StoreError as error:
        if outcome.run_id is None and not any(one.run_id for one in outcome.aged):
            raise
        # What was consolidated before stays, and is reported.
        purged = Purged(kept=purgeable.kept, staying=purgeable.staying, why=error.message)
    kept = outcome.end_is_kept and purged.end_is_kept
    return replace(outcome, purged=purged, after=_count(path, snapshot), end_is_kept=kept)


def _count(path: Path, snapshot: Snapshot) -> Counts:
    with open_reading(path) as file:
        return count_memories(file, snapshot.tenants, count_tokens)
