"""Values in a text that must not get lost: numbers, dates, paths, words that deny."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass

from slowwave.consolidation.text.reading import Reading, read

# Of a longer text no more is read: it is shown, without marks.
_MOST_READ = 20_000

# What two values are the same by.
_Key = tuple[str, str]


@dataclass(frozen=True)
class Compared:
    """Which values stand in the sources, and which in the draft, as they are spelled there."""

    both: tuple[str, ...]
    only_sources: tuple[str, ...]
    only_draft: tuple[str, ...]


def find_guarded(text: str) -> list[tuple[int, int]]:
    """Return from where to where values and words that deny stand in a text, in its order."""
    reading = _read(text)
    words = {value.text for value in reading.values} | set(reading.negators)
    if not words:
        return []
    longest_first = sorted(words, key=lambda word: (-len(word), word))
    any_word = "|".join(map(re.escape, longest_first))
    found = re.finditer(rf"(?<!\w)(?:{any_word})(?!\w)", text, re.IGNORECASE)
    return [one.span() for one in found]


def compare_values(sources: Sequence[str], days: Iterable[str], draft: str) -> Compared:
    """Return which values of the sources the draft has, which it lacks, and which are its own.

    days: on which the sources were observed; an update says since when it is so.
    """
    there = _by_key(sources)
    here = _by_key([draft])
    own = here.keys() - there.keys() - _by_key(days).keys()
    return Compared(
        _spelled(there, there.keys() & here.keys()),
        _spelled(there, there.keys() - here.keys()),
        _spelled(here, own),
    )


def _spelled(words: Mapping[_Key, str], keys: Set[_Key]) -> tuple[str, ...]:
    """Return some of the words, each spelling once, in their order."""
    return tuple(dict.fromkeys(word for key, word in words.items() if key in keys))


def _by_key(texts: Iterable[str]) -> dict[_Key, str]:
    """Return the values of texts by what they are compared by, in the order of the texts."""
    return {key: word for text in texts for key, word in _keys(_read(text))}


def _keys(reading: Reading) -> Iterator[tuple[_Key, str]]:
    for value in reading.stated:
        yield value.key, value.text
    for word in reading.negators:
        yield ("denies", word.casefold()), word


def _read(text: str) -> Reading:
    return read(text[:_MOST_READ])
