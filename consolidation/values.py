"""The values in a text that must not be confused: numbers, dates, versions, paths, identifiers.

By patterns, from the most specific to the plainest. Two spellings of one value have one norm:
"5 minutes", "five min" and "5min"; "3pm" and "15:00"; "3 March" and "March 3rd".
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from . import lexicon
from .tokens import Token

_MONTH = "|".join(rf"{month}|{month[:3]}\.?" for month in lexicon.MONTHS)
_UNIT = "|".join(sorted((re.escape(unit) for unit in lexicon.UNITS), key=len, reverse=True))

# In this order: what an earlier pattern took is not looked at by a later one.
_VALUES = {
    "url": r"\b[a-z][a-z0-9+.-]*://[^\s<>\"'`)]+",
    "email": r"\b[\w.+-]+@[\w-]+(?:\.[\w-]+)+\b",
    "path": r"(?<![\w/])(?:~|\.{1,2})?/(?:[\w.@-]+/?)+|\b[\w.-]+/(?:[\w.@-]+/)*[\w@-]+\.\w{1,5}\b",
    "quoted": r"`[^`]+`|\"[^\"]+\"|“[^”]+”|(?<!\w)'[^']+'(?!\w)",
    "address": r"\b\d{1,3}(?:\.\d{1,3}){3}(?:/\d{1,2})?(?::\d+)?\b",
    "date": (
        r"\b\d{4}-\d{2}-\d{2}\b|\b\d{1,2}/\d{1,2}(?:/\d{2,4})?\b"
        rf"|\b\d{{1,2}}(?:st|nd|rd|th)?(?: of)? (?:{_MONTH})\b(?:,? \d{{4}}\b)?"
        rf"|\b(?:{_MONTH}) \d{{1,2}}(?:st|nd|rd|th)?\b(?:,? \d{{4}}\b)?"
    ),
    "time": (
        r"\b\d{1,2}(?:[:.]\d{2})?\s?[ap]\.?m\b\.?|\b\d{1,2}:\d{2}(?::\d{2})?\b|\b(?:noon|midnight)\b"
        r"|\b\d{1,2} o'clock\b"
    ),
    "version": r"\bv\d+(?:\.\d+)*\b|\b\d+(?:\.\d+){2,}(?:[-+.]?(?:rc|a|b|alpha|beta)\d*)?\b",
    "host": r"\b(?:[a-z0-9-]+\.)+[a-z][a-z0-9-]+(?::\d+)?\b",
    "identifier": (
        r"(?<!\w)--?[a-z][\w-]+|\b\w*[a-z0-9]_\w+\b|\b_\w+\b|\b[A-Z0-9]+_[A-Z0-9_]+\b"
        r"|\b[a-z]+[A-Z]\w*\b|\b(?:[A-Z][a-z0-9]+){2,}\b|\b[A-Z]{2,}-\d+\b|#\d+\b"
        r"|\b(?=\w*\d)(?=\w*[A-Za-z])(?!\d+(?:st|nd|rd|th)\b)"
        rf"(?!\d+(?:{_UNIT})\b)[A-Za-z0-9]+(?:-[A-Za-z0-9]+)*\b"
    ),
    "number": (rf"[$€£]?\b\d[\d,]*(?:\.\d+)?(?:[\s-]?(?:{_UNIT})(?![\w]))?"),
}
_VALUE = re.compile("|".join(f"(?P<{kind}>{pattern})" for kind, pattern in _VALUES.items()), re.I)
# Letter case is what makes these two: the pattern for them must see it.
_CASED = frozenset({"identifier"})
_IDENTIFIER = re.compile(_VALUES["identifier"])

# What a value is compared with: the values of its own family.
FAMILIES = {
    "url": "path",
    "path": "path",
    "email": "path",
    "quoted": "quoted",
    "address": "host",
    "host": "host",
    "date": "date",
    "weekday": "weekday",
    "time": "time",
    "version": "version",
    "identifier": "identifier",
    "number": "number",
}


@dataclass(frozen=True, order=True)
class Value:
    """A value that stands in a text; two are the same if `family` and `norm` are."""

    family: str
    norm: str
    text: str

    @property
    def key(self) -> tuple[str, str]:
        """What it is compared by."""
        return self.family, self.norm


def find_values(text: str, tokens: Sequence[Token]) -> list[Value]:
    """Give the values that a text states, each with what it is compared by."""
    found = []
    taken: list[tuple[int, int]] = []
    for match in _VALUE.finditer(text):
        kind = match.lastgroup or ""
        raw = match.group()
        if kind in _CASED and not _IDENTIFIER.fullmatch(raw):
            continue
        taken.append(match.span())
        found.append(Value(FAMILIES[kind], _norm(kind, raw), raw))
        # The year by itself, so that "3 March" and "3 March 2026" agree, and two years do not.
        if kind == "date" and (year := re.search(r"\b\d{4}\b", raw)):
            found.append(Value("year", year.group(), raw))
    for token in tokens:
        lower = token.lower.rstrip("s")
        if not token.capitalised:
            continue
        if lower in lexicon.WEEKDAYS:
            found.append(Value("weekday", lower, token.text))
        elif token.lower in lexicon.MONTHS and not token.starts_sentence:
            dated = any(start <= token.start < end for start, end in taken)
            if not dated:
                found.append(Value("month", token.lower, token.text))
    return found + _number_words(tokens)


def _norm(kind: str, raw: str) -> str:
    lower = raw.lower()
    match kind:
        case "quoted":
            return lower[1:-1].strip(" .,;:!?")
        case "date":
            return _date(lower)
        case "time":
            return _time(lower)
        case "number":
            return _number(lower)
        case "version":
            return lower.removeprefix("v")
        case "url" | "path":
            return lower.rstrip("/.,;:")
    return lower


def _date(text: str) -> str:
    if re.fullmatch(r"\d{4}-\d{2}-\d{2}", text):
        _, month, day = text.split("-")
        return f"{int(month)}-{int(day)}"
    if "/" in text:
        return text
    numbers = re.findall(r"\d+", text)
    name = next(word for word in re.findall(r"[a-z]+", text) if word[:3] in _MONTH_NUMBERS)
    return f"{_MONTH_NUMBERS[name[:3]]}-{int(numbers[0])}"


_MONTH_NUMBERS = {month[:3]: number for number, month in enumerate(lexicon.MONTHS, start=1)}


def _time(text: str) -> str:
    if text in ("noon", "midnight"):
        return {"noon": "12:00", "midnight": "0:00"}[text]
    numbers = [int(number) for number in re.findall(r"\d+", text)]
    hour, minute = numbers[0], numbers[1] if len(numbers) > 1 else 0
    if re.search(r"p\.?m", text):
        hour = hour % 12 + 12
    elif re.search(r"a\.?m", text):
        hour %= 12
    return f"{hour}:{minute:02d}"


def _number(text: str) -> str:
    match = re.fullmatch(r"([$€£]?)([\d,]+(?:\.\d+)?)[\s-]?(.*)", text)
    sign, digits, unit = match.groups() if match else ("", text, "")
    number = digits.replace(",", "")
    if "." not in number:
        number = str(int(number or 0))
    return f"{number} {lexicon.UNITS.get(unit or sign, '')}".strip()


def _number_words(tokens: Sequence[Token]) -> list[Value]:
    """Find numbers written as words: "five", "twenty-one", "three hundred", "a dozen"."""
    found = []
    index = 0
    while index < len(tokens):
        used: list[str] = []
        total, position = 0, index
        while position < len(tokens):
            word = tokens[position].lower
            parts = word.split("-")
            if all(part in lexicon.NUMBER_WORDS for part in parts):
                total += sum(lexicon.NUMBER_WORDS[part] for part in parts)
            elif word in lexicon.SCALES and used:
                total *= lexicon.SCALES[word]
            else:
                break
            used.append(tokens[position].text)
            position += 1
        # "one" alone is a pronoun as often as a number.
        if used and [word.lower() for word in used] != ["one"]:
            after = tokens[position].lower if position < len(tokens) else ""
            unit = lexicon.UNITS.get(after, "")
            found.append(Value("number", f"{total} {unit}".strip(), " ".join(used)))
        index = max(position, index + 1)
    return found
