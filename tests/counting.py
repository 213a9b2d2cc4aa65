"""How much work is done, counted in calls, and how often hypothesis tries."""

from __future__ import annotations

import sys
from collections.abc import Callable
from types import FrameType

from hypothesis import settings


def examples(count: int) -> int:
    """Return how many examples to try: fewer in `make test-fast`."""
    return min(count, settings().max_examples)


def calls(work: Callable[[], object], of: str = "") -> int:
    """Count the calls of functions, or of those that are defined in one file."""
    count = 0

    def note(frame: FrameType, event: str, _: object) -> None:
        nonlocal count
        count += event in ("call", "c_call") and frame.f_code.co_filename.endswith(of)

    sys.setprofile(note)
    try:
        work()
    finally:
        sys.setprofile(None)
    return count
