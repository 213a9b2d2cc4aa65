"""A text cut into words, and what a single word is."""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import lru_cache
from typing import Any, NamedTuple

from . import lexicon

_WORD = re.compile(r"[^\W\d_]\w*(?:['’-]\w+)*|\d[\w.,:-]*\w|\d|[.!?;:\n]")
# "Red" and "need" are no past tenses.
_SHORTEST_PAST = 4
# Stands for itself, not for an article: all other forms are in lower case.
LETTER_A = "A"
# Behind these "a" is the thing that is spoken of: "a is", "a to b".
_BEHIND_A_THING = lexicon.PASSIVE_AUXILIARIES | lexicon.PLACING | {"and", "or"}
_POSSESSIVE = re.compile(r"'s?$")


class Token(NamedTuple):
    """A word as it is written, and where."""

    text: str
    # In lower case, with a straight apostrophe.
    lower: str
    # The same without a possessive ending.
    bare: str
    starts_sentence: bool
    start: int
    # Whether it begins with a capital letter.
    capitalised: bool

    @property
    def end(self) -> int:
        """Where the text goes on behind it."""
        return self.start + len(self.text)

    @property
    def possessive(self) -> bool:
        """Whether something is said to belong to it."""
        return self.bare != self.lower


def tokenise(text: str) -> list[Token]:
    """Return the words of a text in order; marks that end a clause only start the next one."""
    tokens: list[Token] = []
    fresh = True
    for match in _WORD.finditer(text):
        word = match.group()
        if word in ".!?;:\n":
            fresh = True
            continue
        lower = word if word.islower() and word.isascii() else word.lower().replace("’", "'")
        bare = _POSSESSIVE.sub("", lower) if "'" in lower else lower
        tokens.append(Token(word, lower, bare, fresh, match.start(), word[0].isupper()))
        fresh = False
    return [
        _no_article(tokens, at) if token.bare == "a" else token for at, token in enumerate(tokens)
    ]


def _no_article(tokens: Sequence[Token], at: int) -> Token:
    """Tell the letter of "plan A" and "cp a b" from an article, by a capital in all its forms."""
    token, after = tokens[at], tokens[at + 1] if at + 1 < len(tokens) else None
    article = after is not None and not (
        after.starts_sentence
        or after.lower in _BEHIND_A_THING
        or (len(after.text) == 1 and after.text.islower())
    )
    if article and (token.text == "a" or token.starts_sentence):
        return token
    return token._replace(lower=LETTER_A, bare=LETTER_A)


@lru_cache(maxsize=65_536)
def stem(word: str) -> str:
    """Return the stem of an English word: its lemma (simplemma), cut by Snowball ("Porter2").

    "Sold" and "sells" come out the same. A comparative does not: "faster" is not "fast".
    """
    whole = _compares(word) or word in lexicon.PLURALS or word == LETTER_A
    lemma = word if whole else _lemma(word)
    return str(_stemmer().stemWord(lemma))


@lru_cache(maxsize=65_536)
def stems_of(word: str) -> tuple[str, ...]:
    """Return the stems of a word that says something, each part of a hyphenated one by itself."""
    parts = word.split("-") if "-" in word else (word,)
    return tuple(stem(part) for part in parts if is_content(part))


def is_past_form(token: Token) -> bool:
    """Whether a word is a past tense or participle by its form: "signed", "bought"."""
    ending = token.lower.endswith("ed") and len(token.lower) > _SHORTEST_PAST
    return ending or token.lower in lexicon.IRREGULAR_PASTS


def is_verb(word: str) -> bool:
    """Whether a word, in its base form, may be a verb: English has a word for doing it."""
    import simplemma

    doing = f"{word.removesuffix('e')}ing", f"{word}ing", f"{word}{word[-1]}ing"
    return any(simplemma.is_known(one, "en") for one in doing)


def _compares(word: str) -> bool:
    return word.endswith(("er", "est")) or word in lexicon.COMPARATIVES


def _lemma(word: str) -> str:
    import simplemma

    # It gives names their capital.
    return simplemma.lemmatize(word, "en").lower()


@lru_cache(maxsize=1)
def _stemmer() -> Any:
    import snowballstemmer

    return snowballstemmer.stemmer("english")


@lru_cache(maxsize=65_536)
def is_content(word: str) -> bool:
    """Whether a word, in lower case, says something of its own."""
    return (
        word.partition("'")[0] not in lexicon.FUNCTION
        # Who the user is goes without saying; where the word stands is compared all the same.
        and word != "user"
        and word not in lexicon.STRESSING
        and word not in lexicon.NEGATORS
        and word not in lexicon.NUMBER_WORDS
        and any(letter.isalpha() for letter in word)
        and not word.endswith("n't")
    )
