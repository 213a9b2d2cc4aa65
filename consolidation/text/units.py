"""Units of measurement: how each is spelled, what it measures, which are multiples of another."""

from __future__ import annotations

# What is measured, to the spellings of its units, each under the name that stands for it.
_SPELLINGS = {
    "time": {
        "ns": "nanosecond nanoseconds",
        # With the micro sign, and with the Greek letter that looks the same.
        "µs": "\u00b5s \u03bcs microsecond microseconds",
        "ms": "ms millisecond milliseconds msec",
        "s": "s sec secs second seconds",
        "min": "min mins minute minutes",
        "h": "h hr hrs hour hours",
        "d": "day days",
        "wk": "week weeks",
        "mo": "month months",
        "yr": "yr yrs year years",
    },
    "share": {"%": "% percent pct", "": "x times"},
    "data": {
        "B": "byte bytes",
        "KB": "kb kilobyte kilobytes",
        "KiB": "kib kibibyte kibibytes",
        "MB": "mb megabyte megabytes",
        "MiB": "mib mebibyte mebibytes",
        "GB": "gb gigabyte gigabytes",
        "GiB": "gib gibibyte gibibytes",
        "TB": "tb terabyte terabytes",
        "TiB": "tib tebibyte tebibytes",
    },
    "money": {
        "USD": "$ usd dollar dollars",
        "EUR": "€ eur euro euros",
        "GBP": "£ gbp",
    },
    "money or weight": {"pound": "pound pounds"},
    "length": {
        "km": "km kilometre kilometres kilometer kilometers",
        "m": "m metre metres meter meters",
        "cm": "cm centimetre centimetres centimeter centimeters",
        "mm": "mm millimetre millimetres millimeter millimeters",
        "mi": "mile miles",
        "ft": "ft foot feet",
        "in": "inch inches",
    },
    "weight": {
        "kg": "kg kilo kilos kilogram kilograms",
        "g": "g gram grams",
        "mg": "mg milligram milligrams",
        "lb": "lb lbs",
        "oz": "oz ounce ounces",
    },
    "volume": {
        "l": "l litre litres liter liters",
        "ml": "ml millilitre millilitres milliliter milliliters",
    },
    "temperature": {"°C": "°c celsius", "°F": "°f fahrenheit", "°": "° degree degrees"},
    "rate": {
        "bps": "bps bit/s",
        "kbps": "kbps kbit/s",
        "Mbps": "mbps mbit/s",
        "Gbps": "gbps gbit/s",
        "Hz": "hz hertz",
        "kHz": "khz",
        "MHz": "mhz",
        "GHz": "ghz",
        "mph": "mph",
        "rpm": "rpm",
    },
    "power": {"W": "w watt watts", "kW": "kw kilowatt kilowatts", "kWh": "kwh"},
    "size on a screen": {"px": "px pixel pixels"},
}
UNITS = {
    spelling: name
    for names in _SPELLINGS.values()
    for name, spellings in names.items()
    for spelling in spellings.split()
} | {"per cent": "%"}
# What each measures, by its name; a pound is money or weight.
DIMENSIONS = {
    name: tuple(measured.split(" or "))
    for measured, names in _SPELLINGS.items()
    for name in names
    if name
}
CURRENCIES = frozenset(_SPELLINGS["money"])
# What may stand in front of a number: the sign of a currency, or its code.
CURRENCY_SIGNS = "".join(one for one, name in UNITS.items() if name in CURRENCIES and len(one) == 1)
CURRENCY_CODES = tuple(name.lower() for name in _SPELLINGS["money"])
# Units that are a multiple of another of the same system, exactly: the base, and how much of it one
# is. Nothing is converted between systems: a mile is no number of metres that anybody wrote.
IN_BASE = {
    **{"ns": ("s", "1e-9"), "µs": ("s", "1e-6"), "ms": ("s", "0.001")},
    **{"min": ("s", "60"), "h": ("s", "3600"), "d": ("s", "86400")},
    **{"wk": ("s", "604800"), "yr": ("mo", "12")},
    **{"KB": ("B", "1e3"), "MB": ("B", "1e6"), "GB": ("B", "1e9"), "TB": ("B", "1e12")},
    **{"KiB": ("B", "1024"), "MiB": ("B", "1048576"), "GiB": ("B", "1073741824")},
    **{"TiB": ("B", "1099511627776")},
    **{"km": ("m", "1000"), "cm": ("m", "0.01"), "mm": ("m", "0.001")},
    **{"kg": ("g", "1000"), "mg": ("g", "0.001"), "ml": ("l", "0.001")},
    **{"kbps": ("bps", "1e3"), "Mbps": ("bps", "1e6"), "Gbps": ("bps", "1e9")},
    **{"kHz": ("Hz", "1e3"), "MHz": ("Hz", "1e6"), "GHz": ("Hz", "1e9"), "kW": ("W", "1000")},
}
# How often, in one word: the same as "a day" or "each month".
RATES = {
    rate: name
    for name, rates in {
        "h": "hourly",
        "d": "daily",
        "night": "nightly",
        "wk": "weekly",
        "2 wk": "biweekly fortnightly",
        "mo": "monthly",
        "3 mo": "quarterly",
        "yr": "yearly annual annually",
    }.items()
    for rate in rates.split()
}
# Behind these "an hour" is a length of time, as in "takes an hour", and not an occasion.
MEASURING = frozenset(
    ("for", "in", "within", "after", "takes", "took", "lasts", "lasted", "every", "about", "than")
)
