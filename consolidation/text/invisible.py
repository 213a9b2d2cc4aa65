"""Characters that nobody sees: control and format characters, fillers, variation selectors."""

from __future__ import annotations

import unicodedata

_PLAIN = "\n\t"
# Control, format, private use, unassigned; line and paragraph separators.
_CATEGORIES = ("Cc", "Cf", "Co", "Cn", "Zl", "Zp")
_FILLERS = "\u115f\u1160\u3164\uffa0\u034f\u2800"
_SELECTORS = ((0xFE00, 0xFE0F), (0xE0100, 0xE01EF), (0x180B, 0x180F))


def find_invisible(text: str) -> str | None:
    """Return the first character of a text that nobody sees, by its code point and name.

    "U+200B ZERO WIDTH SPACE"; None if there is none. New lines and tabs are fine.
    """
    for letter in text:
        if _is_invisible(letter):
            name = unicodedata.name(letter, "without a name")
            return f"U+{ord(letter):04X} {name}"
    return None


def _is_invisible(letter: str) -> bool:
    if letter in _PLAIN or (letter.isascii() and letter.isprintable()):
        return False
    return (
        unicodedata.category(letter) in _CATEGORIES
        or letter in _FILLERS
        or any(first <= ord(letter) <= last for first, last in _SELECTORS)
    )
