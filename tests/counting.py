"""Counts of calls, and how many examples hypothesis tries."""

from __future__ import annotations

import sys
import threading
from collections import Counter
from collections.abc import Callable
from types import FrameType
from typing import Any

from hypothesis import settings


def examples(count: int) -> int:
    """Return how many examples to try: fewer in `make test-fast`."""
    return min(count, settings().max_examples)


def calls(work: Callable[[], object], module: str = "") -> int:
    """Count the calls of functions, or of those that are defined in one file."""
    count = 0

    def note(frame: FrameType, event: str, _: object) -> None:
        nonlocal count
        count += event in ("call", "c_call") and frame.f_code.co_filename.endswith(module)

    sys.setprofile(note)
    try:
        work()
    finally:
        sys.setprofile(None)
    return count


def work_of(work: Callable[[], object], **functions: Callable[..., Any]) -> Counter[str]:
    """Count the calls of functions, by the names given, and SQL statements, in all new threads.

    A call with a list counts once for each of its elements.
    """
    names = {function.__code__: name for name, function in functions.items()}
    counts: Counter[str] = Counter()

    def note(frame: FrameType, event: str, called: Any) -> None:
        if event == "call" and frame.f_code in names:
            argument = next(iter(frame.f_locals.values()))
            counts[names[frame.f_code]] += len(argument) if isinstance(argument, list) else 1
        elif event == "c_call" and called.__name__ in ("execute", "executemany"):
            counts["statements"] += 1

    threading.setprofile(note)
    sys.setprofile(note)
    try:
        work()
    finally:
        sys.setprofile(None)
        threading.setprofile(None)  # type: ignore[arg-type]  # typeshed lacks None
    return counts
