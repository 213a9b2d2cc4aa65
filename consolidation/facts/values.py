"""The values of a text, each by its normal forms: numbers, dates, times, identifiers, paths.

Two values are equal if they share a form. What a value may mean in more than one way has a form for
each: "half past seven" is 07:30 and 19:30, "3/4" the third of April and the fourth of March.
"""

from __future__ import annotations

import calendar
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from functools import lru_cache

from slowwave.consolidation.text.alternation import any_of

from .numerals import (
    COUNTED,
    COUNTS,
    DIGITS,
    NUMBER_WORDS,
    ORDINALS,
    SCALES,
    SPELLED,
    UNIT,
    counted,
    decimal_form,
    measured,
    quantity,
    spelled_number,
)
from .units import CURRENCY, RATES, UNITS

MONTHS = tuple(name.lower() for name in calendar.month_name[1:])
WEEKDAYS = tuple(name.lower() for name in calendar.day_name)
_MONTH = "|".join((*MONTHS, "sept", *(month[:3] for month in MONTHS)))
_MONTH = rf"(?:{_MONTH})(?!\w)\.?"
_WEEKDAY = rf"(?:{'|'.join(WEEKDAYS)})s?|(?:mon|tues?|wed|thur?s?|fri|sat|sun)"
_DAY = r"\d{1,2}(?:st|nd|rd|th|\.)?"
_DAYS = rf"{_DAY}(?:(?: ?[-\u2013/+&,] ?| to | and | until | till ){_DAY}){{0,5}}"
_HOUR = (
    rf"(?:{any_of(word for word, number in NUMBER_WORDS.items() if 0 < number <= 12)}|\d{{1,2}})"
)
_MINUTES = r"(?:five|ten|twenty(?:-five)?|quarter|half|(?:5|10|15|20|25)(?: min(?:utes)?)?)"
# "A bit" is not a unit.
_TIMES = [word for word, measures in UNITS.items() if measures[0][0] in ("s", "month")]
# What the day, or the part of one, that "this" and "next" point to may be called.
PERIODS = (*_TIMES, "weekend", "night", "morning", "evening", "afternoon")
# Words that support a number and need no support: "both of them", "the first".
_UNCOUNTED = frozenset(("first", "second", "once", "both", "couple", "pair", "double"))
_HALF_DAY = r"(?:[ap]m\b|[ap]\.m\b\.?)"
_RUN = r"(?<![\w./-])"

# In this order: later patterns skip what an earlier one matched.
_KINDS = {
    "url": r"(?<![\w.+-])[a-z][a-z0-9+.-]*+://[^\s<>\"'`)\]]+",
    "email": r"(?<![\w.+-])[\w.+-]++@[\w-]+(?:\.[\w-]+)+",
    "path": (
        r"(?<![\w/)\]])(?:~|\.{1,2})?/(?:[\w.@-]++/?)+|\b[a-z]:\\[\w.\\-]+"
        rf"|{_RUN}[\w.-]++/(?:[\w.@-]+/)*[\w@-]+\.[a-z]\w{{0,4}}\b"
        rf"|{_RUN}(?=[\d/.-]*[a-z_])[\w.-]++(?:/[\w.@-]+){{2,}}/?"
        rf"|{_RUN}(?=[\d/.-]*[a-z_])[\w.-]++(?:/[\w.@-]++)*/(?=[\s,;:)]|$)"
        rf"|{_RUN}\w[\w/-]*\.{{2,3}}\w[\w/-]*"
    ),
    "address": r"\b\d{1,3}(?:\.\d{1,3}){3}(?:/\d{1,2})?(?::\d+)?\b",
    "date": (
        r"\b\d{4}(?P<dash>[-/.])\d{1,2}(?P=dash)\d{1,2}(?=T\d|\b)|\b\d{1,2}\.\d{1,2}\.\d{4}\b"
        r"|(?<![\w./])\d{1,2}/\d{1,2}(?:/\d{2,4})?(?![\w/]|\.\d)"
        rf"|(?<![\w.]){_DAYS}(?: of)? {_MONTH}(?:,? \d{{4}}\b(?!-\d))?"
        rf"|\b{_MONTH} {_DAYS}(?![\w%:]|[.,]\d)(?:,? \d{{4}}\b(?!-\d))?"
        r"|\b(?:19|20)\d\d-(?:0[1-9]|1[0-2])(?![\w-])"
        rf"|\b{_MONTH}(?: of|,)? \d{{4}}\b"
    ),
    "time": (
        rf"\b\d{{1,2}}(?:[:.h]\d{{2}})?\s?{_HALF_DAY}"
        r"|(?:\b|(?<=\dT))\d{1,2}[:h]\d{2}(?::\d{2})?Z?(?!\w)"
        rf"|\b\d{{1,2}}(?:[.:]\d\d)? ?Uhr(?: \d\d)?\b"
        r"|\b(?:noon|midday|midnight)\b"
        rf"|\b{_HOUR}(?: o['’]clock\b|(?= in the (?:morning|afternoon|evening)))"
        rf"|\bhalb {_HOUR}\b|\bviertel (?:nach|vor) {_HOUR}\b"
        rf"|\b(?:a )?{_MINUTES} (?:past|to) {_HOUR}\b(?![.,]?\d| ?(?:{UNIT})\b)"
    ),
    "version": (
        r"\bv\d+(?:\.\d+)*(?:[-+][a-z0-9.+-]*[a-z0-9])?\b"
        r"|\b\d+(?:\.\d+){2,}(?:[-+][a-z0-9.+-]*[a-z0-9]|(?:rc|a|b|\.dev|\.post)\d+)?\b"
    ),
    "duration": (
        r"\b\d{1,4} ?(?:h|hrs?|hours?),? ?(?:and )?\d{1,4} ?(?:m|mins?|minutes?)\b"
        r"|\b\d{1,2}h[0-5]\d\b"
        r"|\b(?:half an?|(?:a|one) quarter of an|three[- ]quarters of an) "
        r"(?:hour|minute|day|year)\b"
        r"|\ban? (?:hour|minute|day|week|month|year) and a half\b"
    ),
    "number": (
        rf"(?:(?<![\w)\]°%.])[-\u2212]|(?<=[\s(])\u2013|\bminus )?(?:{CURRENCY})?"
        rf"(?<![\w.])(?:{DIGITS})"
        rf"(?:[kK]\b)?(?:[ -]?(?:hundred|thousand|million|billion|dozen)\b|(?-i:M\b))?"
        rf"(?:(?-i:[\s-]?(?:{UNIT}))(?![\w]))?(?=\W|x\b|$)(?:(?:st|nd|rd|th|s)\b)?"
        r"|(?<![\w.])\d{1,2}(?:st|nd|rd|th)\b|(?<![\w.])\d+(?:s|x)\b"
    ),
    "host": rf"{_RUN}(?:[a-z0-9-]++\.)+[a-z][a-z0-9-]+(?::\d+)?\b",
    "identifier": (
        r"(?<![\w-])--?[a-z][\w-]*|\b\w*[^\W_]_\w+(?:\.\w+)*|\b_\w+\b|#\d+\b"
        rf"|{_RUN}[^\W\d]+(?:-\w+)*-\d+(?:\.\d+)*\b"
        r"|(?-i:\b[a-z]+[A-Z]\w*\b|\b(?:[A-Z][a-z0-9]+){2,}\b)"
        r"|\b(?=\w*\d)(?=\w*[^\W\d])\w+(?:-\w+)*(?:\.\d+)*\b"
    ),
    "spelled": rf"{SPELLED}(?:[ -](?P<counted_by>{UNIT})\b)?",
    "one": rf"\ban? (?P<one_of>{any_of(_TIMES)})\b",
    "counted": rf"\b(?:{COUNTED})\b|[½¼¾]",
    "weekdays": (
        rf"\b(?:{_WEEKDAY})\.? ?(?:[-\u2013]|to|through|until|till|bis) ?(?:{_WEEKDAY})\b"
        r"|\b(?:weekend|weekday|workday|working day)s?\b"
    ),
    "weekday": rf"\b(?:{_WEEKDAY})\b",
    "month": rf"\b{_MONTH}",
    "rate": (
        rf"\b(?:{any_of(RATES)})\b"
        rf"|(?:(?:(?<=\w)|(?<=\w\s))/ ?|\b(?:per|each|every) )(?:(?-i:{UNIT})|nights?)(?!\w)"
    ),
    "unit": rf"\b(?:{any_of(word for word in UNITS if re.fullmatch('[a-z]{3,}', word))}|nights?)\b",
}
_ANY_KIND = "|".join(f"(?P<{kind}>{pattern})" for kind, pattern in _KINDS.items())
# Rules out most places in a text: no value begins inside a word, and each starts with a sign, with
# letters before a digit or a sign or in camel case, or with one of these.
_OTHER_BEGINNINGS = "noon midday midnight night half halb viertel quarter week work"
_BEGINNINGS = {
    *(name[:3] for name in (*MONTHS, *WEEKDAYS, *RATES)),
    *(*NUMBER_WORDS, *SCALES, *ORDINALS, *COUNTS),
    *(*_OTHER_BEGINNINGS.split(), "per ", "each ", "every ", "a ", "an ", "minus "),
    *(word for word in UNITS if re.fullmatch("[a-z]{3,}", word)),
}
_PLACE = (
    r"(?!\B[^\W\d_])(?=[\w~./#$€£½¼¾\u2212\u2013-])"
    r"(?=[^\W\d_]*(?:[\d_@/\\]|[.:+-]{1,9}[\w/\\.])|[~./#$€£½¼¾\u2212\u2013-]|(?-i:[A-Z]?[a-z]+[A-Z])"
    rf"|(?:{any_of(_BEGINNINGS)}))"
)
_VALUE = re.compile(f"{_PLACE}(?:{_ANY_KIND})", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class TextValue:
    """A value of a text: what it is compared by, and where it is."""

    kind: str
    words: str
    start: int = field(compare=False)
    # What it means; of a number with a unit, by the base of that.
    forms: frozenset[str] = frozenset()
    # What follows from it: of "3 March 2026" the month, the year, and 3 March of any year.
    implied: frozenset[str] = frozenset()
    # A number without its unit, and whether it has one.
    bare: frozenset[str] = frozenset()
    has_unit: bool = False
    # Numbers in it that another text may have by themselves: the day and the year of a date.
    parts: frozenset[str] = frozenset()

    @property
    def norm(self) -> str:
        """What it means, as text: spellings with the same norm are equal."""
        norm = "/".join(sorted(self.forms or self.bare))
        # "3/4" may mean the same as "4/3", and "1,234" as "1.234", but need not.
        if self.kind == "date" and len(self.forms) > 1:
            return f"{norm} {[int(number) for number in re.findall(r'[0-9]+', self.words)[:2]]}"
        if self.kind == "number" and len({bare.replace(".", "") for bare in self.bare}) < len(
            self.bare
        ):
            return f"{norm} {self.words}"
        return norm

    @property
    def measures(self) -> frozenset[tuple[str, str]]:
        """Its kind with each unit that it may have: values that share one of these can conflict."""
        if self.kind not in ("number", "unit", "rate"):
            return frozenset({(self.kind, "")})
        units = {form.rpartition(" ")[2] for form in self.forms} if self.forms else {""}
        return frozenset((self.kind, unit) for unit in units)

    @property
    def end(self) -> int:
        """The index of the character after it."""
        return self.start + len(self.words)


class KnownValues:
    """The values of texts, in which other values are looked up."""

    def __init__(self, values: Iterable[TextValue]) -> None:
        """Index values by what they mean and what follows from that."""
        values = tuple(values)
        self._forms = frozenset().union(*(value.forms | value.implied for value in values))
        self._bare = frozenset().union(*(value.bare | value.parts for value in values))
        self._dates = frozenset().union(
            *(value.forms for value in values if value.kind in ("date", "month"))
        )
        self._unitless = frozenset().union(*(value.bare for value in values if not value.has_unit))

    def has(self, value: TextValue) -> bool:
        """Whether a value follows from one of them; a number without a unit may have any."""
        if not self._forms.isdisjoint(value.forms):
            return True
        return not (self._unitless if value.has_unit else self._bare).isdisjoint(value.bare)

    def allows(self, value: TextValue) -> bool:
        """Whether a value is one of them, or a more precise form of a date among them."""
        return self.has(value) or not self._dates.isdisjoint(value.implied)


@lru_cache(maxsize=4_096)
def find_values(text: str) -> tuple[TextValue, ...]:
    """Return the values that a text states, in its order; the same text is read once.

    A unit by itself has the kind "unit" and supports only rates; a word such as "both" has the kind
    "count" and supports a number, but needs no support.
    """
    return tuple(value for match in _VALUE.finditer(text) for value in _values(match))


def is_lower_word(text: str, value: TextValue) -> bool:
    """Whether "may", "march", "sat" or "sun" is an ordinary word, by its spelling or place."""
    if value.kind not in ("weekday", "month") or len(value.words.rstrip(".")) > 5:
        return False
    opens = re.search(r"(?:^|[.!?]\s*|\n)$", text[: value.start]) is not None
    return value.words.islower() or (opens and value.words in ("May", "March", "Sun", "Sat"))


def _values(match: re.Match[str]) -> Iterator[TextValue]:  # noqa: C901 - a case for each kind
    kind, words, start = match.lastgroup or "", match.group(), match.start()
    match kind:
        case "url" | "path":
            words = words.rstrip(".,;:")
            yield TextValue(kind, words, start, frozenset({words.lower().rstrip("/")}))
        case "email" | "address" | "host" | "identifier":
            bare = frozenset({words[1:]} if words[1:].isdigit() else ())
            yield TextValue("identifier", words, start, frozenset({words.lower()}), bare=bare)
        case "date":
            yield from _dates(words, start)
        case "time":
            yield _time(words, start)
        case "version":
            form = frozenset({words.lower().removeprefix("v")})
            yield TextValue(kind, words, start, form, bare=form)
        case "duration":
            yield _duration(words, start)
        case "number":
            yield _number(words, start)
        case "spelled":
            yield from _spelled(match)
        case "one":
            sizes = _sizes(match["one_of"])
            yield TextValue("number", words, start, sizes | _per(sizes), has_unit=True)
        case "counted":
            if (number := counted(words)) is not None:
                # "A second" is a unit, too, and half of something 50% of it.
                also = {"per 1 s"} if words.lower() == "second" else set()
                also |= {f"{decimal_form(100 * number)} %"} if number < 1 else set()
                bare = frozenset({decimal_form(number)})
                counted_as = "count" if words.lower() in _UNCOUNTED else "number"
                yield TextValue(counted_as, words, start, frozenset(also), bare=bare)
        case "weekday" | "weekdays":
            weekly = frozenset({"per 604800 s"})
            for day in _weekdays(words.lower()):
                yield TextValue("weekday", words, start, frozenset({f"weekday {day}"}), weekly)
        case "month":
            yield TextValue(kind, words, start, frozenset({f"month {_month(words)}"}))
        case "rate" | "unit":
            counted_by = RATES.get(words.lower()) or re.split(r"[/ ]", words)[-1]
            sizes = _sizes("day" if "night" in counted_by.lower() else counted_by)
            yield TextValue(kind, words, start, _per(sizes), has_unit=True)


def _sizes(unit: str) -> frozenset[str]:
    """Return the size of a unit in its base unit: an hour is 3600 s."""
    single = {"1": Decimal(1)}
    return measured("", single, UNITS.get(unit) or UNITS.get(unit.lower(), ()))[0]


def _per(sizes: frozenset[str]) -> frozenset[str]:
    return frozenset(f"per {size}" for size in sizes)


def _number(words: str, start: int) -> TextValue:
    plain = re.sub(r"(?<=\d)(?:st|nd|rd|th|x)$|(?<=\d\d\d)s$|(?<=\d)x(?=/)", "", words)
    forms, bare, has_unit = quantity(plain)
    unit = re.search(r"[^\W\d_]+$", plain)
    implied = _per(_sizes(unit[0])) if has_unit and unit else frozenset[str]()
    clock = re.fullmatch(r"([01]\d|2[0-4]|\d(?= ?h))([0-5]\d)?(?: ?h)?", plain)
    if clock and (clock[2] or plain.endswith("h")):
        implied |= {f"time {60 * int(clock[1]) + int(clock[2] or 0)}"}
    # "Am 29.3." is a day as well.
    if day := re.fullmatch(r"(0?[1-9]|[12]\d|3[01])\.(0?[1-9]|1[0-2])", plain):
        forms |= {f"{int(day[2]):02d}-{int(day[1]):02d}"}
    return TextValue("number", words, start, forms, implied, bare, has_unit)


def _spelled(match: re.Match[str]) -> Iterator[TextValue]:
    words, start, unit = match.group(), match.start(), match["counted_by"]
    number = spelled_number(words.removesuffix(unit).rstrip(" -") if unit else words)
    # "One" by itself is a pronoun as often.
    if unit or number != 1:
        measures = UNITS.get(unit) or UNITS.get(unit.lower(), ()) if unit else ()
        forms, bare, has_unit = measured("", {decimal_form(number): number}, measures)
        implied = _per(_sizes(unit)) if unit else frozenset[str]()
        yield TextValue("number", words, start, forms, implied, bare, has_unit)


def _duration(words: str, start: int) -> TextValue:
    low = words.lower()
    if numbers := re.findall(r"\d+", low):
        minutes = 60 * int(numbers[0]) + int(numbers[1])
        return TextValue("number", words, start, frozenset({f"{60 * minutes} s"}), has_unit=True)
    share = "1.5" if "and a half" in low else "0.75" if "three" in low else "0.25"
    number = Decimal("0.5" if low.startswith("half") else share)
    unit = next(word for word in reversed(low.split()) if word in UNITS and word != "quarter")
    forms, bare, _ = measured("", {decimal_form(number): number}, UNITS[unit])
    return TextValue("number", words, start, forms, _per(_sizes(unit)), bare, has_unit=True)


def _weekdays(words: str) -> Iterator[int]:
    """Yield the days of a week that words name, Monday is 0: all of a range."""
    if words.startswith("weekend"):
        yield from (5, 6)
    elif words.startswith(("weekday", "work")):
        yield from range(5)
    else:
        ends = [name[:3] for name in re.findall(_WEEKDAY, words)]
        first, last = (([name[:3] for name in WEEKDAYS].index(end)) for end in (ends[0], ends[-1]))
        yield from (day % 7 for day in range(first, last + 1 if last >= first else last + 8))


def _month(words: str) -> str:
    return f"{next(at for at, name in enumerate(MONTHS, 1) if name[:3] == words[:3].lower()):02d}"


def date_forms(year: int | None, month: int, day: int | None) -> tuple[str, ...]:
    """Return the forms of a date from the closest to the widest."""
    days = [f"{month:02d}-{day:02d}"] if day else []
    dated = [f"{year}-{form}" for form in days if year]
    return (*dated, *days, *([f"{year}-{month:02d}"] if year else []), f"month {month:02d}")


def _dates(words: str, start: int) -> Iterator[TextValue]:
    """Yield a date for each of its days: "9-11 March" has two."""
    low = words.lower()
    numbers = [int(number) for number in re.findall(r"\d+", low)]
    years = [number for number in numbers if number > 99]
    year = years[0] if years else None
    days = [number for number in numbers if number not in years]
    if re.search(r"[a-z]{3}", low):
        named = re.search(_MONTH, low)
        month = int(_month(named[0])) if named else 1
        if not days:
            yield _date(words, start, [(year, month, None)])
        for day in days:
            yield _date(words, start, [(year, month, day)])
    elif low[:4].isdigit():
        yield _date(words, start, [(year, days[0], days[1] if len(days) > 1 else None)])
    else:
        if len(days) > 2:
            year = 2000 + days.pop()
        orders = [days, days[::-1]] if "/" in low else [days]
        likely = [(year, month, day) for day, month in orders if month <= 12 and day <= 31]
        if likely:
            yield _date(words, start, likely)
        else:
            for part in re.finditer(r"\d+", words):
                yield _number(part[0], start + part.start())


def _date(
    words: str, start: int, likely: Sequence[tuple[int | None, int, int | None]]
) -> TextValue:
    forms = [date_forms(*date) for date in likely]
    return TextValue(
        "date" if likely[0][2] else "month",
        words,
        start,
        frozenset(names[0] for names in forms),
        frozenset(name for names in forms for name in names[1:]),
        has_unit=True,
        parts=frozenset(str(int(number)) for number in re.findall(r"\d+", words)),
    )


def _time(words: str, start: int) -> TextValue:
    low = words.lower()
    first, *_ = low.split()
    if first in ("noon", "midday", "midnight"):
        return _clock(words, start, 0 if first == "midnight" else 12, 0, sure=True)
    if german := re.match(rf"(halb|viertel nach|viertel vor) ({_HOUR})", low):
        hour = NUMBER_WORDS.get(german[2]) or int(german[2])
        at = 60 * hour + {"halb": -30, "viertel nach": 15, "viertel vor": -15}[german[1]]
        return _clock(words, start, at // 60, at % 60, sure=False)
    if spoken := re.match(rf"(?:a )?(.+?)(?: min(?:utes)?)? (past|to) ({_HOUR})", low):
        hour = NUMBER_WORDS.get(spoken[3]) or int(spoken[3])
        minute = {"quarter": 15, "half": 30}.get(spoken[1])
        minute = int(spoken[1]) if spoken[1].isdigit() else minute or int(spelled_number(spoken[1]))
        at = 60 * hour + (minute if spoken[2] == "past" else -minute)
        value = _clock(words, start, at // 60, at % 60, sure=False)
        # "From ten to five" is a range.
        bare = frozenset((str(hour), str(minute))) if spoken[2] == "to" else frozenset[str]()
        return TextValue("time", words, start, value.forms, value.implied, bare, has_unit=True)
    hour_word = re.match(r"[a-z]+", low)
    numbers = (
        [NUMBER_WORDS[hour_word[0]]] if hour_word else [int(n) for n in re.findall(r"\d+", low)]
    )
    hour, minute = numbers[0], numbers[1] if len(numbers) > 1 else 0
    half = re.search(r"([ap])\.?m", low)
    if half:
        hour = hour % 12 + (12 if half[1] == "p" else 0)
    is_sure = bool(half) or low.startswith("0")
    return _clock(words, start, hour, minute, sure=is_sure, second=sum(numbers[2:]))


def _clock(
    words: str, start: int, hour: int, minute: int, *, sure: bool, second: int = 0
) -> TextValue:
    """Return a time; unless it is sure, it may be of the other half of the day."""
    at = (60 * hour + minute) % 1440
    times = {at} if sure or hour > 12 else {at, (at + 720) % 1440}
    bare = {str(hour % 24), str(hour % 12 or 12)} if not minute else set()
    within = f":{second:02d}" if second else ""
    forms = frozenset(f"time {minutes}{within}" for minutes in times)
    daily = frozenset({"per 86400 s"})
    return TextValue("time", words, start, forms, daily, frozenset(bare), has_unit=True)
