"""Ctrl-C and SIGTERM: they end a command at once, and a run with its report."""

from __future__ import annotations

import signal
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from types import FrameType

from slowwave.consolidation.runtime.interruption import Interruption

# How often an interrupted command is reminded that it was to end.
_EVERY_S = 0.25


class CaughtSignals(Interruption):
    """Knows the signal that came first, as a number; None if none did."""

    number: int | None = None

    @property
    def code(self) -> int | None:
        """The exit code that says so; None, too, if the run had ended by then."""
        return 128 + self.number if self.number is not None and self.counts else None

    def hear(self, number: int, frame: FrameType | None) -> None:
        """Handle a signal. The first one decides about the exit code."""
        if self.number is None:
            self.number = number
            signal.setitimer(signal.ITIMER_REAL, _EVERY_S, _EVERY_S)
        self.ask()

    def handle_timer(self, number: int, frame: FrameType | None) -> None:
        """Handle the timer that the first signal has started."""
        self.remind()


_CAUGHT: ContextVar[CaughtSignals] = ContextVar("caught")


@contextmanager
def caught_signals() -> Iterator[CaughtSignals]:
    """Turn SIGINT and SIGTERM into KeyboardInterrupt, once, and remember which it was."""
    caught = CaughtSignals()
    handlers = {
        signal.SIGINT: caught.hear,
        signal.SIGTERM: caught.hear,
        signal.SIGALRM: caught.handle_timer,
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
            # After one signal the process is about to end; a second one must not change the code.
            signal.signal(number, handler if caught.number is None else signal.SIG_IGN)


def _report_unraisable(one: sys.UnraisableHookArgs) -> None:
    """Keep quiet about an interruption that Python dropped within a destructor: it comes again."""
    if not isinstance(one.exc_value, KeyboardInterrupt):
        sys.__unraisablehook__(one)


def signals_of_this_command() -> CaughtSignals:
    """Return what the signals to the command that is running are reported to."""
    return _CAUGHT.get()
