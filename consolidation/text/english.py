"""Whether a text is English: what the rules and the packaged model's words are made for.

Told by closed classes of words (articles, pronouns, prepositions, conjunctions) of the languages
that agents' users write most, after the stop lists of the Snowball project (snowballstem.org),
without those that are English words as well. A text of two languages counts as not English.
"""

from __future__ import annotations

import unicodedata
from functools import lru_cache

from slowwave.consolidation import thresholds

from . import lexicon
from .lexicon import word_set
from .reading import Reading

_FOREIGN = frozenset().union(
    # German
    word_set(
        "der das den dem ein eine einen einem einer und oder nicht ist sind wird werden mit für"
    ),
    word_set("von vom zum zur auf bei nach aus wenn dass sich ich wir ihr sie kein keine nur noch"),
    word_set("auch bitte immer nie vor jeden jede über wegen"),
    # French
    word_set(
        "le la les une du et est sont dans pour avec sur pas ne elle nous vous ses leur que qui"
    ),
    word_set("chez aux"),
    # Spanish and Portuguese
    word_set("el los las una unos y para se su sus al más pero os uma não é em ao das"),
    # Italian and Dutch
    word_set("il gli di che sono nel della het een niet voor zijn naar"),
)

# English function words that are words of those languages as well: they tell nothing.
_SHARED = word_set("a am an as at da die do has he i in is me more no on so war was we")


@lru_cache(maxsize=8_192)
def is_english(reading: Reading) -> bool:
    """Whether a text is written in English, and in English alone."""
    if not _is_latin(reading.text):
        return False
    words = [token.lower for token in reading.tokens]
    foreign = sum(word in _FOREIGN for word in words)
    own = sum(word in lexicon.FUNCTION and word not in _SHARED for word in words)
    if foreign >= thresholds.FOREIGN_WORDS or (foreign and not own):
        return False
    # The dictionary knows names of all countries.
    unnamed = [token.lower for token in reading.tokens if not token.capitalised]
    return bool(own) or _is_known(unnamed or words)


def _is_latin(text: str) -> bool:
    """Whether all letters are Latin, but for the Greek ones that stand for units."""
    return all(
        "LATIN" in unicodedata.name(letter, "") or letter in "µμΩ"
        for letter in text
        if letter.isalpha() and not letter.isascii()
    )


def _is_known(words: list[str]) -> bool:
    """Whether an English dictionary knows enough of some words."""
    import simplemma

    spelled = [word for word in words if word.isalpha() and len(word) >= thresholds.SHORTEST_KNOWN]
    known = sum(simplemma.is_known(word, lang="en") for word in spelled)
    return known >= thresholds.KNOWN_WORDS * len(spelled)
