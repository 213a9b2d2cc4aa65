"""What a text states that its sources do not have, and what of theirs it lacks. Only looked up.

Libraries were measured for this. dateparser takes "5432 on" for a date, and "the 29th" for a day of
two years before; Microsoft's recognizers-text misses that one and cannot be imported with today's
emoji; py3langid takes 0.7 s and gets notes of three words wrong. What is taken: `languages.py`.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import date
from functools import cached_property
from typing import Protocol

from slowwave.consolidation.text.invisible import find_invisible

from . import languages
from .days import forms_of, observed_on, relative_days, spoken_days, years_of
from .literals import LiteralSpan, find_literals, has_literal
from .names import Name, Vocabulary, find_names, is_common_word
from .numerals import NUMBER_WORDS
from .values import KnownValues, TextValue, find_values, is_lower_word

# What is compared by its letters.
_LETTERS = ("url", "path", "identifier", "version")
# At the head of a line; within one they count from 1.
_LISTED = re.compile(r"^[ \t]*\(?\d{1,2}[.)](?=\s)", re.MULTILINE)
_LISTED_WITHIN = re.compile(r"(?<=\s)\(?(\d{1,2})\)(?=\s)|^\(?(1)\)(?=\s)")


class Evidence(Protocol):
    """A memory or a message that a text is made from."""

    @property
    def id(self) -> str:
        """What it is cited by."""

    @property
    def text(self) -> str:
        """What it says."""

    @property
    def observed_at(self) -> str:
        """When it was observed: ISO 8601, or `store.records.UNDATED`."""


@dataclass(frozen=True)
class Fault:
    """Words of a text that none of its sources has: a number, date, name, path and so on."""

    words: str
    kind: str

    @property
    def why(self) -> str:
        """A sentence for a repair and for a person."""
        if self.kind == "invisible":
            return f"{self.words} (invisible) is not allowed in a memory"
        return f'"{self.words}" ({self.kind}) is in none of the cited memories'


@dataclass(frozen=True)
class Hint:
    """A value of a source that a text lacks, as the source has it."""

    source: str
    words: str
    kind: str


def find_unsupported(text: str, sources: Sequence[Evidence]) -> list[Fault]:
    """Return the values, names, code and quotations of a text that no source has, in its order."""
    known = _Sources(sources)
    hidden = find_invisible(text, [source.text for source in sources])
    found = [(0, Fault(hidden, "invisible"))] if hidden else []
    literals = list(find_literals(text))
    faulty = [one for one in literals if not known.has_literal(one)]
    found += [(one.start, Fault(text[one.start : one.end], one.kind)) for one in faulty]
    values = _once(_stated(text, find_values(text)))
    found += [
        (value.start, Fault(value.words, value.kind))
        for value in values
        if not _covered(value.start, literals) and not known.has_value(value, text)
    ]
    found += [
        (name.start, Fault(name.words, "name"))
        for name in _proper(text, find_values(text))
        if not _covered(name.start, literals) and not known.has_name(name, text)
    ]
    return list(dict.fromkeys(fault for _, fault in sorted(found, key=lambda one: one[0])))


def find_missing(text: str, sources: Sequence[Evidence]) -> list[Hint]:
    """Return the values of sources that a text lacks, each once: hints, never faults."""
    told = _Sources([_Told(text, source.id, source.observed_at) for source in sources[:1]])
    hints: dict[tuple[str, str], Hint] = {}
    for source in sources:
        for value in _stated(source.text, find_values(source.text)):
            if not told.has_value(value, source.text):
                hints.setdefault(
                    (value.words.lower(), value.kind), Hint(source.id, value.words, value.kind)
                )
    return list(hints.values())


def names_of(text: str) -> tuple[str, ...]:
    """Return the proper names and identifiers of a text in its order, each once."""
    values = find_values(text)
    found = [(value.start, value.words) for value in values if value.kind == "identifier"]
    found += [(name.start, name.words) for name in _proper(text, values) if not name.opens]
    return tuple(dict.fromkeys(words for _, words in sorted(found)))


@dataclass(frozen=True)
class _Told:
    text: str
    id: str
    observed_at: str


def _stated(text: str, values: Sequence[TextValue]) -> list[TextValue]:
    """Leave out what is no value of a text by itself: units, list numbers, "both"."""
    within = list(_LISTED_WITHIN.finditer(text))
    counting = [int(found[1] or found[2]) for found in within] == [*range(1, len(within) + 1)]
    listed = [found.span() for found in (*_LISTED.finditer(text), *(within if counting else ()))]
    return [
        value
        for value in values
        if value.kind not in ("unit", "count")
        and value.words.lower() not in ("twice", "two")
        and not any(start <= value.start < end for start, end in listed)
        and not is_lower_word(text, value)
    ]


def _once(values: Iterable[TextValue]) -> list[TextValue]:
    """Leave out what a text repeats; on a weekday may hang what date is next to it."""
    seen: dict[object, TextValue] = {}
    for value in values:
        place = value.start if value.kind == "weekday" else 0
        seen.setdefault((value.words.lower(), value.kind, value.forms, place), value)
    return list(seen.values())


def _proper(text: str, values: Sequence[TextValue]) -> Iterator[Name]:
    taken = [(value.start, value.end) for value in values if value.kind not in ("unit", "number")]
    taken += [
        (value.start, value.end)
        for value in values
        if value.kind == "number" and value.words[0].isdigit()
    ]
    for name in find_names(text):
        if name.words.lower() not in NUMBER_WORDS and not any(
            a <= name.start < b for a, b in taken
        ):
            yield name


def _covered(start: int, literals: Sequence[LiteralSpan]) -> bool:
    return any(one.start <= start < one.end for one in literals)


class _Sources:
    """What some sources have."""

    def __init__(self, sources: Sequence[Evidence]) -> None:
        self._texts = [source.text for source in sources]
        self._low = " \n".join(" ".join(text.split()) for text in self._texts).lower()
        self._values = [find_values(text) for text in self._texts]
        self._observed = [observed_on(source.observed_at) for source in sources]
        self._known = KnownValues(value for values in self._values for value in values)

    def has_literal(self, literal: LiteralSpan) -> bool:
        return any(has_literal(text, literal) for text in self._texts)

    def has_name(self, name: Name, text: str) -> bool:
        if self._vocabulary.has(name.words):
            return True
        if name.opens:
            return not languages.is_english(text) or is_common_word(name.words)
        return name.words.istitle() and not languages.is_english(text) and languages.is_german(text)

    def has_value(self, value: TextValue, text: str) -> bool:
        return (
            self._known.has(value)
            or (value.kind in _LETTERS and self._has_words(value.words))
            or self._has_day(value, text)
            or self._has_parts(value)
            or self._has_elsewhere(value)
        )

    @cached_property
    def _vocabulary(self) -> Vocabulary:
        return Vocabulary(self._texts)

    def _has_words(self, words: str) -> bool:
        """Whether a source has words; of an identifier the parts may be apart or joined."""
        parts = re.findall(r"[^\W\d_]+|\d+|[^\w\s-]+|_+", words.lower().removesuffix("s"))
        pattern = r"[\s-]?".join(map(re.escape, parts))
        whole = rf"(?<!\w)(?<!\d[.,/:-]){pattern}s?(?!\w|[.,/:-]\d)"
        return re.search(whole, self._low) is not None

    def _has_parts(self, value: TextValue) -> bool:
        if value.kind == "date" and "/" in value.words:
            return all(
                self._known.has(part) for part in find_values(value.words.replace("/", " and "))
            )
        return False

    def _has_day(self, value: TextValue, text: str) -> bool:
        if value.kind in ("date", "month", "number"):
            return not self._days.isdisjoint(value.forms) or (
                value.kind == "number" and not value.has_unit and self._is_year_or_day(value)
            )
        if value.kind == "weekday":
            dated = [
                one for one in find_values(text) if one.kind == "date" and _is_near(one, value)
            ]
            days = {f"weekday {day.weekday()}" for day in self._spoken}
            days |= {
                f"weekday {day.weekday()}"
                for one in dated
                for day in self._dates
                if forms_of(day) & one.forms
            }
            return not days.isdisjoint(value.forms)
        return False

    def _is_year_or_day(self, value: TextValue) -> bool:
        numbers = {str(day.year) for day in self._dates}
        if re.fullmatch(r"\d+(?:st|nd|rd|th)", value.words):
            numbers |= {str(day.day) for day in self._dates}
        return not numbers.isdisjoint(value.bare)

    @cached_property
    def _spoken(self) -> set[date]:
        return {
            day
            for text, observed in zip(self._texts, self._observed, strict=True)
            if observed
            for day in spoken_days(text, observed)
        }

    @cached_property
    def _relative(self) -> set[date]:
        return {
            day
            for text, values, observed in zip(
                self._texts, self._values, self._observed, strict=True
            )
            if observed
            for day in relative_days(text, values, observed)
        }

    @cached_property
    def _dates(self) -> set[date]:
        return self._relative | {day for day in self._observed if day}

    @cached_property
    def _days(self) -> set[str]:
        """The forms of all days that sources speak of without their date."""
        forms = {form for day in self._dates for form in forms_of(day) if "month" not in form}
        for values, observed in zip(self._values, self._observed, strict=True):
            if observed:
                forms.update(form for value in values for form in years_of(value, observed))
        return forms

    def _has_elsewhere(self, value: TextValue) -> bool:
        """Whether a source has a value in another language."""
        for form in value.forms:
            if value.kind == "weekday":
                return languages.has_weekday(self._low, int(form[-1]))
            if found := re.fullmatch(r"(\d{4}-)?(?:month )?(0[1-9]|1[0-2])(?:-(\d\d))?", form):
                if found[1] and found[1][:4] not in self._low:
                    return False
                return languages.has_month(self._low, int(found[2]), found[3])
        return self._elsewhere.has(value)

    @cached_property
    def _elsewhere(self) -> KnownValues:
        foreign = (text for text in self._texts if not languages.is_english(text))
        readings = (read for text in foreign for read in languages.in_digits(text))
        return KnownValues(value for read in readings for value in find_values(read))


def _is_near(one: TextValue, other: TextValue) -> bool:
    return -3 <= one.start - other.end <= 3 or -3 <= other.start - one.end <= 3
