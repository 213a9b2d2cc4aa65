"""The values in a text that must not be confused: numbers, dates, versions, paths, identifiers.

By patterns, from the most specific to the plainest. Two spellings of one value have one norm:
"5 minutes", "five min" and "5min"; "3pm" and "15:00"; "3 March" and "March 3rd".
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field

from . import lexicon, units
from .anyof import any_of
from .case_folding import fold_case
from .numerals import DIGITS, UNIT, norm_of_digits, numbers_in_words
from .tokens import Token, stem

_MONTH = "|".join((*lexicon.MONTHS, "sept", *(rf"{month[:3]}\.?" for month in lexicon.MONTHS)))
_FILE = "|".join(sorted(sorted(lexicon.EXTENSIONS), key=len, reverse=True))
_RATE = "|".join(units.RATES)
_HOUR = "|".join(word for word, number in lexicon.NUMBER_WORDS.items() if 0 < number <= 12)
_ORDINAL = r"\d{1,2}(?:st|nd|rd|th)?"
# Where a run of signs begins. Without it, a pattern would try its luck at every dot of a long
# run in turn, and a hostile text could make that take for ever.
_RUN = r"(?<![\w./-])"

_QUOTED = re.compile(r"`([^`]+)`|\"([^\"]+)\"|“([^“”]+)”|(?<!\w)'([^']+)'(?!\w)")

# In this order: what an earlier pattern took is not looked at by a later one. The kind of a value
# is its name here.
_KINDS = {
    "url": r"(?<![\w.+-])[a-z][a-z0-9+.-]*+://[^\s<>\"'`)]+",
    "email": r"(?<![\w.+-])[\w.+-]++@[\w-]+(?:\.[\w-]+)+",
    "path": (
        r"(?<![\w/])(?:~|\.{1,2})?/(?:[\w.@-]++/?)+|\b[a-z]:\\[\w.\\-]+"
        # With an ending, with two slashes or more, or with a slash at the end.
        rf"|{_RUN}[\w.-]++/(?:[\w.@-]+/)*[\w@-]+\.\w{{1,5}}\b"
        rf"|{_RUN}(?=[\d/.-]*[a-z_])[\w.-]++(?:/[\w.@-]+){{2,}}/?"
        rf"|{_RUN}(?=[\d/.-]*[a-z_])[\w.-]++(?:/[\w.@-]++)*/(?=[\s,;:)]|$)"
        rf"|{_RUN}[\w-]++(?:\.[\w-]+)*\.(?:{_FILE})\b(?![./@]\w)"
    ),
    "address": r"\b\d{1,3}(?:\.\d{1,3}){3}(?:/\d{1,2})?(?::\d+)?\b",
    "date": (
        r"\b\d{4}(?:-\d{1,2}-\d{1,2}|/\d{1,2}/\d{1,2})(?=T\d|\b)|\b\d{1,2}/\d{1,2}(?:/\d{2,4})?\b"
        rf"|\b{_ORDINAL}(?: of)? (?:{_MONTH})(?!\w)(?:,? \d{{4}}\b)?"
        rf"|\b(?:{_MONTH}) {_ORDINAL}\b(?:,? \d{{4}}\b)?"
    ),
    "month": rf"\b(?:{_MONTH})(?: of|,)? \d{{4}}\b",
    "time": (
        r"\b\d{1,2}(?:[:.]\d{2})?\s?(?:[ap]m\b|[ap]\.m\b\.?)"
        r"|(?:\b|(?<=\dT))\d{1,2}:\d{2}(?::\d{2})?(?:Z\b|\b)"
        rf"|\b(?:noon|midnight)\b|\b(?:\d{{1,2}}|{_HOUR}) o['’]clock\b"
    ),
    "version": (
        r"\bv\d+(?:\.\d+)*(?:[-+][a-z0-9.+-]*[a-z0-9])?\b"
        r"|\b\d+(?:\.\d+){2,}(?:[-+][a-z0-9.+-]*[a-z0-9]|(?:rc|a|b|\.dev|\.post)\d+)?\b"
    ),
    "host": rf"{_RUN}(?:[a-z0-9-]++\.)+[a-z][a-z0-9-]+(?::\d+)?\b",
    "identifier": (
        r"(?<!\w)--?[a-z][\w-]*|\b\w*_\w+\b|#\d+\b"
        rf"|{_RUN}[a-z]{{2,}}(?:-[a-z0-9]+)*-\d+(?:\.\d+)*\b"
        # Letter case is what makes these two.
        r"|(?-i:\b[a-z]+[A-Z]\w*\b|\b(?:[A-Z][a-z0-9]+){2,}\b)"
        rf"|\b(?=\w*\d)(?=\w*[a-z])(?!\d+(?:st|nd|rd|th|k|{UNIT})\b)"
        r"[a-z0-9]+(?:-[a-z0-9]+)*(?:\.\d+)*\b"
    ),
    "year": (
        r"(?:(?<=\bin )|(?<=\bsince )|(?<=\buntil ))(?:19|20)\d\d\b"
        rf"(?![.,:]?\d|\s?(?:{UNIT})(?!\w))"
    ),
    # "every second Monday" is another matter.
    "rate": (
        rf"\bper (?:{UNIT}|[a-z]+)(?!\w)|\b(?:each|every)(?! second\b) (?:{UNIT})(?!\w)"
        rf"|\b(?:{_RATE})\b"
    ),
    "number": DIGITS,
}
_ANY_KIND = "|".join(f"(?P<{kind}>{pattern})" for kind, pattern in _KINDS.items())
# Most places in a text need no further look. No value begins with a letter inside of a word; it
# begins with a sign, with letters before a digit or a sign or in humps, or with one of the words.
_WORDS = (
    *(month[:3] for month in lexicon.MONTHS),
    *("noon", "midnight", *_HOUR.split("|"), *units.RATES),
    *("per ", "each ", "every "),
    *(f"{code} " for code in units.CURRENCY_CODES),
)
_PLACE = (
    rf"(?!\B[^\W\d])(?=[\w~./#{units.CURRENCY_SIGNS}+-])"
    rf"(?=[^\W\d_]*[\d_./:@\\+-]|[~#{units.CURRENCY_SIGNS}]|(?-i:[A-Z]?[a-z]+[A-Z])"
    rf"|{any_of(_WORDS)})"
)
_VALUE = re.compile(rf"{_PLACE}(?:{_ANY_KIND})", re.IGNORECASE)
# "2026", or the "26" of "31/12/26".
_YEAR = re.compile(r"\b(\d{4})\b|/\d{1,2}/(\d{2})$")
_MONTH_NUMBERS = {month[:3]: number for number, month in enumerate(lexicon.MONTHS, start=1)}
_HOURS = lexicon.NUMBER_WORDS | {"noon": 12, "midnight": 0}

# What a value is compared with, where that is more than its own kind: "v1.2" and "1.3" are rivals,
# and so are "at 3" and "at 4pm".
FAMILIES = {"url": "host", "address": "host", "version": "number", "time": "number"}


@dataclass(frozen=True, order=True, slots=True)
class Value:
    """A value that stands in a text; two are the same if `family` and `norm` are."""

    family: str
    norm: str
    text: str
    kind: str = field(compare=False)
    # Where its words stand in the text.
    start: int = field(compare=False)
    end: int = field(compare=False)

    @property
    def key(self) -> tuple[str, str]:
        """What it is compared by."""
        return self.family, self.norm

    @property
    def measure(self) -> tuple[str, str]:
        """Its kind and its unit: two values of one measure could stand for each other."""
        return self.kind, self.norm.partition(" ")[2]

    def stands_in(self, text: str) -> bool:
        """Whether it stands word for word in a text in lower case.

        A part of something longer does not count: 1.2.3 does not stand in "1.2.34". Numbers,
        times and dates are compared by what they mean alone.
        """
        if self.kind in ("number", "time", "date"):
            return False
        if self.kind == "quoted":
            words = re.findall(r"\w+", self.norm)
            if not words or any(word not in text for word in words):
                return False
            together = r"\W+".join(words)
            return re.search(rf"(?<!\w){together}(?!\w)", text) is not None
        # Most do not, and a pattern is dear to make.
        if self.norm not in text:
            return False
        longer = r"[\w-]|\.\w" if self.kind == "host" else r"[\w-]|[./]\w"
        found = re.search(rf"(?<![\w.-]){re.escape(self.norm)}(?!{longer})", text)
        return found is not None


def find_values(text: str, tokens: Sequence[Token]) -> list[Value]:
    """Return the values that a text states, in its order, each with what it is compared by."""
    found = [*_quoted(text), *_by_pattern(text)]
    taken = covered(value for value in found if value.kind != "quoted")
    free = [token for token in tokens if token.start not in taken]
    found += [*_calendar_words(free), *_spelled_numbers(free)]
    return sorted(found, key=lambda value: (value.start, value.end))


def covered(values: Iterable[Value]) -> frozenset[int]:
    """Return the positions in the text that values take up."""
    return frozenset().union(*(range(value.start, value.end) for value in values))


def _value(kind: str, norm: str, text: str, start: int) -> Value:
    return Value(FAMILIES.get(kind, kind), norm, text, kind, start, start + len(text))


def _quoted(text: str) -> Iterator[Value]:
    """Find what stands in quotes; other values are looked for inside it all the same."""
    for match in _QUOTED.finditer(text):
        norm = match[match.lastindex or 0].lower().strip(" .,;:!?")
        yield _value("quoted", norm, match.group(), match.start())


def _by_pattern(text: str) -> Iterator[Value]:
    for match in _VALUE.finditer(text):
        kind, raw = match.lastgroup or "", match.group()
        if kind in ("url", "path"):
            raw = raw.rstrip(".,;:")
        yield _value(kind, _norm(kind, raw), raw, match.start())
        # The year by itself, so that "3 March" and "3 March 2026" agree, and two years do not.
        if kind in ("date", "month") and (year := _YEAR.search(raw)):
            yield _value("year", year[1] or f"20{year[2]}", raw, match.start())
        if kind == "number" and (rate := norm_of_digits(fold_case(raw))[1]):
            yield _value("rate", rate, raw, match.start())


def _calendar_words(tokens: Sequence[Token]) -> Iterator[Value]:
    for token in tokens:
        day = token.bare.removesuffix("s")
        if day in lexicon.WEEKDAYS:
            yield _value("weekday", day, token.text, token.start)
        # "May" at the head of a sentence is a verb as often as a month.
        elif token.bare in lexicon.MONTHS and token.capitalised and not token.starts_sentence:
            yield _value("month", token.bare, token.text, token.start)


def _norm(kind: str, text: str) -> str:
    raw = fold_case(text)
    match kind:
        case "date":
            return _date(raw)
        case "month":
            return lexicon.MONTHS[_MONTH_NUMBERS[raw[:3]] - 1]
        case "time":
            return _time(raw)
        case "rate":
            counted = raw.split(maxsplit=1)[-1]
            return units.RATES.get(raw) or units.UNITS.get(counted) or stem(counted)
        case "number":
            return norm_of_digits(raw)[0]
        case "version":
            return text.lower().removeprefix("v")
        case "url" | "path":
            return text.lower().rstrip("/")
    return text.lower()


def _date(text: str) -> str:
    """Return month and day; "3/4" stays as it is, since nobody can say which is which."""
    numbers = [int(number) for number in re.findall(r"\d+", text)]
    name = next((word for word in re.findall(r"[a-z]+", text) if word[:3] in _MONTH_NUMBERS), None)
    if name is not None:
        return f"{_MONTH_NUMBERS[name[:3]]}-{numbers[0]}"
    if re.match(r"\d{4}", text):
        return f"{numbers[1]}-{numbers[2]}"
    first, second = numbers[:2]
    if first > 12 or first == second:
        return f"{second}-{first}"
    return f"{first}-{second}" if second > 12 else f"{first}/{second}"


def _time(text: str) -> str:
    word = text.split()[0]
    if word in _HOURS:
        return f"{_HOURS[word]}:00"
    hour, minute, second, *_ = [*map(int, re.findall(r"\d+", text)), 0, 0]
    if re.search(r"p\.?m", text):
        hour = hour % 12 + 12
    elif re.search(r"a\.?m", text):
        hour %= 12
    return f"{hour}:{minute:02d}" + (f":{second:02d}" if second else "")


def _spelled_numbers(tokens: Sequence[Token]) -> Iterator[Value]:
    for norm, each, words in numbers_in_words(tokens):
        text = " ".join(dict.fromkeys(word.text for word in words))
        start, end = words[0].start, words[-1].start + len(words[-1].text)
        yield Value("number", norm, text, "number", start, end)
        if each:
            yield Value("rate", each, text, "rate", start, end)
