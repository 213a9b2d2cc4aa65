"""Split a text into words, and look up what a word is."""

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


def words_in(text: str) -> list[str]:
    """Return the words of a text in order, in lower case, without possessive endings."""
    words = (word.lower().replace("’", "'") for word in _WORD.findall(text))
    return [_POSSESSIVE.sub("", word) if "'" in word else word for word in words]


def content_words(text: str) -> frozenset[str]:
    """Return the words of a text that say what it is about: no stop words, nothing with digits."""
    return (
        frozenset(
            word for word in words_in(text) if word.isalpha() or not any(map(str.isdigit, word))
        )
        - stop_words()
    )


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
