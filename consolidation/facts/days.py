"""The days that a source may refer to: when it was observed, and what its "yesterday" means."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from datetime import date, timedelta

from slowwave.consolidation.text.alternation import any_of
from slowwave.store.records import UNDATED

from .values import MONTHS, PERIODS, WEEKDAYS, TextValue, date_forms

_OFFSETS = {**dict.fromkeys(("today", "tonight", "this", "heute"), 0), "vorgestern": -2}
_OFFSETS |= {**dict.fromkeys(("yesterday", "last night", "gestern", "hier"), -1), "übermorgen": 2}
_OFFSETS |= dict.fromkeys(("tomorrow", "morgen", "demain"), 1)
_OFFSET = re.compile(rf"\b(?:{'|'.join(_OFFSETS)})\b", re.IGNORECASE)
# "The 29th", "am 29. kommt".
_ORDINAL = re.compile(
    r"(?<![\w.:/-])(\d{1,2})(?:st|nd|rd|th|\.(?= [a-zäöü]))"
    r"|\b(?:the|le|el|il|den|dem|am) (\d{1,2})\b"
)
# Words that mean another day when they are read later.
DEICTIC = re.compile(
    r"\b(?:yesterday|today|tonight|tomorrow|now|currently|recently|lately|ago|"
    rf"(?:last|next|this) (?:{any_of((*PERIODS, *WEEKDAYS, *MONTHS))}))\b",
    re.IGNORECASE,
)
_DAY = 86_400
_MAX_DAYS = 3_660
_EARLIEST, _LATEST = 1_000, 9_000


def observed_on(observed_at: str) -> date | None:
    """Return the day of a time; None for undated memories."""
    if not observed_at or observed_at == UNDATED:
        return None
    try:
        day = date.fromisoformat(observed_at[:10])
    except ValueError:
        return None
    # Far from the ends of the calendar, where adding days fails.
    return day if _EARLIEST < day.year < _LATEST else None


def spoken_days(text: str, observed: date) -> Iterator[date]:
    """Yield the days that "yesterday", "today" and "tomorrow" mean on the day of observation."""
    for word in _OFFSET.findall(text):
        yield observed + timedelta(_OFFSETS[word.lower()])


def relative_days(text: str, values: Sequence[TextValue], observed: date) -> Iterator[date]:
    """Yield the days that a text may refer to, given the day on which it was observed.

    "Next Tuesday" is one of the nearest Tuesdays; "two weeks" may be in the past or in the future.
    """
    yield from spoken_days(text, observed)
    for value in values:
        if value.kind == "weekday":
            weekday = int(next(iter(value.forms)).split()[1])
            for days in range(-7, 15):
                if (day := observed + timedelta(days)).weekday() == weekday:
                    yield day
        for form in value.forms if value.kind == "number" else ():
            number, _, base = form.partition(" ")
            days = int(float(number) / _DAY) if base == "s" else 0
            if 1 <= abs(days) < _MAX_DAYS:
                yield observed + timedelta(days)
                yield observed - timedelta(days)
    for found in _ORDINAL.finditer(text):
        yield from _in_months(observed, int(found[1] or found[2]))


def _in_months(observed: date, day: int) -> Iterator[date]:
    for months in (-1, 0, 1):
        month = observed.year * 12 + observed.month - 1 + months
        try:
            yield date(month // 12, month % 12 + 1, day)
        except ValueError:
            continue


def years_of(value: TextValue, observed: date) -> Iterator[str]:
    """Yield the forms of a date without a year in the years around the day it was observed."""
    for form in value.forms:
        if re.fullmatch(r"\d\d-\d\d", form) or form.startswith("month"):
            for year in (observed.year - 1, observed.year, observed.year + 1):
                yield f"{year}-{form.removeprefix('month ')}"


def forms_of(day: date) -> set[str]:
    """Return the forms of a day, as `TextValue` has them."""
    return {*date_forms(day.year, day.month, day.day), f"{day.year}-{day.month:02d}"}
