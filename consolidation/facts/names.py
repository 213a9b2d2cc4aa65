"""The names of a text: words in camel case, or with a capital that spelling does not require."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator, Sequence
from functools import lru_cache
from itertools import pairwise
from typing import NamedTuple

from slowwave.consolidation.text.tokens import is_content, stem

from .values import TextValue

_WORD = re.compile(r"(?<!\w)[^\W\d_]\w*(?:['\u2019.&-]\w+)*")
_POSSESSIVE = re.compile(r"['\u2019]s?$")
# What comes before a word that begins a sentence, an item of a list or a part in brackets.
_BEGINS = re.compile(r"(?:^|[.!?:;\n…(\[\])\"“”„«»'\u2018\u2019\u201a`|/→=>\u2013—•*]|\s[-+])\s*$")
_TITLE = re.compile(r"\b(?:Mrs?|Ms|Dr|Prof|St)\.\s$")
# How many characters back that is searched.
_NEAR = 60
# "No. 5", "Fig. 3".
_ABBREVIATED = 4


class Name(NamedTuple):
    """A word that is spelled as a name, without a possessive ending, and where it is."""

    words: str
    start: int
    # Whether it begins a sentence, which may be why it has a capital.
    opens: bool


@lru_cache(maxsize=4_096)
def find_names(text: str) -> tuple[Name, ...]:
    """Return the capitalized words of a text, in its order; the same text is read once."""
    return tuple(_names(text))


def _names(text: str) -> Iterator[Name]:
    for match in _WORD.finditer(text):
        word = _POSSESSIVE.sub("", match.group())
        if not any(map(str.isupper, word)) or word == "I" or word[:2] in ("I'", "I’"):
            continue
        if len(word) <= _ABBREVIATED and re.match(r"\. ?\d", text[match.end() : match.end() + 3]):
            continue
        before = text[max(0, match.start() - _NEAR) : match.start()]
        parts = re.split(r"[-'\u2019.&]", word)
        is_capitalized = all(part[1:].islower() for part in parts if len(part) > 1)
        inner = any(map(str.isupper, word[1:])) and not is_capitalized
        opens = bool(_BEGINS.search(before)) and not _TITLE.search(before) and not inner
        yield Name(word, match.start(), opens)


def find_proper_names(text: str, values: Sequence[TextValue]) -> Iterator[Name]:
    """Yield the names of a text outside its values.

    A word that begins a sentence is a name if it is not in the English dictionary in lower case.
    """
    taken = [value for value in values if value.kind != "unit"]
    for name in find_names(text):
        is_word = not is_content(name.words.lower()) or (name.opens and is_common_word(name.words))
        if not is_word and not any(value.start <= name.start < value.end for value in taken):
            yield name


class Vocabulary:
    """The words of texts, in all forms in which a name of another text may refer to one of them."""

    def __init__(self, texts: list[str]) -> None:
        """Index the words of texts."""
        self._words: set[str] = set()
        self._initials = ""
        for text in texts:
            words = [fold(word) for word in re.findall(r"\w+", text)]
            self._words.update(words, (first + second for first, second in pairwise(words)))
            self._words.update(map(fold, _words_with_case(text)))
            self._initials += f" {''.join(word[0] for word in words)}"
        self._stems = {stem(word) for word in self._words}

    def has(self, name: str) -> bool:
        """Whether a word occurs in any case, inflection or hyphenation, or as an abbreviation."""
        parts = [fold(part) for part in _words_with_case(name)]
        joined = "".join(parts)
        if name.isupper() and 1 < len(joined) <= 5 and joined in self._initials:
            return True
        return self._has(joined) or all(map(self._has, parts))

    def _has(self, word: str) -> bool:
        is_there = word in self._words or word.removesuffix("s") in self._words
        return is_there or stem(word) in self._stems


def _words_with_case(text: str) -> list[str]:
    """Return words without letters that have no case: in Chinese, no space separates a name."""
    cased = (" " if sign.isalpha() and sign.lower() == sign.upper() else sign for sign in text)
    return re.findall(r"\w+", "".join(cased))


@lru_cache(maxsize=65_536)
def fold(word: str) -> str:
    """Return a word without case and accents."""
    letters = unicodedata.normalize("NFKD", word.casefold())
    return "".join(letter for letter in letters if not unicodedata.combining(letter))


@lru_cache(maxsize=65_536)
def is_common_word(word: str) -> bool:
    """Whether a word is an English one that needs no capital, unlike "Tom"."""
    import simplemma

    # Longer strings are not words, and take long to look up.
    return len(word) > _NEAR or all(
        simplemma.is_known(part.lower(), "en")
        and str(simplemma.lemmatize(part.capitalize(), "en")).islower()
        for part in re.findall(r"[^\W\d_]+", word)
    )
