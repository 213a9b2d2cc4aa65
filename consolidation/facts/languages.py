"""Words, dates and numbers as words, in the languages of simplemma, Babel (CLDR) and text2num.

These are only imported to look up what a text has in another spelling than its sources.
"""

from __future__ import annotations

import calendar
import re
from collections.abc import Iterator
from datetime import date
from functools import cache, lru_cache
from typing import NamedTuple

from slowwave.consolidation.thresholds import KNOWN_WORDS
from slowwave.store.records import UNDATED

_CALENDARS = "en de fr es it nl pt sv da nb fi pl cs hu ro tr el ru uk"
_NUMBERS = "en de fr es it nl pt"
_ENGLISH = frozenset(map(str.lower, (*calendar.day_name, *calendar.month_name[1:])))
# Longer strings are not words, and take long to look up.
_MAX_WORD = 60
# Days between the day of a memory and what its "next Tuesday" or "the 29th" may mean.
_REACH = 31


class Day(NamedTuple):
    """A day that a text names, and where; year: None if it is not named."""

    start: int
    end: int
    year: int | None
    month: int
    day: int

    def is_day(self, day: Day) -> bool:
        """Whether both may be the same day."""
        years = {self.year, day.year} - {None}
        return (self.month, self.day) == (day.month, day.day) and len(years) < 2

    def is_near(self, observed: date) -> bool:
        """Whether it is within a month of the day of an observation."""
        years = (self.year,) if self.year else (observed.year + step for step in (-1, 0, 1))
        days = filter(None, (_date(year, self.month, self.day) for year in years))
        return any(abs((day - observed).days) <= _REACH for day in days)


def is_calendar_word(word: str) -> bool:
    """Whether a word is the English name of a month or of a day of the week."""
    return word.lower().removesuffix("s") in _ENGLISH


@cache
def is_plain_word(word: str) -> bool:
    """Whether a word is in the English dictionary in lower case, and no name: "Kept", not "Tom"."""
    import simplemma

    return (
        len(word) > _MAX_WORD
        or (
            simplemma.is_known(word.lower().replace("\u2019", "'"), "en")
            and "'" in word.replace("\u2019", "'")
        )
        or all(
            simplemma.is_known(part.lower(), "en")
            and str(simplemma.lemmatize(part.capitalize(), "en")).islower()
            for part in re.findall(r"[^\W\d_]+", word)
        )
    )


@lru_cache(maxsize=64)
def is_english(text: str) -> bool:
    """Whether the English dictionary has enough of the words that a text has in lower case."""
    import simplemma

    words = [word for word in re.findall(r"[^\W\d_]+", text) if word.islower()]
    english = sum(simplemma.is_known(word, "en") for word in words)
    return english >= KNOWN_WORDS * len(words)


def observed_on(observed_at: str) -> date | None:
    """Return the day of a time; None for undated memories."""
    try:
        return None if observed_at == UNDATED else date.fromisoformat(observed_at[:10])
    except ValueError:
        return None


@lru_cache(maxsize=1_024)
def find_days(text: str) -> tuple[Day, ...]:
    """Return the days that a text names with their month; "3/4" has two meanings."""
    return tuple(_find_days(text))


def _find_days(text: str) -> Iterator[Day]:
    for match in _days().finditer(text.lower()):
        numbers = {
            name: int(number) for name, number in match.groupdict("0").items() if name[0] != "m"
        }
        name = match["m1"] or match["m2"]
        year = next(filter(None, (numbers[f"y{place}"] for place in range(1, 6))), 0)
        year += 2000 if 0 < year < 100 else 0
        first, second = (
            numbers[f"{part}1"] or numbers[f"{part}2"] or numbers[f"{part}3"] for part in "ab"
        )
        orders = [(first, second)] if match["a1"] else [(first, second), (second, first)]
        if name:
            orders = [(months()[name], numbers["d1"] or numbers["d2"])]
        for month, day in orders:
            if _date(year or 2000, month, day):
                yield Day(*match.span(), year or None, month, day)


def in_digits(text: str) -> Iterator[str]:
    """Yield a text with its number words in digits, for each language that has some of them."""
    from text_to_num import alpha2digit

    for language in _NUMBERS.split():
        if (read := alpha2digit(text, language, threshold=0)) != text:
            yield read


@cache
def months() -> dict[str, int]:
    """Return the months, 1 to 12, by their names in lower case."""
    return _names("months")


@cache
def weekdays() -> dict[str, int]:
    """Return the days of the week, Monday is 0, by their names in lower case."""
    return _names("days")


def _names(what: str) -> dict[str, int]:
    from babel import Locale

    # Abbreviations are words elsewhere: "out" is October in Portuguese.
    widths = [(language, "wide") for language in _CALENDARS.split()] + [("en", "abbreviated")]
    return {
        name.lower(): number
        for language, width in widths
        for form in getattr(Locale(language), what).values()
        for number, name in form[width].items()
    }


@cache
def _days() -> re.Pattern[str]:
    month = "|".join(sorted(map(re.escape, months()), key=len, reverse=True))
    return re.compile(
        r"(?<!\d)(?:(?P<y1>\d{4})[-/.](?P<a1>\d{1,2})[-/.](?P<b1>\d{1,2})(?!\d)"
        r"|(?P<a2>\d{1,2})\.(?P<b2>\d{1,2})\.(?:(?P<y2>\d{4}|\d{2})(?!\d|\.\d)|(?!\d))"
        r"|(?P<a3>\d{1,2})/(?P<b3>\d{1,2})(?:/(?P<y5>\d{4}|\d{2}))?(?![\d/])"
        rf"|(?P<d1>\d{{1,2}})(?:st|nd|rd|th|\.)?(?: of| de)? (?P<m1>{month})(?!\w)\.?"
        r"(?:,? (?P<y3>\d{4})(?!\d))?)"
        rf"|(?<!\w)(?P<m2>{month})\.? (?P<d2>\d{{1,2}})(?:st|nd|rd|th)?(?![\d:])"
        r"(?:,? (?P<y4>\d{4})(?!\d))?"
    )


def _date(year: int, month: int, day: int) -> date | None:
    try:
        return date(year, month, day)
    except ValueError:
        return None
