"""Which words of a text stand in another one, and which do not."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from itertools import groupby

# Words, signs and the room between them: put together they are the text again.
_PIECES = re.compile(r"\w+|[^\w\s]|\s+")
# How many pairs of words are compared at the most; longer texts are shown without marks.
_MOST_COMPARED = 1_000_000


@dataclass(frozen=True)
class Span:
    """A part of a text, and whether the other text has it, too."""

    text: str
    differs: bool


def mark_differences(sources: Sequence[str], result: str) -> tuple[list[list[Span]], list[Span]]:
    """Return each source with what the result lacks of it, and the result with what is new."""
    result_pieces = _PIECES.findall(result)
    words = [piece for piece in result_pieces if not piece.isspace()]
    new = set(range(len(words)))
    marked = []
    for source in sources:
        pieces = _PIECES.findall(source)
        lacking, found = _compared([one for one in pieces if not one.isspace()], words)
        new -= found
        marked.append(_spans(pieces, lacking))
    return marked, _spans(result_pieces, new if sources else set())


def _compared(source: Sequence[str], result: Sequence[str]) -> tuple[set[int], set[int]]:
    """Return which words of the source the result lacks, and which of the result are its own."""
    if len(source) * len(result) > _MOST_COMPARED:
        return set(), set(range(len(result)))
    lacking, found = set(range(len(source))), set()
    matcher = SequenceMatcher(None, source, result, autojunk=False)
    for at, there, size in matcher.get_matching_blocks():
        lacking -= set(range(at, at + size))
        found |= set(range(there, there + size))
    return lacking, found


def _spans(pieces: Sequence[str], differing: set[int]) -> list[Span]:
    """Return pieces joined as far as they are of one kind; room between two goes with both."""
    kinds: list[bool | None] = []
    word = 0
    for piece in pieces:
        kinds.append(None if piece.isspace() else word in differing)
        word += not piece.isspace()
    for at, kind in enumerate(kinds):
        if kind is None:
            beside = kinds[max(at - 1, 0)], kinds[min(at + 1, len(kinds) - 1)]
            kinds[at] = beside == (True, True)
    return [
        Span("".join(piece for piece, _ in some), bool(kind))
        for kind, some in groupby(zip(pieces, kinds, strict=True), key=lambda one: one[1])
    ]
