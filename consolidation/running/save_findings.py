"""The last thing that a run does: it looks at what it left, so that the next one need not."""

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

# How often a long look asks whether the run is to end.
_PATIENCE_S = 0.05
# As many things as a look asks for of 10,000 memories, more or less: it takes a second or two.
_SHORT = 30_000
# The share of what a look asked for that was new, from which on finding it out took by far the most
# of its time.
_MUCH = 0.1


def save_findings(
    surveyor: Surveyor,
    first: Findings,
    outcome: Outcome,
    preflight: Preflight,
    interruption: Interruption,
) -> Outcome:
    """Keep what was found out, and let the tenants rest in which nothing is left to do.

    first: what the run saw before it did anything; where it changed something since, that takes
    another look. All of it is kept for speed alone, and the run has ended: where the file cannot
    be written, the model not be loaded, or somebody interrupts, it is left for the next run. So it
    is where another look would take as long as the first, since little was new to that. The
    outcome says what went wrong, if anything did.
    """
    if not surveyor.consolidates or outcome.interrupted or outcome.broken_off:
        return outcome
    interruption.end()
    not_kept = _saved(surveyor, first, outcome.changed, preflight, interruption)
    return replace(outcome, not_kept=not_kept)


def _saved(
    surveyor: Surveyor,
    first: Findings,
    changed: bool,
    preflight: Preflight,
    interruption: Interruption,
) -> str | None:
    """Save what was found, and return why that was not possible, if it was not."""
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
            found = _awaited(again, interruption)
        if found is not None:
            with interruption.limited():
                found.idle_marks.keep(found)
                found.idle_marks.keep_idle_marks(found)
    except (StoreError, ConsolidationError) as error:
        return error.message
    except OutOfTime:
        return None
    return None


def _awaited(found: Future[Findings], interruption: Interruption) -> Findings | None:
    """Return what a look finds once it is there, or None if somebody interrupts."""
    while not interruption.asked:
        try:
            return found.result(_PATIENCE_S)
        except TimeoutError:
            continue
    return None
