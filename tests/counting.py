"""How much work is done, counted in calls: a clock tells little on a busy machine."""

from __future__ import annotations

import sys
from collections.abc import Callable
from types import FrameType


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
