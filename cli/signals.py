"""Ctrl-C and SIGTERM end a run between two changes, never inside one."""

from __future__ import annotations

import signal
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from types import FrameType

from .exits import Code


@dataclass
class Caught:
    """Which signal came, as an exit code; None if none did."""

    code: Code | None = None


@contextmanager
def caught_signals() -> Iterator[Caught]:
    """Turn SIGINT and SIGTERM into KeyboardInterrupt, and remember which it was."""
    caught = Caught()

    def interrupt(number: int, frame: FrameType | None) -> None:
        caught.code = Code.INTERRUPTED if number == signal.SIGINT else Code.TERMINATED
        raise KeyboardInterrupt

    before = {
        number: signal.signal(number, interrupt) for number in (signal.SIGINT, signal.SIGTERM)
    }
    try:
        yield caught
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
