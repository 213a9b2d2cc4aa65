"""Split a text into sentences, words and tokens, and look up what a word is."""

from __future__ import annotations

import ast
import re
from functools import lru_cache
from importlib.util import find_spec
from pathlib import Path
from typing import Any

_WORD = re.compile(r"[^\W\d_]\w*(?:['’-]\w+)*|\d[\w.,:-]*\w|\d")
_POSSESSIVE = re.compile(r"'s?$")
# Words whose meaning depends on the day.
_RELATIVE = re.compile(
    r"\b(?:yesterday|today|tonight|tomorrow|now|currently|recently|lately|ago|(?:last|next|this) "
    r"(?:minute|hour|day|week|weekend|month|quarter|year|night|morning|evening|afternoon|"
    r"spring|summer|autumn|fall|winter|\w+day|"
    r"january|february|march|april|may|june|july|august|september|october|november|december)s?)\b",
    re.IGNORECASE,
)
# What is one token: a word, up to three digits, a sign; long words are cut. With seven letters, the
# estimate for the night fixture's 1,000 texts is 1.04 times the count by o200k_base.
_TOKEN = re.compile(r"[A-Za-z]{1,7}|\d{1,3}|[^\sA-Za-z\d]")
# A sentence ends after its mark, and a quote or bracket, before a capital; or at a line end. The
# search is anchored where blanks begin, so that a long run of them takes no quadratic time.
_SENTENCE_END = re.compile(
    r"(?:(?<=[.!?])|(?<=[.!?][\"'”)]))\s+(?=[\"'“(\[`]?[A-Z0-9])|(?<!\s)\s*\n\s*"
)
_ABBREVIATED = re.compile(
    r"\b(?:e\.g|i\.e|etc|vs|Dr|Prof|Mr|Mrs|Ms|St|No|approx|a\.m|p\.m)\.$", re.I
)


@lru_cache(maxsize=131_072)
def count_tokens(text: str) -> int:
    """Estimate the tokens of an English text."""
    return len(_TOKEN.findall(text))


def split_sentences(text: str) -> list[str]:
    """Return the sentences of a text, verbatim."""
    sentences: list[str] = []
    for part in filter(None, _SENTENCE_END.split(text.strip())):
        if sentences and _ABBREVIATED.search(sentences[-1]):
            sentences[-1] = f"{sentences[-1]} {part}"
        else:
            sentences.append(part)
    return sentences


def words_in(text: str) -> list[str]:
    """Return the words of a text in order, in lower case, without possessive endings."""
    words = (word.lower().replace("’", "'") for word in _WORD.findall(text))
    return [_POSSESSIVE.sub("", word) if "'" in word else word for word in words]


def content_words(text: str) -> frozenset[str]:
    """Return the words of a text that say what it is about: no stop words, nothing with digits."""
    words = (word for word in words_in(text) if word.isalpha() or not any(map(str.isdigit, word)))
    return frozenset(words) - stop_words()


@lru_cache(maxsize=65_536)
def lemma(word: str) -> str:
    """Return the base form of an English word, in lower case: of "does" it is "do"."""
    import simplemma

    return simplemma.lemmatize(word, "en").lower()


def is_relative(text: str) -> bool:
    """Whether the meaning of a text depends on the day on which it is read."""
    return _RELATIVE.search(text) is not None


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
