"""A text cut into words."""

from __future__ import annotations

import re
from dataclasses import dataclass

_WORD = re.compile(r"[^\W\d_](?:[\w]|['’-](?=\w))*|\d[\w.,:-]*\w|\d|[.!?;:\n]")
_POSSESSIVE = re.compile(r"['’]s?$", re.IGNORECASE)


@dataclass(frozen=True)
class Token:
    """A word as it stands, and where."""

    text: str
    # In lower case, with a straight apostrophe.
    lower: str
    # The same without a possessive ending.
    bare: str
    starts_sentence: bool
    start: int

    @property
    def possessive(self) -> bool:
        """Whether something is said to belong to it."""
        return self.bare != self.lower

    @property
    def capitalised(self) -> bool:
        """Whether it begins with a capital letter."""
        return self.text[:1].isupper()


def tokenise(text: str) -> list[Token]:
    """Give the words of a text in order; marks that end a clause only start the next one."""
    tokens: list[Token] = []
    fresh = True
    for match in _WORD.finditer(text):
        word = match.group()
        if word in ".!?;:\n":
            fresh = True
            continue
        lower = word.lower().replace("’", "'")
        tokens.append(Token(word, lower, _POSSESSIVE.sub("", lower), fresh, match.start()))
        fresh = False
    return tokens
