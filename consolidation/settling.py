"""The last thing that a run does: it looks at what it left, so that the next one need not."""

from __future__ import annotations

from concurrent.futures import Future

from slowwave.store.errors import StoreError

from .aside import begin_aside
from .errors import ConsolidationError
from .interruption import Interruption, OutOfTime
from .looking import Looker
from .notebook import Found
from .safety import SafetyNet

# How often a long look asks whether the run is to end.
_PATIENCE_S = 0.05
# As many things as a look asks for of 10,000 memories, more or less: it takes a second or two.
_SHORT = 30_000
# The share of what a look asked for that was new, from which on finding it out took by far the most
# of its time.
_MUCH = 0.1


def settle(
    looker: Looker,
    first: Found,
    changed: bool,
    net: SafetyNet,
    interruption: Interruption,
) -> str | None:
    """Keep what was found out, and let the tenants rest in which nothing is left to do.

    first: what the run saw before it did anything; where it changed something since, that takes
    another look. All of it is kept for speed alone, and the run has ended: where the file cannot
    be written, the model not be loaded, or somebody interrupts, it is left for the next run. So it
    is where another look would take as long as the first, since little was new to that. Gives what
    went wrong, if anything did.
    """
    interruption.end()
    short = first.memos.size <= _SHORT or first.memos.new >= _MUCH * first.memos.size
    try:
        with interruption.limited():
            net.look()
            first.notebook.keep(first)
        found: Found | None = first
        if changed:
            if not short:
                return None
            again = begin_aside(lambda: looker.look(memos=first.memos).found)
            found = _awaited(again, interruption)
        if found is not None:
            with interruption.limited():
                found.notebook.keep(found)
                found.notebook.keep_words(found)
    except (StoreError, ConsolidationError) as error:
        return error.message
    except OutOfTime:
        return None
    return None


def _awaited(found: Future[Found], interruption: Interruption) -> Found | None:
    """Give what a look finds once it is there, or None if somebody interrupts."""
    while not interruption.asked:
        try:
            return found.result(_PATIENCE_S)
        except TimeoutError:
            continue
    return None
