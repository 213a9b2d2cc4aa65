"""The normal form in which different spellings of one text are equal."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator
from functools import lru_cache

from slowwave.consolidation.facts.reading import Reading, read
from slowwave.consolidation.facts.values import TextValue
from slowwave.consolidation.text.density import density_of
from slowwave.consolidation.text.invisible import is_unseen

# The end of a text that does not change its meaning.
_ENDING = " .,;:!\u3002\u06d4\u0964"
_ARTICLES = frozenset(("a", "an", "the"))
# Follows an article, but not the "a" of "cp a b".
_LEADS = re.compile(r" [\w\"'`]{2}")
# At the start of a sentence, other articles distinguish "the mark" from "Mark".
_USER = re.compile(" user", re.IGNORECASE)
_QUOTES = str.maketrans("\u2018\u2019\u201c\u201d", "''\"\"")


@lru_cache(maxsize=65_536)
def normal_form(text: str) -> str:
    """Return a text without introductions, articles and layout, numbers and dates in one spelling.

    Capitals are kept except for those that only begin a sentence; code and quotations are kept
    verbatim.
    """
    reading = read(readable(text))
    form = " ".join("".join(_pieces(reading)).translate(_QUOTES).split())
    return "\n".join([form.rstrip(_ENDING), *(literal.content for literal in reading.literals)])


def exact_form(text: str) -> str:
    """Return code or data without trailing blanks; every other sign of it may mean something."""
    return "\n".join(line.rstrip() for line in text.strip("\n").splitlines())


def say_the_same(first: str, second: str) -> bool:
    """Whether two texts are equal after normalizing; code and data must be identical."""
    if exact_form(first) == exact_form(second):
        return True
    is_dense = density_of(first).is_dense or density_of(second).is_dense
    return not is_dense and normal_form(first) == normal_form(second)


def readable(text: str) -> str:
    """Return a text without invisible characters, and with plain compatibility characters."""
    if text.isascii():
        return text
    return "".join(
        letter if letter.isascii() or _is_exponent(letter) else _plain(letter)
        for letter in unicodedata.normalize("NFC", text)
    )


def _plain(letter: str) -> str:
    category = unicodedata.category(letter)
    # Other invisible characters separate words, or are those of an icon font.
    is_mark = category == "Cf" or (category == "Mn" and is_unseen(letter))
    return "" if is_mark else unicodedata.normalize("NFKC", letter)


def _is_exponent(letter: str) -> bool:
    """Whether a letter is a number apart from adjacent digits, as in "10\u00b2"."""
    return unicodedata.numeric(letter, None) is not None and not letter.isdecimal()


def _pieces(reading: Reading) -> Iterator[str]:
    """Yield the parts of a text: the norms of its values, its words, and what is between them."""
    text, end = reading.said, 0
    values: dict[int, list[TextValue]] = {}
    for value in reading.measures:
        values.setdefault(value.start, []).append(value)
    words = {token.start: token for token in reading.tokens}
    for start in sorted({*values, *words}):
        if start < end:
            continue
        yield " ".join(text[end:start].split()) or text[end:start][:1]
        if start in values:
            yield f"\u27e8{', '.join(value.norm for value in values[start])}\u27e9"
            end = max(value.end for value in values[start])
        else:
            word, end = words[start], words[start].end
            opens = word.starts_sentence and word.text[1:].islower()
            leads = _USER if word.starts_sentence else _LEADS
            if not (word.lower in _ARTICLES and leads.match(text, end)):
                yield word.lower if opens else word.text
    yield text[end:]
