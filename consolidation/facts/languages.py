"""Which language a text is in, and how other languages spell a value.

simplemma knows the words, Babel the calendars (CLDR), text2num the numbers. The last two are only
imported if a value is missing in English.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import lru_cache

from slowwave.consolidation.thresholds import KNOWN_WORDS

_CALENDARS = "de fr es it nl pt sv da nb fi pl cs hu ro tr el ru uk"
_NUMBERS = "de fr es it nl pt"
_WORD = re.compile(r"[^\W\d_]+")
_SHORT = 3


def is_english(text: str) -> bool:
    """Whether a text is English."""
    return is_written_in("en", text)


def has_weekday(text: str, weekday: int) -> bool:
    """Whether a text in lower case names a day of the week (Monday is 0) in any language."""
    return re.search(_any_name(_calendar_names("days", weekday)), text) is not None


def has_month(text: str, month: int, day: str | None) -> bool:
    """Whether a text in lower case names a month, 1 to 12, in any language, next to its day."""
    names = _any_name(_calendar_names("months", month))
    if day is None:
        return re.search(names, text) is not None
    number = rf"(?<!\d)0?{int(day)}(?!\d)"
    return re.search(rf"{number}\.?(?: de| of)? ?{names}|{names} {number}", text) is not None


def in_digits(text: str) -> Iterator[str]:
    """Yield a text with its number words in digits, for each language that has some of them."""
    from text_to_num import alpha2digit

    for language in _NUMBERS.split():
        if (read := alpha2digit(text, language, threshold=0)) != text:
            yield read


def is_written_in(language: str, text: str) -> bool:
    """Whether the dictionary of a language has enough of a text's words, apart from names."""
    import simplemma

    words = _WORD.findall(text)
    words = [word for word in words if word.islower()] or [word.lower() for word in words]
    known = sum(simplemma.is_known(word, language) for word in words)
    return known > KNOWN_WORDS * len(words) or not words


def _any_name(names: frozenset[str]) -> str:
    """Return a pattern for any of the names; a long one may have an ending."""
    ways = (re.escape(name) + (r"\w{0,3}" if len(name) > _SHORT else "") for name in names)
    return rf"(?<!\w)(?:{'|'.join(ways)})(?!\w)"


@lru_cache(maxsize=64)
def _calendar_names(what: str, at: int) -> frozenset[str]:
    from babel import Locale

    return frozenset(
        getattr(Locale(language), what)[use][width][at].lower().rstrip(".")
        for language in _CALENDARS.split()
        for use in ("format", "stand-alone")
        for width in ("wide", "abbreviated")
    )
