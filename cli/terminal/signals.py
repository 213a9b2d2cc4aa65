"""SIGINT and SIGTERM: they end a command at once, and a run after its report."""

from __future__ import annotations

import signal
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from types import FrameType

from slowwave.consolidation.runtime.interruption import Interruption

# How often an interrupted command is reminded to end.
_REMINDER_INTERVAL_S = 0.25


class CaughtSignals(Interruption):
    """An interruption by a signal. `number`: the first signal; None if there was none."""

    number: int | None = None

    @property
    def code(self) -> int | None:
        """The exit code of the signal; None if there was none, or the run had ended before."""
        return 128 + self.number if self.number is not None and self.counts else None

    def hear(self, number: int, frame: FrameType | None) -> None:
        """Handle a signal. The first one determines the exit code."""
        if self.number is None:
            self.number = number
            signal.setitimer(signal.ITIMER_REAL, _REMINDER_INTERVAL_S, _REMINDER_INTERVAL_S)
        self.request()


_CAUGHT: ContextVar[CaughtSignals] = ContextVar("caught")


@contextmanager
def caught_signals() -> Iterator[CaughtSignals]:
    """Raise KeyboardInterrupt once for SIGINT or SIGTERM, and record which it was."""
    caught = CaughtSignals()
    handlers = {
        signal.SIGINT: caught.hear,
        signal.SIGTERM: caught.hear,
        # The timer that the first signal started.
        signal.SIGALRM: lambda number, frame: caught.remind(),
    }
    token = _CAUGHT.set(caught)
    before = {number: signal.signal(number, handler) for number, handler in handlers.items()}
    previous_hook, sys.unraisablehook = sys.unraisablehook, _report_unraisable
    try:
        yield caught
    finally:
        caught.close()
        signal.setitimer(signal.ITIMER_REAL, 0)
        _CAUGHT.reset(token)
        sys.unraisablehook = previous_hook
        for number, handler in before.items():
            # After a signal, the process is about to end; another one must not change the code.
            signal.signal(number, handler if caught.number is None else signal.SIG_IGN)


def _report_unraisable(dropped: sys.UnraisableHookArgs) -> None:
    """Ignore an interruption that Python dropped within a destructor: it is raised again."""
    if not isinstance(dropped.exc_value, KeyboardInterrupt):
        sys.__unraisablehook__(dropped)


def signals_of_this_command() -> CaughtSignals:
    """Return the interruption by signals of the command that is running."""
    return _CAUGHT.get()
