"""Remove what only introduces a statement: "Note:", "User said that", a bullet.

This is the only place where words are ignored for their lack of meaning, and only where a pattern
anchors them: "The doctor found the lump" is not "The doctor mentioned the lump". What changes a
statement stays: "TODO:", "[ ]".
"""

from __future__ import annotations

import re

# The start of a statement.
_HEAD = r"(?:^[ \t]*|(?<=[.!?:;] ))"
_USER = r"(?:the )?user"
_TELLS = (
    r"(?:said|says|mentions?|mentioned|notes?|noted|explains?|explained|confirms?|confirmed|"
    r"reports?|reported|states?|stated|clarifies|clarified|adds?|added|shared|"
    r"(?:told|tells|reminded|informed) (?:me|us)|(?:has )?told me|let me know|wants me to know)"
)
_LABELS = (
    r"notes?(?: to self)?|please note|(?:as a )?reminder|remember|important|info|fyi|til|update|"
    r"heads[- ]up|lesson(?: learned)?|fact|as (?:discussed|mentioned|noted)|for the record|"
    r"according to the user|just (?:to record it|so you know)|worth noting|turns out|"
    r"just (?:for|as) reference"
)
_CLAUSES = (
    r"(?:please )?(?:note|remember|keep in mind)|worth noting|"
    r"it (?:was noted|turns out)|turns out|(?:I|we) (?:learned|learnt|found out)|"
    rf"(?:I|we) (?:was|were) told(?: by {_USER})?|{_USER} {_TELLS}"
)
_FLAGS = re.IGNORECASE | re.MULTILINE
_SELF_REFERENCES = re.compile(
    rf"{_HEAD}({_USER}) {_TELLS}(?: that)? (?:they|he|she)(?=[' ])", _FLAGS
)
_ANNOUNCED = re.compile(
    # A label with its mark; a clause with "that"; a clause by itself if another one follows.
    rf"{_HEAD}(?:(?:{_LABELS})(?::|,| [-\u2013\u2014])\s+|(?:{_CLAUSES})(?: that|:)\s+(?![\"'`“])|"
    rf"fyi\s+|(?:keep in mind|it turns out|turns out|{_USER} sa(?:id|ys)) (?=(?:\S+ ){{2}}\S))",
    _FLAGS,
)
# Not before a number, which a dash makes negative, nor in "* * *".
_BULLET = re.compile(r"^[ \t]*(?:[-*•]|#{1,6})[ \t]+(?=[^\W\d]|[`\"'\[~]|\*\*\w)", re.MULTILINE)
_EMPHASIS = re.compile(r"(?<![\w*])\*\*(?=[^\s*])([^*\n]+)(?<!\s)\*\*(?![\w*])")


def without_announcements(text: str) -> str:
    """Return a text without introductions of its statements and marks of layout."""
    if any(mark in text for mark in "-*•#"):
        text = _EMPHASIS.sub(r"\1", _BULLET.sub("", text))
    while True:
        plain = _ANNOUNCED.sub("", _SELF_REFERENCES.sub(r"\1", text))
        if plain == text or not plain.strip():
            return text
        text = plain
