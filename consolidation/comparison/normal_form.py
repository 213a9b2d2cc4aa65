"""The form by which texts that say the same in other spelling are equal."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator
from functools import lru_cache

from slowwave.consolidation.facts.reading import Reading, read
from slowwave.consolidation.facts.values import TextValue

# What a text may end in without any change of meaning.
_ENDING = " .,;:!"
_ARTICLES = frozenset(("a", "an", "the"))
# Behind an article; "cp a b" has none.
_LEADS = re.compile(r" [\w\"'`]{2}")
# At the head of a sentence it tells "the mark" from "Mark".
_USER = re.compile(" user", re.IGNORECASE)
_QUOTES = str.maketrans("\u2018\u2019\u201c\u201d", "''\"\"")


@lru_cache(maxsize=65_536)
def normal_form(text: str) -> str:
    """Return a text without lead-ins, articles and layout, its numbers and dates in one spelling.

    Capitals are kept but for those that only open a sentence; what is marked as code or as a
    quotation is kept to the letter.
    """
    reading = read(readable(text))
    form = " ".join("".join(_pieces(reading)).translate(_QUOTES).split())
    return "\n".join([form.rstrip(_ENDING), *(literal.content for literal in reading.literals)])


def readable(text: str) -> str:
    """Return a text without invisible characters, its compatibility characters made plain."""
    if text.isascii():
        return text
    return "".join(
        letter if letter.isascii() or _is_exponent(letter) else _plain(letter)
        for letter in unicodedata.normalize("NFC", text)
    )


def _plain(letter: str) -> str:
    return "" if unicodedata.category(letter) == "Cf" else unicodedata.normalize("NFKC", letter)


def _is_exponent(letter: str) -> bool:
    """Whether a letter is a number of its own, as in "10\u00b2": it joins no digits beside it."""
    return unicodedata.numeric(letter, None) is not None and not letter.isdecimal()


def _pieces(reading: Reading) -> Iterator[str]:
    """Yield what a text is made of: the norms of its values, its words, and what is between."""
    said, end = reading.said, 0
    values: dict[int, list[TextValue]] = {}
    for value in reading.measures:
        values.setdefault(value.start, []).append(value)
    words = {token.start: token for token in reading.tokens}
    for start in sorted({*values, *words}):
        if start < end:
            continue
        yield " ".join(said[end:start].split()) or said[end:start][:1]
        if start in values:
            yield f"\u27e8{', '.join(value.norm for value in values[start])}\u27e9"
            end = max(value.end for value in values[start])
        else:
            word, end = words[start], words[start].end
            opens = word.starts_sentence and word.text[1:].islower()
            leads = _USER if word.starts_sentence else _LEADS
            if not (word.lower in _ARTICLES and leads.match(said, end)):
                yield word.lower if opens else word.text
    yield said[end:]
