"""How other languages spell a value: looked up only where a value is missing in English.

Babel has the calendars (CLDR), text2num the numbers; neither is imported before.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import lru_cache

_CALENDARS = "de fr es it nl pt sv da nb fi pl cs hu ro tr el ru uk ja zh ko"
_NUMBERS = "de fr es it nl pt da"
# Words that only German has: it writes all nouns with a capital.
_GERMAN = frozenset(
    ("der", "das", "und", "ist", "nicht", "ein", "eine", "im", "den", "dem", "für", "mit", "zu")
)
_FEW_WORDS = 8
_SHORT = 3


@lru_cache(maxsize=64)
def weekday_names(weekday: int) -> frozenset[str]:
    """Return the names of a day of the week, Monday is 0, in small letters."""
    return frozenset(_calendar_names("days", weekday))


@lru_cache(maxsize=64)
def month_names(month: int) -> frozenset[str]:
    """Return the names of a month, 1 to 12, in small letters."""
    return frozenset(_calendar_names("months", month))


def in_digits(text: str) -> Iterator[str]:
    """Yield a text as each language reads it that has number words in it, with those in digits."""
    from text_to_num import alpha2digit

    for language in _NUMBERS.split():
        if (read := alpha2digit(text, language, threshold=0)) != text:
            yield read


def has_word(text: str, names: frozenset[str]) -> bool:
    """Whether a text in small letters has one of some names as a word, a long one with an ending.

    Chinese, Japanese and Korean have no spaces between words.
    """
    return any(
        re.search(rf"(?<!\w){re.escape(name)}" + ("" if len(name) > _SHORT else r"(?!\w)"), text)
        if name.isascii() or name[0].isupper() or name[0].islower()
        else name in text
        for name in names
        if len(name) > 1
    )


def capitalises_nouns(text: str) -> bool:
    """Whether a text is German."""
    words = re.findall(r"\w+", text.lower())
    found = len(_GERMAN.intersection(words))
    return found > 1 or found * _FEW_WORDS >= len(words) > 0


def _calendar_names(what: str, at: int) -> Iterator[str]:
    from babel import Locale

    for language in _CALENDARS.split():
        names = getattr(Locale(language), what)
        for use in ("format", "stand-alone"):
            for width in ("wide", "abbreviated"):
                yield names[use][width][at].lower().rstrip(".")
