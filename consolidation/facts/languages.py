"""How other languages spell a value: looked up only where a value is missing in English.

Babel has the calendars (CLDR), text2num the numbers; neither is imported before.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import lru_cache

_CALENDARS = "de fr es it nl pt sv da nb fi pl cs hu ro tr el ru uk"
_NUMBERS = "de fr es it nl pt"
# Words that no other of these languages has: German writes all nouns with a capital.
_GERMAN = "der die das und ist nicht ein eine im den dem für mit zu um nur auch wir"
_ENGLISH = "the and of is are was for with to at on by it has"
_FEW_WORDS = 8
_SHORT = 3


def is_german(text: str) -> bool:
    """Whether a text is German."""
    return _has_words_of(_GERMAN, text)


def is_english(text: str) -> bool:
    """Whether a text is English."""
    return _has_words_of(_ENGLISH, text)


def has_weekday(text: str, weekday: int) -> bool:
    """Whether a text in small letters names a day of the week, Monday is 0, in any language."""
    return re.search(_any_name(_calendar_names("days", weekday)), text) is not None


def has_month(text: str, month: int, day: str | None) -> bool:
    """Whether a text in small letters names a month, 1 to 12, in any language, next to its day."""
    names = _any_name(_calendar_names("months", month))
    if day is None:
        return re.search(names, text) is not None
    number = rf"(?<!\d)0?{int(day)}(?!\d)"
    return re.search(rf"{number}\.?(?: de| of)? ?{names}|{names} {number}", text) is not None


def in_digits(text: str) -> Iterator[str]:
    """Yield a text as each language reads it that has number words in it, with those in digits."""
    from text_to_num import alpha2digit

    for language in _NUMBERS.split():
        if (read := alpha2digit(text, language, threshold=0)) != text:
            yield read


def _has_words_of(words: str, text: str) -> bool:
    said = re.findall(r"\w+", text.lower())
    found = len(set(words.split()).intersection(said))
    return found > 1 or found * _FEW_WORDS >= len(said) > 0


def _any_name(names: frozenset[str]) -> str:
    """Return a pattern for any of some names; a long one may have an ending."""
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
