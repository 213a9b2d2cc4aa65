"""Numbers with their units, in digits and in words, brought to one form.

"five minutes", "5min" and "300 seconds" are all "300 s", "$5k" is "5000 USD", "twice" is 2. What a
number is counted by ("twice a week", "5 MB/s") is a value of its own, since "5 euros, paid
monthly" has it elsewhere. Two systems of units are never converted into each other.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from decimal import Decimal

from . import lexicon, units
from .tokens import Token

UNIT = "|".join(sorted((re.escape(unit) for unit in units.UNITS), key=len, reverse=True))
_SCALE = "|".join(lexicon.SCALES)
_SIGNS, _CODES = units.CURRENCY_SIGNS, "|".join(units.CURRENCY_CODES)

# A number in digits. The sign of "-5" counts, the dash of "3-5" does not.
DIGITS = (
    rf"(?:(?<![\w.)\]-])-)?(?:[{_SIGNS}]|\b(?:{_CODES}) )?"
    r"\b(?:\d{1,3}(?:,\d{3})+|\d+)(?:\.\d+)?"
    rf"(?:k\b)?(?: (?:{_SCALE})\b)?"
    rf"(?:[\s-]?(?:{UNIT})(?!\w))?(?:(?:/| per | an? )(?:{UNIT})(?!\w))?"
)
_PARTS = re.compile(
    rf"(?P<sign>-)?(?P<money>[{_SIGNS}]|(?:{_CODES}) )?(?P<digits>[\d,.]*\d)(?P<kilo>k)?"
    rf"(?: (?P<scale>{_SCALE}))?[\s-]?(?P<unit>{UNIT})?(?:(?:/| per | an? )(?P<each>{UNIT}))?"
)
_EACH = ("a", "an", "per")
_TIMES = {"once": 1, "twice": 2}
# With any other word no number begins.
_FIRST = lexicon.NUMBER_WORDS.keys() | lexicon.SCALES.keys() | _TIMES.keys() | {"a", "an"}
# "twenty-one-year-old" is as long as such words get; a hostile one does not get longer.
_PARTS_OF_A_WORD = 3
# No number takes more words than this.
_LONGEST = 12


def norm_of_digits(text: str) -> tuple[str, str]:
    """Return the form of what `DIGITS` found, in lower case, and of what it is counted by."""
    parts = _PARTS.fullmatch(text)
    assert parts is not None, text  # noqa: S101 - the two patterns have the same parts
    digits = parts["digits"].replace(",", "")
    named = [units.UNITS[one.strip()] for one in parts.group("money", "unit") if one]
    factor = (1_000 if parts["kilo"] else 1) * lexicon.SCALES.get(parts["scale"] or "", 1)
    sign = "-" if parts["sign"] else ""
    each = units.UNITS[parts["each"]] if parts["each"] else ""
    # 1.50 euros are 1.5 euros, but Python 3.10 is not Python 3.1, and 00417 is no quantity.
    if named or factor > 1:
        return f"{sign}{_quantity(Decimal(digits) * factor, ' '.join(named))}", each
    return f"{sign}{digits}", each


def _quantity(number: Decimal, unit: str) -> str:
    """Return an amount in the base of its unit: 90 minutes and 1.5 hours are both "5400 s"."""
    base, share = units.IN_BASE.get(unit, (unit, "1"))
    return f"{(number * Decimal(share)).normalize():f} {base}".strip()


def numbers_in_words(tokens: Sequence[Token]) -> Iterator[tuple[str, str, list[Token]]]:
    """Yield the form of each number that stands in words, what it is counted by, and the words."""
    words = [(part, token) for token in tokens for part in token.lower.split("-", _PARTS_OF_A_WORD)]
    index = 0
    while index < len(words):
        if words[index][0] not in _FIRST:
            index += 1
            continue
        before = words[index - 1][0] if index else ""
        ahead = [word for word, _ in words[index : index + _LONGEST]]
        norm, used = _read_words(before, ahead)
        each = _each(ahead[used:])
        # "once" without "a week" or "per hour" says when, not how often.
        if norm and (each or ahead[0] != "once"):
            used += 2 if each else 0
            yield norm, each, [token for _, token in words[index : index + used]]
        index += max(used, 1)


def _read_words(before: str, words: Sequence[str]) -> tuple[str, int]:
    """Return the number with which words begin, "" for none, and how many of them say it."""
    if words[0] in _TIMES:
        return str(_TIMES[words[0]]), 1
    if words[0] in ("a", "an") and before in units.MEASURING:
        unit = _unit(words[1:])
        return (_quantity(Decimal(1), unit), 2) if unit else ("", 1)
    number, used = _spelled(words)
    measured = used < len(words) and words[used] in units.UNITS
    # "one" alone is a pronoun as often as a number.
    if not used or (not measured and words[:used] == ["one"]):
        return "", used
    return _quantity(Decimal(number), _unit(words[used:])), used + measured


def _unit(words: Sequence[str]) -> str:
    return units.UNITS.get(words[0], "") if words else ""


def _each(words: Sequence[str]) -> str:
    """Return the unit of "a week" or "per week", if the words begin with that."""
    return _unit(words[1:]) if words and words[0] in _EACH else ""


def _spelled(words: Sequence[str]) -> tuple[int, int]:
    """Return the number that the first words spell, and how many of them do."""
    total = current = used = 0
    for at, word in enumerate(words):
        if word in lexicon.NUMBER_WORDS:
            current += lexicon.NUMBER_WORDS[word]
        elif word in ("dozen", "hundred"):
            current = max(current, 1) * lexicon.SCALES[word]
        elif word in lexicon.SCALES:
            total, current = total + max(current, 1) * lexicon.SCALES[word], 0
        elif word == "and" and used == at > 0 and words[at - 1] in lexicon.SCALES:
            continue
        else:
            break
        used = at + 1
    return total + current, used
