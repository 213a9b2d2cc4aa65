"""The marks of a memory go to the one that replaces it, and come back with it.

An importance, a trigger, a reason: a mark. What a memory took over is worked out anew each time,
from how it stood by itself and from all that it stands for, so that each undo, in whatever order,
ends where it should.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from .base import Image, Successor

# Spells a memory with its own marks and with those of others.
Inherit = Callable[[str, Sequence[str]], str]


def inherit_marks(
    successor: Successor, current: str, left: Mapping[str, str], inherit: Inherit
) -> tuple[str, Image | None]:
    """Return the text of a successor with all marks, and the image of it without those of others.

    left: how each memory was spelled that it stands for.
    """
    order = sorted(successor.stands_for)
    own = successor.own
    if own is not None and current not in own["as"]:
        # Its agent edited it since: these marks are the agent's now, and none is removed.
        leaving = [left[one] for one in order if successor.stands_for[one] is None]
        return inherit(current, leaving), own
    alone = current if own is None else str(own["raw"])
    spelled = inherit(alone, [left[one] for one in order])
    # Both are ours: a run may be killed before the file is written, or behind it.
    return spelled, None if spelled == alone else {"raw": alone, "as": [current, spelled]}
