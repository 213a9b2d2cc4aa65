"""Whether two texts say the same except for one value or a negation.

Which of the two is true, or whether both are, cannot be looked up: a person or a model decides.
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import NamedTuple

from slowwave.consolidation.facts.languages import is_calendar_word
from slowwave.consolidation.facts.specifics import find_specifics, letters_of
from slowwave.consolidation.text.tokens import content_words, words_in
from slowwave.consolidation.thresholds import RIVAL_MATTER

# With fewer common words, two texts may be about anything.
_MIN_SHARED = 2
# The maximum number of words of a negation: "we do not".
_MAX_NEGATION = 4
_NEGATION = re.compile(r"\b(?:not?|never|nobody|nothing|none|cannot|without)\b|\w+n['’]t\b", re.I)


class Rivalry(NamedTuple):
    """What two texts disagree about, what each of them says, and a sentence about it."""

    slot: str
    values: tuple[str, str]
    why: str


def matter_of(text: str) -> frozenset[str]:
    """Return what a text is about: its content words without its values."""
    return frozenset(
        word
        for word in content_words(text)
        if not (is_calendar_word(word) or _NEGATION.match(word))
    )


def find_rivalry(left: str, right: str) -> Rivalry | None:
    """Return what two texts disagree about; None if they differ in more, or in nothing."""
    left_words, right_words = matter_of(left), matter_of(right)
    shared, all_words = left_words & right_words, left_words | right_words
    if len(shared) < min(_MIN_SHARED, len(all_words)):
        return None
    if shared not in (left_words, right_words) or len(shared) < RIVAL_MATTER * len(all_words):
        return None
    kinds = "identifier", "path", "url"
    left_ids, right_ids = (_by_letters(text, kinds).keys() for text in (left, right))
    if left_ids - right_ids and right_ids - left_ids:
        return None  # different things
    left_values, right_values = _values_of(left), _values_of(right)
    left_only = [left_values[value] for value in left_values.keys() - right_values.keys()]
    right_only = [right_values[value] for value in right_values.keys() - left_values.keys()]
    if len(left_only) == len(right_only) == 1:
        why = "otherwise the same" if left_words == right_words else "other words differ, too"
        return Rivalry("value", (left_only[0], right_only[0]), why)
    differing = set(words_in(left)) ^ set(words_in(right))
    if left_only or right_only or left_words != right_words or len(differing) > _MAX_NEGATION:
        return None
    denial = Rivalry("denial", (left, right), "one denies the other")
    return denial if is_negated(left) != is_negated(right) else None


def is_negated(text: str) -> bool:
    """Whether a text has a word that negates."""
    return _NEGATION.search(text) is not None


@lru_cache(maxsize=4_096)
def _values_of(text: str) -> dict[str, str]:
    """Return the numbers, days and months of a text, as they are written, by their letters."""
    days = filter(is_calendar_word, words_in(text))
    return _by_letters(text, ("number",)) | {" ".join(letters_of(day)): day for day in days}


def _by_letters(text: str, kinds: tuple[str, ...]) -> dict[str, str]:
    """Return the specifics of some kinds by their letters."""
    specifics = (specific.words for specific in find_specifics(text) if specific.kind in kinds)
    return {" ".join(letters_of(words)): words for words in specifics}
