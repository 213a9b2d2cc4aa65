"""In whose company a thing stands.

A word of a draft says what it says in a source only if it stands there among the same others.
That tells "Ann oils the vent, Ben the door" from "Ann oils the door, Ben the vent", and finds what
was moved to where it is not true: "sold for 7 euros" of one thing, where another is meant.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence

from .statements import Statement

# The least share of the things near a thing that must be near it in both texts.
_COMPANY = 0.34
# What a thing weighs that every text names: it tells nothing apart.
TOPIC = 0.1
# So many things side by side, in the same order, are a statement of their own.
_PHRASE = 3

Weights = Mapping[str, float]


def weights_of(texts: Sequence[Sequence[Statement]]) -> Weights:
    """Give how much each thing tells apart: the less, the more of the texts name it."""
    named = [frozenset().union(*(one.keys for one in statements)) for statements in texts]
    counts = Counter(key for keys in named for key in keys)
    others = max(1, len(texts) - 1)
    return {key: max(TOPIC, 1 - (count - 1) / others) for key, count in counts.items()}


def in_company(key: str, here: Statement, there: Statement, weights: Weights) -> bool:
    """Whether some of the things near a thing in one statement are in the other, too."""
    return any(
        _share(side, other.context, weights) >= _COMPANY
        for one, other in ((here, there), (there, here))
        for at in one.places.get(key, ())
        for side in one.sides(at, at + 1)
    )


def in_place(key: str, here: Statement, there: Statement, weights: Weights) -> bool:
    """Whether a thing stands in the same company without what is part of it.

    What stands right beside it in both, as "customers" beside "new", says nothing about where the
    two belong.
    """
    if key not in here.places or key not in there.places:
        return in_company(key, here, there, weights)
    return any(
        _stretch_in_place(here, at, there, spot, weights)
        for at in here.places[key]
        for spot in there.places[key]
    )


def likeness(left: frozenset[str], right: frozenset[str], weights: Weights) -> float:
    """Give the weighted share of the things of both that both name."""
    return _share(left | right, left & right, weights)


def share_told(keys: frozenset[str], others: frozenset[str], weights: Weights) -> float:
    """Give the weighted share of things that are among others; what no text names counts fully."""
    whole = sum(weights.get(key, 1.0) for key in keys)
    return sum(weights.get(key, 1.0) for key in keys & others) / whole if whole else 1.0


def _stretch_in_place(
    here: Statement, at: int, there: Statement, spot: int, weights: Weights
) -> bool:
    before, after = _stretch(here.order, at, there.order, spot)
    if before + after >= _PHRASE:
        return True
    near = here.sides(at - before, at + after)
    others = there.sides(spot - before, spot + after)
    if not near or not others:
        return True
    return any(_share(side, there.setting, weights) >= _COMPANY for side in near) or any(
        _share(side, here.setting, weights) >= _COMPANY for side in others
    )


def _stretch(keys: Sequence[str], at: int, others: Sequence[str], spot: int) -> tuple[int, int]:
    """Give how far two texts name the same things, to the left and to the right of a place."""
    before, after = 0, 1
    while min(at, spot) > before and keys[at - before - 1] == others[spot - before - 1]:
        before += 1
    while (
        max(at + after - len(keys), spot + after - len(others)) < 0
        and keys[at + after] == others[spot + after]
    ):
        after += 1
    return before, after


def _share(near: frozenset[str], others: frozenset[str], weights: Weights) -> float:
    """Give the weighted share of things that are among others; what no text names is left out."""
    known = {key: weights[key] for key in near if key in weights}
    whole = sum(known.values())
    return sum(weight for key, weight in known.items() if key in others) / whole if whole else 0.0
