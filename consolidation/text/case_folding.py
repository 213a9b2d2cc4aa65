"""Letters that a pattern takes for others where it takes no notice of capitals."""

from __future__ import annotations

# To re.IGNORECASE the Turkish letters are an i and the long s is an s.
_ASCII = str.maketrans({"\u0131": "i", "\u0130": "i", "\u017f": "s"})


def fold_case(found: str) -> str:
    """Return what such a pattern found as it stands in a list of words in small letters."""
    return found.lower() if found.isascii() else found.translate(_ASCII).lower()
