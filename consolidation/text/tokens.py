"""Split a text into words, and look up what a word is."""

from __future__ import annotations

import ast
import re
from functools import lru_cache
from importlib.util import find_spec
from pathlib import Path
from typing import Any, NamedTuple

_WORD = re.compile(r"[^\W\d_]\w*(?:['’-]\w+)*|\d[\w.,:-]*\w|\d|[.!?;:](?=[\s\"')\]”]|$)|\n")
# As a name, not an article; all other forms are in lower case.
LETTER_A = "A"
_POSSESSIVE = re.compile(r"'s?$")


class Token(NamedTuple):
    """A word, verbatim, and where it is."""

    text: str
    # In lower case, with a straight apostrophe.
    lower: str
    # The same without a possessive ending.
    bare: str
    starts_sentence: bool
    start: int

    @property
    def end(self) -> int:
        """The index of the character after it."""
        return self.start + len(self.text)


def tokenise(text: str) -> list[Token]:
    """Return the words of a text in order; marks that end a clause are not words."""
    tokens: list[Token] = []
    fresh = True
    for match in _WORD.finditer(text):
        word = match.group()
        if word in ".!?;:\n":
            fresh = True
            continue
        lower = word if word.islower() and word.isascii() else word.lower().replace("’", "'")
        bare = _POSSESSIVE.sub("", lower) if "'" in lower else lower
        if word == LETTER_A and not fresh:  # "plan A"
            lower = bare = word
        tokens.append(Token(word, lower, bare, fresh, match.start()))
        fresh = False
    return tokens


@lru_cache(maxsize=65_536)
def stem(word: str) -> str:
    """Return the stem of an English word: its lemma (simplemma), cut by Snowball ("Porter2").

    "Sold" and "sells" have the same stem. A comparative has its own: "faster" is not "fast".
    """
    is_itself = word.endswith(("er", "est")) or word == LETTER_A
    return str(_stemmer().stemWord(word if is_itself else lemma(word)))


@lru_cache(maxsize=65_536)
def stems_of(word: str) -> tuple[str, ...]:
    """Return the stem of a content word, or of each part of a hyphenated one that is one."""
    parts = word.split("-") if "-" in word else (word,)
    return tuple(stem(part) for part in parts if is_content(part))


@lru_cache(maxsize=65_536)
def lemma(word: str) -> str:
    """Return the base form of an English word, in lower case: of "was" it is "be"."""
    import simplemma

    # simplemma capitalizes names.
    return simplemma.lemmatize(word, "en").lower()


@lru_cache(maxsize=1)
def _stemmer() -> Any:
    import snowballstemmer

    return snowballstemmer.stemmer("english")


@lru_cache(maxsize=1)
def stop_words() -> frozenset[str]:
    """Return scikit-learn's English stop words from its file: importing it takes over a second."""
    package: Any = find_spec("sklearn")
    path = Path(package.origin).with_name("feature_extraction") / "_stop_words.py"
    if path.is_file():
        nodes = ast.walk(ast.parse(path.read_text("utf-8")))
        return frozenset(*(ast.literal_eval(node) for node in nodes if isinstance(node, ast.List)))
    # It is a private file: another version may not have it.
    from sklearn.feature_extraction.text import ENGLISH_STOP_WORDS

    return frozenset(ENGLISH_STOP_WORDS)


@lru_cache(maxsize=65_536)
def is_content(word: str) -> bool:
    """Whether a word, in lower case, is a content word."""
    # "User" says little, but its place is compared all the same.
    is_little = word == "user" or word.endswith("n't")
    is_little = is_little or word.partition("'")[0] in stop_words()
    return not is_little and any(map(str.isalpha, word))
