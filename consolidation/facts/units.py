"""Units of measurement, by SI prefix and base: how each is spelled, and its size in the base.

No library does this: quantulum3 guesses (3 s for its first text), and pint reads "kb" as a thousand
barns.
"""

from __future__ import annotations

from collections.abc import Iterator
from decimal import Decimal
from itertools import product

# A spelling may mean more than one thing: "5m" are minutes or meters.
Measure = tuple[str, Decimal]

_SMALL = {"n": -9, "µ": -6, "μ": -6, "u": -6, "m": -3, "c": -2, "d": -1, "": 0, "k": 3}
_LARGE = {"": 0, "k": 3, "K": 3, "M": 6, "G": 9, "T": 12}
_WORDY = {"nano": -9, "micro": -6, "milli": -3, "centi": -2, "": 0, "kilo": 3, "mega": 6}
_WORDY |= {"giga": 9, "tera": 12}
_BINARY = {"kibi": 1, "mebi": 2, "gibi": 3, "tebi": 4}
_SMALL_SYMBOLS = {"g": "g", "l": "l", "L": "l", "m": "m", "s": "s", "mol": "mol", "M": "mol/l"}
_LARGE_SYMBOLS = {"b": "bit"}
_LARGE_UNITS = ("B", "bit", "bps", "Bps", "Hz", "W", "Wh", "V", "A", "Pa", "Ω")
_LARGE_SYMBOLS |= {unit: unit for unit in _LARGE_UNITS}
_PREFIXED_WORDS = {"second": "s", "metre": "m", "meter": "m", "litre": "l", "liter": "l"}
_PREFIXED_WORDS |= {"gram": "g", "byte": "B", "bit": "bit", "watt": "W", "hertz": "Hz"}
_OTHERS: dict[str, tuple[str, int | str]] = {
    **dict.fromkeys(("minute", "min"), ("s", 60)),
    **dict.fromkeys(("hour", "hr", "h"), ("s", 3600)),
    **dict.fromkeys(("day", "d"), ("s", 86400)),
    **dict.fromkeys(("week", "wk"), ("s", 604800)),
    "fortnight": ("s", 1209600),
    "sec": ("s", 1),
    "month": ("month", 1),
    "quarter": ("month", 3),
    **dict.fromkeys(("year", "yr"), ("month", 12)),
    **dict.fromkeys(("%", "percent", "per cent", "pct"), ("%", 1)),
    **dict.fromkeys(("$", "usd", "dollar"), ("USD", 1)),
    **dict.fromkeys(("€", "eur", "euro"), ("EUR", 1)),
    **dict.fromkeys(("£", "gbp"), ("GBP", 1)),
    **dict.fromkeys(("°C", "celsius"), ("°C", 1)),
    **dict.fromkeys(("°F", "fahrenheit"), ("°F", 1)),
    **dict.fromkeys(("°", "degree"), ("°", 1)),
    "mile": ("mile", 1),
    **dict.fromkeys(("inch", "inches"), ("inch", 1)),
    **dict.fromkeys(("ft", "foot", "feet"), ("foot", 1)),
    "lb": ("pound", 1),
    "oz": ("ounce", 1),
    "px": ("px", 1),
    "kilo": ("g", 1000),
}
# What else a spelling may mean.
_ALSO: dict[str, tuple[tuple[str, int | str], ...]] = {
    "m": (("s", 60),),
    "pound": (("pound", 1), ("GBP", 1)),
    # Kelvin is rarer than a sloppy degree.
    "degree": (("°C", 1), ("°F", 1)),
    "°": (("°C", 1), ("°F", 1)),
    "celsius": (("°", 1),),
}
CURRENCY = r"[$€£]|\b(?:USD|EUR|GBP) ?"
# How often, in one word.
RATES = {"hourly": "hour", "daily": "day", "weekly": "week", "monthly": "month", "yearly": "year"}
RATES |= {"annual": "year", "annually": "year", "quarterly": "quarter", "nightly": "day"}
RATES |= {"fortnightly": "fortnight"}


def _spelled() -> Iterator[tuple[str, Measure]]:
    for prefixes, symbols in ((_SMALL, _SMALL_SYMBOLS), (_LARGE, _LARGE_SYMBOLS)):
        for (prefix, power), (symbol, base) in product(prefixes.items(), symbols.items()):
            measure = base, Decimal(10) ** power
            yield prefix + symbol, measure
            # "mb" and "ghz" are written, "Mb" may be either.
            if base in ("B", "Hz", "bps") and prefix:
                yield (prefix + symbol).lower(), measure
    for prefix, power in _BINARY.items():
        measure = "B", Decimal(1024) ** power
        for symbol in ("", "B"):
            yield f"{prefix[0].upper()}i{symbol}", measure
        yield from _with_plural(f"{prefix}byte", measure)
    for (prefix, power), (word, base) in product(_WORDY.items(), _PREFIXED_WORDS.items()):
        yield from _with_plural(prefix + word, (base, Decimal(10) ** power))
    for word, (base, size) in _OTHERS.items():
        yield from _with_plural(word, (base, Decimal(size)))
    for word, measures in _ALSO.items():
        for base, size in measures:
            yield from _with_plural(word, (base, Decimal(size)))


def _with_plural(word: str, measure: Measure) -> Iterator[tuple[str, Measure]]:
    forms = (word, f"{word}s") if word.isalpha() and len(word) > 1 else (word,)
    for form in forms:
        yield form, measure
        if len(word) > 2:
            yield form.capitalize(), measure
            yield form.upper(), measure


def _table() -> dict[str, tuple[Measure, ...]]:
    table: dict[str, tuple[Measure, ...]] = {}
    for spelling, measure in _spelled():
        if measure not in table.get(spelling, ()):
            table[spelling] = (*table.get(spelling, ()), measure)
    return table


UNITS = _table()
