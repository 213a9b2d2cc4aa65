"""One text of the base told of other people, other projects and other numbers.

What is renamed is decided once for the whole base, and a copy gives every such word another one,
the same wherever it stands: so wordings of one fact stay wordings of one fact, a near twin keeps
its one difference, and an update is about the same thing as what it replaces. What has nothing to
be renamed says in brackets what it belongs to.
"""

from __future__ import annotations

import calendar
import hashlib
import re
from collections import Counter, defaultdict
from functools import cache, lru_cache

from snowballstemmer import stemmer

from .base import Base

_WORD = re.compile(r"[A-Za-z]+")
# Words and numbers; what is written with a sign inside ("2.5", "14:00", "3,000") stays, and so
# does what stands before a unit: it may be told as "an hour and a half" elsewhere.
_PIECE = re.compile(r"[A-Za-z]+|(?<![\w.,:/-])\d{3,}(?![\w%]|[.,:/-]\d)")
_SENTENCE_START = re.compile(r"(?:^|[.!?:;]\s+|[\"'“(])$")
# Words that vetoes or dates depend on are not renamed: capitalized words that are not names, and
# stems of words that a fact is about.
_MONTHS = {month.lower() for month in calendar.month_name if month}
_DAYS = {day.lower() for day in calendar.day_name}
_NO_NAMES = _MONTHS | _DAYS | {f"{day}s" for day in _DAYS} | {"english", "german", "french"}
_NO_TOPICS = _NO_NAMES | {"midnight", "sunset", "zero", "fourth", "east", "west", "aliv"}
# The share of a group's memories that a word must be in to be what the group is about, and the
# most groups that it may be in besides.
_TOPIC_SHARE = 0.6
_TOPIC_GROUPS = 2
_CONSONANTS, _VOWELS = "bdfgklmnprstvz", "aeiou"
_SYLLABLES = 3
# What looks like a year stays one.
_YEARS = range(1900, 2101)


class Renaming:
    """Knows which words of the base are names and which are what a project is about."""

    def __init__(self, base: Base) -> None:
        """Read all texts once."""
        # For a few thousand different words.
        self._stem = cache(stemmer("english").stemWord)
        texts = [told.text for told in base.told]
        self._names = _names_of(texts)
        groups = [[texts[row] for row in rows] for rows in base.groups]
        self._topics = self._topics_of(groups)
        # Per text of a group in which not every text has something to rename, the group's first.
        self._marked = {
            text: group[0]
            for group in groups
            if any(self._renamed(item, 1) == item for item in group)
            for text in group
        }

    def told_anew(self, text: str, copy: int) -> str:
        """Return a text as copy number `copy` tells it; copy 0 is the base itself.

        Where nothing in it can be renamed all texts of its group say what they belong to: else
        every copy would tell the very same, and one memory in four would be a duplicate.
        """
        if not copy:
            return text
        anew = self._renamed(text, copy)
        if text not in self._marked:
            return anew
        mark = _other_word(self._marked[text], copy).capitalize()
        end = len(anew.rstrip(".!?"))
        return f"{anew[:end]} ({mark}){anew[end:]}"

    def _renamed(self, text: str, copy: int) -> str:
        return _PIECE.sub(lambda found: self._other(found[0], copy), text)

    def _other(self, piece: str, copy: int) -> str:
        if piece.isdigit():
            return piece if int(piece) in _YEARS else _other_number(piece, copy)
        if piece in self._names:
            return _other_word(piece.lower(), copy).capitalize()
        stem = self._stem(piece.lower())
        if stem not in self._topics or not piece.lower().startswith(stem):
            return piece
        other = _other_word(stem, copy) + piece[len(stem) :]
        return other.capitalize() if piece[0].isupper() else other

    def _topics_of(self, groups: list[list[str]]) -> frozenset[str]:
        spread: Counter[str] = Counter()
        topics: set[str] = set()
        for texts in groups:
            words = Counter(
                stem
                for text in texts
                for stem in {self._stem(word) for word in _WORD.findall(text.lower())}
            )
            spread.update(words.keys())
            enough = max(2, _TOPIC_SHARE * len(texts))
            topics |= {word for word, count in words.items() if count >= enough and len(word) > 3}
        return frozenset(word for word in topics if spread[word] <= _TOPIC_GROUPS) - _NO_TOPICS


def _names_of(texts: list[str]) -> frozenset[str]:
    """Return the words that are written with a capital inside sentences, and never without."""
    small: set[str] = set()
    inside: dict[str, int] = defaultdict(int)
    for text in texts:
        for found in _WORD.finditer(text):
            word = found[0]
            if word.islower():
                small.add(word)
            elif word.istitle() and not _SENTENCE_START.search(text[: found.start()]):
                inside[word] += 1
    return frozenset(
        word
        for word in inside
        if word.lower() not in small and word.lower() not in _NO_NAMES and len(word) > 2
    )


@lru_cache(100_000)
def _other_word(word: str, copy: int) -> str:
    digest = hashlib.blake2b(f"{copy} {word}".encode(), digest_size=2 * _SYLLABLES).digest()
    return "".join(
        _CONSONANTS[first % len(_CONSONANTS)] + _VOWELS[second % len(_VOWELS)]
        for first, second in zip(digest[::2], digest[1::2], strict=True)
    )


def _other_number(number: str, copy: int) -> str:
    """Return a number of as many digits: the same digit becomes the same one within a copy.

    So two that differ still do, and "4620" and "4260" stay each other's neighbors.
    """
    start = int.from_bytes(hashlib.blake2b(str(copy).encode(), digest_size=2).digest(), "big")
    # Multiplying by what shares no factor with 9 turns the digits 1 to 9 without joining two.
    factor, shift = (1, 2, 4, 5, 7, 8)[start % 6], start // 6 % 9
    return "".join(
        digit if digit == "0" else str((int(digit) * factor + shift) % 9 + 1) for digit in number
    )
