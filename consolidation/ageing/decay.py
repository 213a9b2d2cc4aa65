"""How much of a memory is left: a score that halves with time and rises with use.

It is worked out whenever it is asked for, from what the file says anyway: nothing is written, so
nothing can be out of date.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from slowwave.consolidation.thresholds import (
    ACCESS_WEIGHT,
    EPHEMERAL_HALF_LIFE_H,
    MOST_FOR_ACCESS,
    STABLE_HALF_LIFE_H,
    WORKING_HALF_LIFE_H,
)
from slowwave.store.ageing import MemoryAge
from slowwave.store.records import LAYERS

# In hours; None: what is learned for good does not fade.
HALF_LIVES: dict[str, float | None] = {
    "ephemeral": EPHEMERAL_HALF_LIFE_H,
    "working": WORKING_HALF_LIFE_H,
    "stable": STABLE_HALF_LIFE_H,
    "core": None,
}
_HOUR_S = 3_600


@dataclass(frozen=True)
class LayerScores:
    """The scores of a layer's active memories."""

    layer: str
    memories: int
    lowest: float
    mean: float
    # How many are below one half: not used for more than a half-life, and rarely before.
    faded: int


def score(memory: MemoryAge, now: int) -> float:
    """Return 2^(-hours since the last use / half-life) + min(0.02 x accesses, 0.3).

    now: seconds since 1970. To be stored, or said again, is a use, too.
    """
    half_life = HALF_LIVES[memory.layer]
    hours = max(0, now - memory.last_used) / _HOUR_S
    left = 1.0 if half_life is None else 2 ** (-hours / half_life)
    return left + min(ACCESS_WEIGHT * memory.access_count, MOST_FOR_ACCESS)


def scores_by_layer(memories: Iterable[MemoryAge], now: int) -> tuple[LayerScores, ...]:
    """Return what the memories' scores are, layer by layer, from the least settled on."""
    scores: dict[str, list[float]] = {layer: [] for layer in LAYERS}
    for one in memories:
        scores[one.layer].append(score(one, now))
    return tuple(
        LayerScores(
            layer,
            len(found),
            round(min(found), 4),
            round(sum(found) / len(found), 4),
            sum(one < 1 / 2 for one in found),
        )
        for layer, found in scores.items()
        if found
    )
