"""Decay scores: they halve with time and rise with use.

Scores are computed on demand and not stored, so they cannot be out of date.
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

# In hours; None does not decay.
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
    # The number of scores below one half: unused for more than a half-life, and rarely used.
    faded: int


def score(memory: MemoryAge, now: int) -> float:
    """Return 2^(-hours since the last use / half-life) + min(0.02 x accesses, 0.3).

    now: seconds since 1970. Being stored or restated counts as a use.
    """
    half_life = HALF_LIVES[memory.layer]
    hours = max(0, now - memory.last_used) / _HOUR_S
    left = 1.0 if half_life is None else 2 ** (-hours / half_life)
    return left + min(ACCESS_WEIGHT * memory.access_count, MOST_FOR_ACCESS)


def scores_by_layer(memories: Iterable[MemoryAge], now: int) -> tuple[LayerScores, ...]:
    """Return the scores of each layer, from `ephemeral` to `core`."""
    scores: dict[str, list[float]] = {layer: [] for layer in LAYERS}
    for memory in memories:
        scores[memory.layer].append(score(memory, now))
    return tuple(
        LayerScores(
            layer,
            len(found),
            round(min(found), 4),
            round(sum(found) / len(found), 4),
            sum(value < 1 / 2 for value in found),
        )
        for layer, found in scores.items()
        if found
    )
