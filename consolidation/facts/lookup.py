"""Look up which values and names of a text its sources lack, and which of theirs the text lacks.

Libraries were measured for this. dateparser reads "5432 on" as a date, and "the 29th" as a day two
years ago; Microsoft's recognizers-text misses the latter and cannot be imported with a current
emoji; py3langid takes 0.7 s and fails on notes of three words. `languages.py` has those in use.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import date
from functools import cached_property
from itertools import chain
from operator import itemgetter
from typing import Protocol

from slowwave.consolidation.text.invisible import find_invisible
from slowwave.consolidation.text.tokens import is_content

from . import languages
from .days import forms_of, observed_on, relative_days, spoken_days, years_of
from .literals import LiteralSpan, find_literals, has_literal
from .names import Name, Vocabulary, find_names, is_common_word
from .numerals import NUMBER_WORDS
from .values import KnownValues, TextValue, find_values, is_lower_word

# Kinds of values that are compared by their letters.
_LETTERS = ("url", "path", "identifier", "version")
# Numbers of list items, at the start of a line; within a line they count from 1.
_LISTED = re.compile(r"^[ \t]*\(?\d{1,2}[.)](?=\s)", re.MULTILINE)
_LISTED_WITHIN = re.compile(r"(?<=\s)\(?(\d{1,2})\)(?=\s)|^\(?(1)\)(?=\s)")


class Evidence(Protocol):
    """A memory or a message that a text is derived from."""

    @property
    def id(self) -> str:
        """The id by which it is cited."""

    @property
    def text(self) -> str:
        """Its text."""

    @property
    def observed_at(self) -> str:
        """When it was observed: ISO 8601, or `store.records.UNDATED`."""


@dataclass(frozen=True)
class Fault:
    """Words of a text that are in none of its sources: a number, date, name, path and so on."""

    words: str
    kind: str

    @property
    def why(self) -> str:
        """A sentence for the model and for the user."""
        if self.kind == "invisible":
            return f"{self.words} (invisible) is not allowed in a memory"
        return f'"{self.words}" ({self.kind}) is in none of the cited memories'


@dataclass(frozen=True)
class Hint:
    """A value of a source that a text lacks, verbatim."""

    source: str
    words: str
    kind: str


def find_unsupported(text: str, sources: Sequence[Evidence]) -> list[Fault]:
    """Return the values, names, code and quotations of a text that no source has, in its order."""
    known = _Sources([(source.text, source.observed_at) for source in sources])
    values, literals = find_values(text), list(find_literals(text))
    marked = _places((literal.start, literal.end) for literal in literals)
    hidden = find_invisible(text, [source.text for source in sources])
    found = [(0, Fault(hidden, "invisible"))] if hidden else []
    found += [
        (literal.start, Fault(text[literal.start : literal.end], literal.kind))
        for literal in literals
        if not known.has_literal(literal)
    ]
    found += [
        (value.start, Fault(value.words, value.kind))
        for value in _once(_stated(text, values))
        if value.start not in marked and not known.has_value(value, text)
    ]
    found += [
        (name.start, Fault(name.words, "name"))
        for name in _proper(text, values)
        if name.start not in marked and not known.has_name(name, text)
    ]
    return list(dict.fromkeys(fault for _, fault in sorted(found, key=itemgetter(0))))


def find_missing(text: str, sources: Sequence[Evidence]) -> list[Hint]:
    """Return the values of sources that a text lacks, each once: hints, never faults."""
    known = _Sources([(text, source.observed_at) for source in sources[:1]])
    hints: dict[tuple[str, str], Hint] = {}
    for source in sources:
        for value in _stated(source.text, find_values(source.text)):
            if not known.has_value(value, source.text):
                hint = Hint(source.id, value.words, value.kind)
                hints.setdefault((value.words.lower(), value.kind), hint)
    return list(hints.values())


def names_of(text: str) -> tuple[str, ...]:
    """Return the proper names and identifiers of a text in its order, each once."""
    values = find_values(text)
    found = [(value.start, value.words) for value in values if value.kind == "identifier"]
    found += [(name.start, name.words) for name in _proper(text, values) if not name.opens]
    return tuple(dict.fromkeys(words for _, words in sorted(found)))


def _stated(text: str, values: Sequence[TextValue]) -> list[TextValue]:
    """Omit what is not a value of a text by itself: units, list numbers, "both"."""
    within = list(_LISTED_WITHIN.finditer(text))
    are_counting = [int(item[1] or item[2]) for item in within] == [*range(1, len(within) + 1)]
    items = (*_LISTED.finditer(text), *(within if are_counting else ()))
    listed = _places(item.span() for item in items)
    return [
        value
        for value in values
        if value.kind not in ("unit", "count")
        and value.words.lower() not in ("twice", "two")
        and value.start not in listed
        and not is_lower_word(text, value)
    ]


def _once(values: Iterable[TextValue]) -> list[TextValue]:
    """Omit repeated values. A weekday is not one: the date next to it may support it."""
    seen: dict[object, TextValue] = {}
    for value in values:
        place = value.start if value.kind == "weekday" else 0
        seen.setdefault((value.words.lower(), value.kind, value.forms, place), value)
    return list(seen.values())


def _proper(text: str, values: Sequence[TextValue]) -> Iterator[Name]:
    """Yield the names of a text outside its values and number words."""
    taken = _places(
        (value.start, value.end)
        for value in values
        if value.kind != "unit" and (value.kind != "number" or value.words[0].isdigit())
    )
    for name in find_names(text):
        if name.words.lower() not in NUMBER_WORDS and name.start not in taken:
            yield name


def _places(spans: Iterable[tuple[int, int]]) -> frozenset[int]:
    """Return the indices within spans of a text."""
    return frozenset(chain.from_iterable(range(*span) for span in spans))


class _Sources:
    """Texts, each with the time of its observation, in which values and names are looked up."""

    def __init__(self, sources: Sequence[tuple[str, str]]) -> None:
        self._texts = [text for text, _ in sources]
        self._low = " \n".join(" ".join(text.split()) for text in self._texts).lower()
        self._values = [find_values(text) for text in self._texts]
        self._observed = [observed_on(observed_at) for _, observed_at in sources]
        self._known = KnownValues(value for values in self._values for value in values)

    def has_literal(self, literal: LiteralSpan) -> bool:
        return any(has_literal(text, literal) for text in self._texts)

    def has_name(self, name: Name, text: str) -> bool:
        if self._vocabulary.has(name.words):
            return True
        if not any(map(str.islower, text.split())):  # names alone are in no language
            text = " ".join(self._texts)
        if name.opens:
            is_word = not is_content(name.words.lower()) or is_common_word(name.words)
            return is_word or not languages.is_english(text)
        is_foreign = name.words.istitle() and not languages.is_english(text)
        return is_foreign and languages.is_written_in("de", text)

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
        """Whether a source has words, whose parts may be separate or joined in an identifier."""
        parts = re.findall(r"[^\W\d_]+|\d+|[^\w\s-]+|_+", words.lower().removesuffix("s"))
        pattern = r"[\s-]?".join(map(re.escape, parts))
        whole = rf"(?<!\w)(?<!\d[.,/:-]){pattern}s?(?!\w|[.,/:-]\d)"
        return re.search(whole, self._low) is not None

    def _has_parts(self, value: TextValue) -> bool:
        if value.kind != "date" or "/" not in value.words:
            return False
        return all(map(self._known.has, find_values(value.words.replace("/", " and "))))

    def _has_day(self, value: TextValue, text: str) -> bool:
        if value.kind in ("date", "month", "number"):
            return not self._days.isdisjoint(value.forms) or (
                value.kind == "number" and not value.has_unit and self._is_year_or_day(value)
            )
        if value.kind == "weekday":
            adjacent = [
                dated
                for dated in find_values(text)
                if dated.kind == "date"
                and min(abs(dated.start - value.end), abs(value.start - dated.end)) <= 3
            ]
            days = {f"weekday {day.weekday()}" for day in self._spoken}
            days |= {
                f"weekday {day.weekday()}"
                for dated in adjacent
                for day in self._dates
                if forms_of(day) & dated.forms
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
    def _dates(self) -> set[date]:
        sources = zip(self._texts, self._values, self._observed, strict=True)
        relative = (relative_days(text, values, day) for text, values, day in sources if day)
        return {day for day in self._observed if day}.union(*relative)

    @cached_property
    def _days(self) -> set[str]:
        """The forms of all days that sources refer to without their date."""
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
