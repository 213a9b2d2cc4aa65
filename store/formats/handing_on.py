"""What was said about a memory is said about the one that stands for it, and given back with it.

An importance, a trigger, a reason: a mark. What a memory took over is worked out anew each time,
from how it stood by itself and from all that it stands for, so that each undo, in whatever order,
ends where it should.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from .base import Heir, Image

# Spells a memory with its own marks and with those of others.
Inherit = Callable[[str, Sequence[str]], str]


def hand_on(
    heir: Heir, current: str, left: Mapping[str, str], inherit: Inherit
) -> tuple[str, Image | None]:
    """Return how an heir is to be spelled, and what is to be kept of how it stood before.

    left: how each memory was spelled that it stands for.
    """
    order = sorted(heir.stands_for)
    own = heir.own
    if own is not None and current not in own["as"]:
        # Its agent changed it: what is there is the agent's by now, and nothing is taken out.
        leaving = [left[one] for one in order if heir.stands_for[one] is None]
        return inherit(current, leaving), own
    alone = current if own is None else str(own["raw"])
    spelled = inherit(alone, [left[one] for one in order])
    # Both are ours: a run may be killed before the file is written, or behind it.
    return spelled, None if spelled == alone else {"raw": alone, "as": [current, spelled]}
