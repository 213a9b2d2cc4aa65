"""Numbers in digits and in words of English, each with its unit: "1e7", "10,000,000", "two hours".

Words of other languages are only looked up (`languages.py`) if a value is missing. This is not left
to text2num, which does not read "a dozen" and "two and a half" and is not pure Python.
"""

from __future__ import annotations

import re
from decimal import Decimal

from slowwave.consolidation.text.alternation import any_of

from .units import CURRENCY, UNITS, Measure

_UP_TO_TWENTY = (
    *("zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten"),
    *("eleven", "twelve", "thirteen", "fourteen", "fifteen", "sixteen", "seventeen"),
    *("eighteen", "nineteen", "twenty"),
)
NUMBER_WORDS = {word: value for value, word in enumerate(_UP_TO_TWENTY)}
NUMBER_WORDS |= {"thirty": 30, "forty": 40, "fifty": 50, "sixty": 60, "seventy": 70, "eighty": 80}
NUMBER_WORDS |= {"ninety": 90}
SCALES = {"dozen": 12, "hundred": 100}
SCALES |= {"thousand": 1_000, "million": 1_000_000, "billion": 1_000_000_000}
_ONES = [word for word, number in NUMBER_WORDS.items() if number < 20]
_TENS = [word for word, number in NUMBER_WORDS.items() if number >= 20]
# Adverbs, and words for a half and for two.
COUNTS = {"once": "1", "twice": "2", "thrice": "3", "half": "0.5", "both": "2", "couple": "2"}
COUNTS |= {"double": "2", "pair": "2", "½": "0.5", "¼": "0.25", "¾": "0.75"}
ORDINALS = {"first": 1, "second": 2, "third": 3, "fifth": 5, "eighth": 8, "ninth": 9, "twelfth": 12}
ORDINALS |= {
    re.sub("y$", "ie", word) + "th": number
    for word, number in NUMBER_WORDS.items()
    if number not in (0, *ORDINALS.values())
}

_SMALL = rf"(?:{any_of(_TENS)})(?:[ -](?:{any_of(_ONES[1:10])}))?"
_SMALL = rf"(?:{_SMALL}|{any_of(_ONES)})"
_SCALE = any_of(SCALES)
SPELLED = (
    rf"\b(?:{_SMALL}|an?(?= (?:{_SCALE})\b))(?:[ -](?:{_SCALE})\b(?:(?: and)? {_SMALL}\b)?)*"
    r"(?:\b(?: and a half)?)"
)
_GROUPS = r"\d{1,3}(?:,\d{3})+(?!\d)|\d{1,3}(?:[.'\u2019\u2009\u202f\u00a0 ]\d{3})+(?![\d.])"
DIGITS = (
    rf"(?:{_GROUPS}|\d+)(?:[.,]\d+)?(?:[eE][+-]?\d+\b|(?:\^|\*\*)\d+|[⁰¹²³⁴-⁹]+)?"
    rf"(?: ?[\u00d7x*] ?10(?:\^|\*\*)?-?[\d⁰¹²³⁴-⁹]+)?[½¼¾]?"
)
UNIT = any_of(UNITS)
# Longer numbers are compared as they are written.
_MAX_LENGTH = 40
_MAX_POWER = 40
_SUPERSCRIPTS = str.maketrans("⁰¹²³⁴⁵⁶⁷⁸⁹", "0123456789")
_FRACTIONS = str.maketrans({"½": ".5", "¼": ".25", "¾": ".75"})
_QUANTITY = re.compile(
    rf"(?P<sign>[-\u2212\u2013]|[Mm]inus )?(?P<money>{CURRENCY})?(?P<digits>{DIGITS})"
    rf"(?P<kilo>[kK](?![A-Za-z]))?(?:[ -]?(?P<scale>(?i:{_SCALE})|M)(?!\w))?"
    rf"(?:[\s-]?(?P<unit>{UNIT})(?!\w))?",
)


def decimal_form(number: Decimal) -> str:
    """Return a number without exponent and trailing zeros."""
    return f"{number.normalize():f}"


def spelled_number(words: str) -> Decimal:
    """Return the number that words mean: "two hundred and fifty" is 250, "two and a half" 2.5."""
    total, current = Decimal(0), Decimal(0)
    for word in re.split(r"[ -]", words.lower()):
        if word in NUMBER_WORDS:
            current += NUMBER_WORDS[word]
        elif word in ("dozen", "hundred"):
            current = max(current, Decimal(1)) * SCALES[word]
        elif word in SCALES:
            total, current = total + max(current, Decimal(1)) * SCALES[word], Decimal(0)
        elif word == "half":
            current += Decimal("0.5")
    return total + current


def readings(digits: str) -> dict[str, Decimal]:
    """Return what digits may mean, by the form in which they are compared without a unit.

    "1,500" is fifteen hundred or, with a decimal comma, one and a half; "0043" is not 43.
    """
    plain = digits.translate(_SUPERSCRIPTS)
    if power := re.fullmatch(r"(.+?) ?[\u00d7x*] ?10(?:\^|\*\*)?(-?\d+)", plain):
        return {
            decimal_form(number): number
            for base in readings(power[1]).values()
            for number in [base.scaleb(_power(power[2]))]
        }
    if power := re.fullmatch(r"([1-9]\d*)(?:\^|\*\*)(\d+)", plain):
        number = Decimal(power[1]) ** _power(power[2])
        return {decimal_form(number): number}
    if digits != plain and (power := re.fullmatch(r"(\d+)([⁰¹²³⁴-⁹]+)", digits)):
        number = Decimal(power[1]) ** _power(power[2].translate(_SUPERSCRIPTS))
        return {decimal_form(number): number, power[1]: Decimal(power[1])}
    if power := re.fullmatch(r"(\d+(?:[.,]\d+)?)[eE]([+-]?\d+)", plain):
        number = Decimal(power[1].replace(",", ".")).scaleb(_power(power[2]))
        return {decimal_form(number): number}
    plain = re.sub(r"(?<!\d)(?=\.)", "0", plain.translate(_FRACTIONS))
    found = {}
    for thousands, point in ((",", "."), (".", ","), ("'", "."), ("’", ".")):
        whole, _, part = re.sub(r"[\u2009\u202f\u00a0 ]", "", plain).rpartition(point)
        if not whole:
            whole, part = part, ""
        if not re.fullmatch(rf"\d+|\d{{1,3}}(?:{re.escape(thousands)}\d{{3}})+", whole):
            continue
        if not re.fullmatch(r"\d*", part):
            continue
        form = whole.replace(thousands, "") + (f".{part}" if part else "")
        found[form] = Decimal(form)
    return found


def quantity(words: str) -> tuple[frozenset[str], frozenset[str], bool]:
    """Return the forms of a number in digits, those without its unit, and whether it has one."""
    parts = _QUANTITY.fullmatch(words) if len(words) <= _MAX_LENGTH else None
    if parts is None:
        return frozenset(), frozenset({words.lower()}), False
    sign = "-" if parts["sign"] else ""
    scale = (1_000 if parts["kilo"] else 1) * SCALES.get((parts["scale"] or "").lower(), 1)
    factors = [scale, 10**6] if parts["scale"] == "M" else [scale]
    numbers = {
        form if number == scaled else decimal_form(scaled): scaled
        for form, number in readings(parts["digits"]).items()
        for scaled in [number * factor for factor in factors]
    }
    if not numbers:
        return frozenset(), frozenset({words.lower()}), False
    named = parts["unit"] or (parts["money"] or "").strip().lower()
    return measured(sign, numbers, UNITS.get(named) or UNITS.get(named.lower(), ()))


def _power(exponent: str) -> int:
    """Return an exponent, limited to `_MAX_POWER`."""
    return max(-_MAX_POWER, min(int(exponent), _MAX_POWER))


def measured(
    sign: str, numbers: dict[str, Decimal], measures: tuple[Measure, ...]
) -> tuple[frozenset[str], frozenset[str], bool]:
    """Return the forms of numbers with each unit that they may have, and without one."""
    bare = {f"{sign}{form}" for form in numbers}
    if not measures:
        return frozenset(), frozenset(bare), False
    bare |= {f"{sign}{decimal_form(number)}" for number in numbers.values()}
    forms = {
        f"{sign}{decimal_form(number * size)} {base}"
        for number in numbers.values()
        for base, size in measures
    }
    return frozenset(forms), frozenset(bare), True


def counted(word: str) -> Decimal | None:
    """Return the number that a word means: "twice", "third", "forty-two"; None if it means none."""
    low = word.lower()
    if low in COUNTS:
        return Decimal(COUNTS[low])
    first, _, last = low.replace("-", " ").rpartition(" ")
    if last in ORDINALS:
        return Decimal(ORDINALS[last] + (NUMBER_WORDS.get(first, 0) if first else 0))
    return None


COUNTED = rf"(?:(?:{any_of(_TENS)})[ -])?(?:{any_of(ORDINALS)})|{any_of(COUNTS)}"
