"""The form in which texts that differ only in layout are equal."""

from __future__ import annotations

import re
import unicodedata
from functools import lru_cache

from slowwave.consolidation.facts.literals import find_literals
from slowwave.consolidation.text.density import density_of
from slowwave.consolidation.text.invisible import is_unseen
from slowwave.consolidation.text.tokens import is_relative
from slowwave.store.records import Memory

# The end of a text that does not change its meaning.
_ENDING = re.compile(r"(?<=[\w\"')\]])[.,;:!\u3002\u06d4\u0964]+$")
_QUOTES = str.maketrans("\u2018\u2019\u201c\u201d", "''\"\"")


@lru_cache(maxsize=65_536)
def normal_form(text: str) -> str:
    """Return a text without layout, final punctuation and the capital at its start.

    Code and quotations are kept verbatim, below it.
    """
    plain = readable(text)
    form = _ENDING.sub("", " ".join(plain.translate(_QUOTES).split()))
    if form[1:2].islower() and form[:1].isupper():
        form = form[0].lower() + form[1:]
    return "\n".join([form, *(literal.content for literal in find_literals(plain))])


def exact_form(text: str) -> str:
    """Return code or data without trailing blanks; every other sign of it may mean something."""
    return "\n".join(line.rstrip() for line in text.strip("\n").splitlines())


def repeats(memory: Memory, text: str, time: str) -> bool:
    """Whether a memory equals a text of a time after normalizing; code and data must be identical.

    A text that says "tomorrow" repeats only memories of its day.
    """
    if is_relative(text) and memory.observed_at[:10] != time[:10]:
        return False
    if exact_form(memory.content) == exact_form(text):
        return True
    is_dense = density_of(memory.content).is_dense or density_of(text).is_dense
    return not is_dense and normal_form(memory.content) == normal_form(text)


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
