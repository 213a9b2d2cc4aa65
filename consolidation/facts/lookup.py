"""Look up which numbers, names, identifiers, code and quotations of a text its sources lack.

They are compared by their letters and digits, in their order. Other spellings of a value are known
only for dates and for numbers in words: a writer that sees what is missing can repeat what the
memory says, and a model checks the rest, plain words and units among them.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date
from functools import cached_property
from itertools import pairwise
from operator import itemgetter
from typing import Protocol

from slowwave.consolidation.text.invisible import find_invisible
from slowwave.store.records import UNDATED

from .languages import (
    Day,
    find_days,
    in_digits,
    is_english,
    is_plain_word,
    months,
    observed_on,
    weekdays,
)
from .literals import find_literals, has_literal
from .specifics import Specific, find_specifics, letters_of, numbers_of

_TIME = re.compile(r"(\d{1,2})(?:[:.h](\d\d)(?:[ap]\.?m\.?)?|[ap]\.?m\.?)", re.IGNORECASE)
# Forms of a word share at least this many letters: "German", "Germany".
_MIN_STEM = 4
_MAX_INITIALS = 5


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
    """Words of a text that are in none of its sources: a number, name, path and so on."""

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
    """A number or identifier of a source that a text lacks."""

    source: str
    words: str
    kind: str


@dataclass(frozen=True)
class _Undated:
    """Evidence of unknown origin."""

    text: str
    id: str = ""
    observed_at: str = UNDATED


def find_unsupported(text: str, sources: Sequence[Evidence]) -> list[Fault]:
    """Return the specifics, code and quotations of a text that no source has, in its order."""
    evidence, literals = _Sources(sources), list(find_literals(text))
    quoted = [range(literal.start, literal.end) for literal in literals]
    hidden = find_invisible(text, [source.text for source in sources])
    faults = [(0, Fault(hidden, "invisible"))] if hidden else []
    faults += [
        (literal.start, Fault(text[literal.start : literal.end], literal.kind))
        for literal in literals
        if not any(has_literal(source.text, literal) for source in sources)
    ]
    faults += [
        (specific.start, Fault(specific.words, specific.kind.replace("opening", "name")))
        for specific in find_specifics(text)
        if not evidence.has(specific, text) and not any(specific.start in span for span in quoted)
    ]
    return list(dict.fromkeys(fault for _, fault in sorted(faults, key=itemgetter(0))))


def find_missing(text: str, sources: Sequence[Evidence]) -> list[Hint]:
    """Return the numbers, identifiers and paths of sources that a text lacks, each once."""
    hints: dict[str, Hint] = {}
    evidence = _Sources([_Undated(text)])
    for source in sources:
        for specific in find_specifics(source.text):
            is_value = specific.kind not in ("name", "opening")
            if is_value and not evidence.has(specific, source.text):
                hint = Hint(source.id, specific.words, specific.kind)
                hints.setdefault(specific.words.lower(), hint)
    return list(hints.values())


def has_specifics(text: str, part: str) -> bool:
    """Whether a text has all names, values, code and quotations of another."""
    return not find_unsupported(part, [_Undated(text)])


class _Sources:
    """Texts, each with the day of its observation, in which specifics are looked up."""

    def __init__(self, sources: Sequence[Evidence]) -> None:
        self._texts = [source.text for source in sources]
        self._observed_on = [observed_on(source.observed_at) for source in sources]
        self._observed = [day for day in self._observed_on if day is not None]
        self._letters = [_spaced(letters_of(text)) for text in self._texts]
        self._numbers = [_spaced(numbers_of(text)) for text in self._texts]

    def has(self, specific: Specific, text: str) -> bool:
        """Whether a source has a specific of a text."""
        letters = letters_of(specific.words)
        if not letters or self._has(letters):
            return True
        match specific.kind:
            case "number":
                return (
                    self._has_number(specific.words)
                    or self._has_time(specific.words)
                    or self._has_day(specific, text)
                )
            case "name":
                return self._has_name(letters) or self._has_day(specific, text)
            case "opening":
                is_known = self._has_name(letters) or self._has_day(specific, text)
                return is_known or is_plain_word(specific.words) or not is_english(text)
        return False

    def _has(self, letters: Sequence[str]) -> bool:
        """Whether a source has these runs of letters and digits in a row, or their plural."""
        joined = " ".join(letters)
        forms = {joined, joined.removesuffix("s"), f"{joined}s"}
        return any(f" {form} " in text for form in forms for text in self._letters)

    def _has_number(self, words: str) -> bool:
        number = _spaced(numbers_of(words))
        years = [f" {day.year} " for day in self._observed]
        return any(number in numbers for numbers in (*self._numbers, *years)) or any(
            number in numbers for numbers in self._in_digits
        )

    def _has_time(self, words: str) -> bool:
        """Whether a source has a time of day in words, or in 12 instead of 24 hours."""
        time = _TIME.fullmatch(words)
        if time is None:
            return False
        hour, minute = int(time[1]), int(time[2] or 0)
        forms = [f" {(hour + 12) % 24} {minute} ", *([] if minute else [f" {hour} "])]
        if any(form in numbers for form in forms for numbers in self._numbers):
            return True
        # "Half past eight", "ten past eight"; "a quarter to nine", "ten to nine".
        for shown, minutes in ((hour, minute), (hour + 1, 60 - minute)):
            before = "" if minutes in (0, 15, 30) else f"{minutes} "
            hours = {f" {before}{shown} ", f" {before}{shown % 12 or 12} "}
            if any(form in numbers for form in hours for numbers in self._in_digits):
                return True
        return False

    @cached_property
    def _in_digits(self) -> list[str]:
        """The numbers of the texts, with number words in digits."""
        return [_spaced(numbers_of(read)) for text in self._texts for read in in_digits(text)]

    def _has_name(self, letters: Sequence[str]) -> bool:
        joined = "".join(letters)
        if joined in self._pairs or (
            1 < len(joined) <= _MAX_INITIALS and any(joined in text for text in self._initials)
        ):
            return True
        return all(
            part in self._words
            or part in self._stems
            or any(part[:length] in self._words for length in range(_MIN_STEM, len(part)))
            for part in letters
        )

    @cached_property
    def _stems(self) -> set[str]:
        """The beginnings of the words: a form of a word may be longer, "Germany" for "German"."""
        return {word[:length] for word in self._words for length in range(_MIN_STEM, len(word))}

    @cached_property
    def _words(self) -> set[str]:
        return {word for letters in self._letters for word in letters.split()}

    @cached_property
    def _pairs(self) -> set[str]:
        """The words and adjacent pairs of words, joined: "pull request" for "PullRequest"."""
        word_lists = (letters.split() for letters in self._letters)
        return self._words.union(*(map("".join, pairwise(words)) for words in word_lists))

    @cached_property
    def _initials(self) -> list[str]:
        return ["".join(word[0] for word in letters.split()) for letters in self._letters]

    def _has_day(self, specific: Specific, text: str) -> bool:
        """Whether a specific belongs to a day that a source names or may refer to."""
        for day in find_days(text):
            is_part = day.start <= specific.start < day.end
            if is_part and (
                any(map(day.is_day, self._days)) or any(map(day.is_near, self._undated))
            ):
                return True
        months_named = {months().get(word) for word in self._words}
        months_named |= {day.month for day in self._days}
        days_named = {weekdays().get(word.removesuffix("s")) for word in self._words}
        if days_named == {None}:  # "today", "yesterday"
            days_named |= {(day.weekday() - back) % 7 for day in self._undated for back in (0, 1)}
        return all(
            months().get(word, 0) in months_named
            or weekdays().get(word.removesuffix("s"), -1) in days_named
            for word in letters_of(specific.words)
        )

    @cached_property
    def _undated(self) -> list[date]:
        """When the texts were observed that name no day, but may mean one by "yesterday"."""
        pairs = zip(self._texts, self._observed_on, strict=True)
        return [day for text, day in pairs if day is not None and not find_days(text)]

    @cached_property
    def _days(self) -> list[Day]:
        """The days that the texts name, and those on which the others were observed."""
        named = [day for text in self._texts for day in find_days(text)]
        return named + [Day(0, 0, day.year, day.month, day.day) for day in self._undated]


def _spaced(words: Sequence[str]) -> str:
    return f" {' '.join(words)} "
