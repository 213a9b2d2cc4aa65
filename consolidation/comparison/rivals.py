"""Whether two texts say the same but for one value, a negation, or the order of their words.

Which of the two is true, or whether both are, cannot be looked up: a person or a model decides.
"""

from __future__ import annotations

from typing import NamedTuple

from slowwave.consolidation.facts.reading import VERBATIM, Reading, outside
from slowwave.consolidation.facts.values import TextValue
from slowwave.consolidation.text.tokens import stems_of
from slowwave.consolidation.thresholds import RIVAL_MATTER

from .vetoes import is_reordered, parts_of

# The maximum number of function words of a negation: "we do not".
_MAX_FUNCTION_WORDS = 3
# With fewer common words, two texts may be about anything.
_MIN_SHARED = 2
# A unit by itself is not a value.
_PARTIAL = frozenset({"rate", "unit"})
_SAME_REST = "otherwise the same"


class Rivalry(NamedTuple):
    """What two texts disagree about, what each of them says, and a sentence about it."""

    slot: str
    values: tuple[str, str]
    why: str


def matter_of(reading: Reading) -> frozenset[str]:
    """Return the stems of what a text is about: its content words outside its values."""
    free = outside(reading.tokens, reading.values)
    return frozenset(stem for token in free for stem in stems_of(token.bare))


def find_rivalry(left: Reading, right: Reading) -> Rivalry | None:
    """Return what two texts disagree about; None if they differ in more, or in nothing."""
    here, there = matter_of(left), matter_of(right)
    both = here & there
    if len(both) < _MIN_SHARED and here != there:
        return None
    if not (here <= there or there <= here) or len(both) < RIVAL_MATTER * len(here | there):
        return None
    left_values, right_values = _values_of(left, right), _values_of(right, left)
    if left_values or right_values:
        rests = [
            {token.bare for token in outside(reading.tokens, reading.values)}
            for reading in (left, right)
        ]
        why = _SAME_REST if rests[0] == rests[1] else "other words differ, too"
        return _of_values(left_values, right_values, why)
    if here != there:
        return None
    left_words, right_words = parts_of(left), parts_of(right)
    if bool(left.negators) != bool(right.negators):
        different = {*left_words} ^ {*right_words}
        if len(different) <= _MAX_FUNCTION_WORDS + 1 and not is_reordered(left_words, right_words):
            texts = left.text, right.text
            return Rivalry("denial", texts, "one denies the other")
    elif {*left_words} == {*right_words} and is_reordered(left_words, right_words):
        return Rivalry("order", (left.text, right.text), "the same words in another order")
    else:
        left_only, right_only = left.words - right.words, right.words - left.words
        if len(left_only) == len(right_only) == 1:
            (word,), (rival,) = left_only, right_only
            if {*word.split("-")} & {*rival.split("-")}:
                return Rivalry("word", (word, rival), _SAME_REST)
    return None


def _values_of(reading: Reading, rival: Reading) -> dict[str, TextValue]:
    """Return the values of a text that another one lacks, by their norms."""
    return {
        value.norm: value
        for value in reading.values
        if value.kind not in _PARTIAL and not rival.known.allows(value)
    }


def _of_values(left: dict[str, TextValue], right: dict[str, TextValue], why: str) -> Rivalry | None:
    """Return the one value in which two texts differ, unless it names their subject."""
    if not len(left) == len(right) == 1:
        return None
    (value,), (rival,) = left.values(), right.values()
    if value.measures.isdisjoint(rival.measures) or value.kind in VERBATIM:
        return None
    return Rivalry(value.kind, (value.words, rival.words), why)
