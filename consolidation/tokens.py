"""A text cut into words, and what a single word is."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from . import lexicon

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


@lru_cache(maxsize=65_536)
def stem(word: str) -> str:
    """Give the stem of an English word (Snowball's English stemmer, "Porter2")."""
    return str(_stemmer().stemWord(word))


@lru_cache(maxsize=1)
def _stemmer() -> Any:
    import snowballstemmer

    return snowballstemmer.stemmer("english")


@lru_cache(maxsize=65_536)
def is_content(word: str) -> bool:
    """Whether a word, in lower case, says something of its own."""
    return (
        word.partition("'")[0] not in lexicon.FUNCTION
        and word not in lexicon.ANNOUNCING
        and word not in lexicon.NEGATORS
        and word not in lexicon.NUMBER_WORDS
        and any(letter.isalpha() for letter in word)
        and not word.endswith("n't")
    )
