"""Whether two texts say the same but for one value, a denial, or the order of their words.

Nobody knows by looking which of the two holds, or whether both do: a person or a model decides.
"""

from __future__ import annotations

from typing import NamedTuple

from slowwave.consolidation.facts.reading import Reading, outside
from slowwave.consolidation.facts.values import TextValue
from slowwave.consolidation.text.tokens import stems_of
from slowwave.consolidation.thresholds import RIVAL_MATTER

from .vetoes import NAMING, is_reordered, parts_of

# How many little words a denial may bring along: "we do not", "not any more".
_MOST_LITTLE_WORDS = 3
# Of fewer words in common nobody can tell what two texts are about.
_FEWEST_SHARED = 2
# A unit by itself is no value of its own.
_PARTIAL = frozenset({"rate", "unit"})


class Rivalry(NamedTuple):
    """What two texts disagree about, what each of them says of it, and how."""

    slot: str
    values: tuple[str, str]
    why: str


def matter_of(reading: Reading) -> frozenset[str]:
    """Return the stems of what a text is about: its content words but for those of its values."""
    free = outside(reading.tokens, reading.values)
    return frozenset(stem for token in free for stem in stems_of(token.bare))


def find_rivalry(left: Reading, right: Reading) -> Rivalry | None:
    """Find what two texts disagree about; None if they differ in more, or in nothing."""
    here, there = matter_of(left), matter_of(right)
    both = here & there
    if len(both) < _FEWEST_SHARED and here != there:
        return None
    if not (here <= there or there <= here) or len(both) < RIVAL_MATTER * len(here | there):
        return None
    own, others_own = _values_of(left, right), _values_of(right, left)
    if own or others_own:
        return _of_values(own, others_own)
    if here != there:
        return None
    words, others = parts_of(left), parts_of(right)
    if bool(left.negators) != bool(right.negators):
        little = {*words} ^ {*others}
        if len(little) <= _MOST_LITTLE_WORDS + 1 and not is_reordered(words, others):
            texts = left.text, right.text
            return Rivalry("denial", texts, "one of them denies what the other says")
    elif {*words} == {*others} and is_reordered(words, others):
        return Rivalry("order", (left.text, right.text), "the same words in another order")
    else:
        own_words, others_words = left.words - right.words, right.words - left.words
        if len(own_words) == len(others_words) == 1:
            (word,), (other,) = own_words, others_words
            if {*word.split("-")} & {*other.split("-")}:
                return Rivalry("word", (word, other), "they say the same but for this")
    return None


def _values_of(reading: Reading, other: Reading) -> dict[str, TextValue]:
    """Return the values of a text that another one lacks, by what they mean."""
    return {
        value.norm: value
        for value in reading.values
        if value.kind not in _PARTIAL and not other.known.allows(value)
    }


def _of_values(own: dict[str, TextValue], others_own: dict[str, TextValue]) -> Rivalry | None:
    """Return the one value in which two texts differ, if it is no name of what they are about."""
    if not len(own) == len(others_own) == 1:
        return None
    (value,), (rival,) = own.values(), others_own.values()
    if value.measures.isdisjoint(rival.measures) or value.kind in NAMING:
        return None
    return Rivalry(value.kind, (value.words, rival.words), "they say the same but for this")
