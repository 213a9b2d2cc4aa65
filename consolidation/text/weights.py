"""How alike two statements are by the things that they name.

A thing that every text names tells nothing apart, and weighs little.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence

from slowwave.consolidation.thresholds import COMMON_THING_WEIGHT

from .statements import Statement

Weights = Mapping[str, float]


def weights_of(texts: Sequence[Sequence[Statement]]) -> Weights:
    """Return how much each thing tells apart: the less, the more of the texts name it."""
    named = [frozenset().union(*(one.keys for one in statements)) for statements in texts]
    counts = Counter(key for keys in named for key in keys)
    others = max(1, len(texts) - 1)
    return {
        key: max(COMMON_THING_WEIGHT, 1 - (count - 1) / others) for key, count in counts.items()
    }


def likeness(left: frozenset[str], right: frozenset[str], weights: Weights) -> float:
    """Return the weighted share of the things of both that both name."""
    if left.isdisjoint(right):
        return 0.0
    return _share(left | right, left & right, weights)


def share_covered(keys: frozenset[str], others: frozenset[str], weights: Weights) -> float:
    """Return the weighted share of things among others; what no text names counts fully."""
    whole = sum(weights.get(key, 1.0) for key in keys)
    return sum(weights.get(key, 1.0) for key in keys & others) / whole if whole else 1.0


def _share(near: frozenset[str], others: frozenset[str], weights: Weights) -> float:
    """Return the weighted share of things that are among others; what no text names is left out."""
    known = {key: weights[key] for key in near if key in weights}
    whole = sum(known.values())
    return sum(weight for key, weight in known.items() if key in others) / whole if whole else 0.0
