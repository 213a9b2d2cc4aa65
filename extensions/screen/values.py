"""Values in a text that must not get lost: numbers, dates, paths, words that deny."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from slowwave.consolidation.facts.reading import Reading, read
from slowwave.consolidation.facts.values import KnownValues

# Of a longer text no more is read: it is shown, without marks.
_MOST_READ = 20_000


@dataclass(frozen=True)
class Compared:
    """Which values stand in the sources, and which in the draft, as they are spelled there."""

    both: tuple[str, ...]
    only_sources: tuple[str, ...]
    only_draft: tuple[str, ...]


def find_guarded(text: str) -> list[tuple[int, int]]:
    """Return from where to where values and words that deny stand in a text, in its order."""
    reading = _read(text)
    words = {value.words for value in reading.values} | set(reading.negators)
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
    there, here = [_read(source) for source in sources], [_read(draft)]
    kept, lost = _found(there, here)
    return Compared(kept, lost, _found(here, [*there, *map(_read, days)])[1])


def _found(
    readings: Sequence[Reading], others: Sequence[Reading]
) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return the values and denials of texts that other texts have, and those that they lack."""
    known = KnownValues(value for reading in others for value in reading.values)
    denials = {word.casefold() for reading in others for word in reading.negators}
    stated = {value.words: known.has(value) for reading in readings for value in reading.values} | {
        word: word.casefold() in denials for reading in readings for word in reading.negators
    }
    had, lacked = ([word for word in stated if stated[word] is side] for side in (True, False))
    return tuple(had), tuple(lacked)


def _read(text: str) -> Reading:
    return read(text[:_MOST_READ])
