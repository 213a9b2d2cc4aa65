"""Save what a run found out at its end, so that the next run need not compute it."""

from __future__ import annotations

from concurrent.futures import Future
from dataclasses import replace

from slowwave.consolidation.errors import ConsolidationError
from slowwave.consolidation.runtime.interruption import Interruption, OutOfTime
from slowwave.consolidation.runtime.threads import start_in_thread
from slowwave.consolidation.snapshot.idle import Findings
from slowwave.store.errors import StoreError

from .outcome import Outcome
from .preflight import Preflight
from .survey import Surveyor

# How often a long survey checks for an interruption.
_POLL_S = 0.05
# About as many cache entries as a survey of 10,000 memories needs, which takes a second or two.
_SHORT = 30_000
# The share of new cache entries from which on computing them dominates a survey.
_MUCH = 0.1


def save_findings(
    surveyor: Surveyor,
    first: Findings,
    outcome: Outcome,
    preflight: Preflight,
    interruption: Interruption,
) -> Outcome:
    """Save the findings, and mark the tenants as idle in which nothing is left to do.

    first: the findings of the run's own survey; if the run changed anything, the file is surveyed
    again. This only saves time, and the run has ended: if the file cannot be written, the model
    cannot be loaded, or the user interrupts, it is left for the next run. So it is if the second
    survey would take as long as the first. The outcome says what went wrong.
    """
    if not surveyor.consolidates or outcome.interrupted or outcome.broken_off:
        return outcome
    interruption.end()
    not_kept = _save(surveyor, first, outcome.changed, preflight, interruption)
    return replace(outcome, not_kept=not_kept)


def _save(
    surveyor: Surveyor,
    first: Findings,
    changed: bool,
    preflight: Preflight,
    interruption: Interruption,
) -> str | None:
    """Save the findings; return the error message if that failed."""
    short = first.cache.size <= _SHORT or first.cache.new >= _MUCH * first.cache.size
    try:
        with interruption.limited():
            preflight.refuse_damaged()
            first.idle_marks.keep(first)
        found: Findings | None = first
        if changed:
            if not short:
                return None
            again = start_in_thread(lambda: surveyor.survey(cache=first.cache).found)
            found = _wait_for(again, interruption)
        if found is not None:
            with interruption.limited():
                found.idle_marks.keep(found)
                found.idle_marks.keep_idle_marks(found)
    except (StoreError, ConsolidationError) as error:
        return error.message
    except OutOfTime:
        return None
    return None


def _wait_for(found: Future[Findings], interruption: Interruption) -> Findings | None:
    """Wait for the findings of a survey; None if interrupted."""
    while not interruption.asked:
        try:
            return found.result(_POLL_S)
        except TimeoutError:
            continue
    return None
