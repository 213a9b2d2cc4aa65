"""Rename the people, projects and numbers of a text.

The words to rename are chosen once for the whole base, and a copy replaces each of them by the same
word everywhere: statements of one fact remain so, a near miss keeps its one difference, and an
update keeps its subject. A text without such words gets a tag in parentheses.
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
# Words, and numbers without signs inside ("2.5", "14:00", "3,000") or a unit after them, which
# another text may word differently ("an hour and a half").
_PIECE = re.compile(r"[A-Za-z]+|(?<![\w.,:/-])\d{3,}(?![\w%]|[.,:/-]\d)")
_SENTENCE_START = re.compile(r"(?:^|[.!?:;]\s+|[\"'“(])$")
# Words that vetoes or dates depend on are never renamed: capitalized words that are not names, and
# stems of topics.
_MONTHS = {month.lower() for month in calendar.month_name if month}
_DAYS = {day.lower() for day in calendar.day_name}
_NOT_NAMES = _MONTHS | _DAYS | {f"{day}s" for day in _DAYS} | {"english", "german", "french"}
_NOT_TOPICS = _NOT_NAMES | {"midnight", "sunset", "zero", "fourth", "east", "west", "aliv"}
# The minimum share of a group's memories that contain a topic, and the maximum number of groups
# that contain it.
_MIN_TOPIC_SHARE = 0.6
_MAX_TOPIC_GROUPS = 2
_CONSONANTS, _VOWELS = "bdfgklmnprstvz", "aeiou"
_SYLLABLES = 3
# Numbers that look like a year are kept.
_YEARS = range(1900, 2101)


class Renaming:
    """The names and topics of the base, and their replacements."""

    def __init__(self, base: Base) -> None:
        """Find names and topics in all texts."""
        self._stem = cache(stemmer("english").stemWord)
        texts = [memory.text for memory in base.memories]
        self._names = _names_of(texts)
        groups = [[texts[row] for row in rows] for rows in base.groups]
        self._topics = self._topics_of(groups)
        # For each text of a group with a text that has nothing to rename, the first of the group.
        self._tag_sources = {
            text: group[0]
            for group in groups
            if any(self._replace(member, 1) == member for member in group)
            for text in group
        }

    def rename(self, text: str, copy: int) -> str:
        """Return a text as it is in copy number `copy`; copy 0 is the base.

        If a text of its group has nothing to rename, all texts of the group get a tag: otherwise
        one in four memories would be a duplicate of one in another copy.
        """
        if not copy:
            return text
        renamed = self._replace(text, copy)
        if text not in self._tag_sources:
            return renamed
        tag = _other_word(self._tag_sources[text], copy).capitalize()
        end = len(renamed.rstrip(".!?"))
        return f"{renamed[:end]} ({tag}){renamed[end:]}"

    def _replace(self, text: str, copy: int) -> str:
        return _PIECE.sub(lambda match: self._other_piece(match[0], copy), text)

    def _other_piece(self, piece: str, copy: int) -> str:
        if piece.isdigit():
            return piece if int(piece) in _YEARS else _other_number(piece, copy)
        if piece in self._names:
            return _other_word(piece.lower(), copy).capitalize()
        stem = self._stem(piece.lower())
        if stem not in self._topics or not piece.lower().startswith(stem):
            return piece
        word = _other_word(stem, copy) + piece[len(stem) :]
        return word.capitalize() if piece[0].isupper() else word

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
            min_count = max(2, _MIN_TOPIC_SHARE * len(texts))
            topics |= {
                word for word, count in words.items() if count >= min_count and len(word) > 3
            }
        return frozenset(word for word in topics if spread[word] <= _MAX_TOPIC_GROUPS) - _NOT_TOPICS


def _names_of(texts: list[str]) -> frozenset[str]:
    """Return the words that are capitalized inside sentences, and never in lowercase."""
    lowercase: set[str] = set()
    inside: dict[str, int] = defaultdict(int)
    for text in texts:
        for match in _WORD.finditer(text):
            word = match[0]
            if word.islower():
                lowercase.add(word)
            elif word.istitle() and not _SENTENCE_START.search(text[: match.start()]):
                inside[word] += 1
    return frozenset(
        word
        for word in inside
        if word.lower() not in lowercase and word.lower() not in _NOT_NAMES and len(word) > 2
    )


@lru_cache(100_000)
def _other_word(word: str, copy: int) -> str:
    digest = hashlib.blake2b(f"{copy} {word}".encode(), digest_size=2 * _SYLLABLES).digest()
    return "".join(
        _CONSONANTS[first % len(_CONSONANTS)] + _VOWELS[second % len(_VOWELS)]
        for first, second in zip(digest[::2], digest[1::2], strict=True)
    )


def _other_number(number: str, copy: int) -> str:
    """Return a number of the same length; within a copy, a digit always has the same replacement.

    So different numbers remain different, and "4620" and "4260" remain similar.
    """
    start = int.from_bytes(hashlib.blake2b(str(copy).encode(), digest_size=2).digest(), "big")
    # Multiplying by a number coprime to 9 permutes the digits 1 to 9.
    factor, shift = (1, 2, 4, 5, 7, 8)[start % 6], start // 6 % 9
    return "".join(
        digit if digit == "0" else str((int(digit) * factor + shift) % 9 + 1) for digit in number
    )
