"""Which words of a text are in another text, and which are not."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from itertools import groupby
from operator import itemgetter

# Words, signs and the spaces between them: joined, they are the text again.
_PIECES = re.compile(r"\w+|[^\w\s]|\s+")
# Maximum pairs of words that are compared; longer texts are shown without marks.
_MAX_PAIRS = 1_000_000


@dataclass(frozen=True)
class Span:
    """A part of a text, and whether the other text lacks it."""

    text: str
    differs: bool


def mark_differences(sources: Sequence[str], result: str) -> tuple[list[list[Span]], list[Span]]:
    """Return each source with its words that the result lacks, and the result with its new ones."""
    result_pieces = _PIECES.findall(result)
    words = [piece for piece in result_pieces if not piece.isspace()]
    new = set(range(len(words)))
    marked = []
    for source in sources:
        pieces = _PIECES.findall(source)
        lacking, found = _compared([piece for piece in pieces if not piece.isspace()], words)
        new -= found
        marked.append(_spans(pieces, lacking))
    return marked, _spans(result_pieces, new if sources else set())


def _compared(source: Sequence[str], result: Sequence[str]) -> tuple[set[int], set[int]]:
    """Return the words of the source that the result lacks, and those of the result it shares."""
    if len(source) * len(result) > _MAX_PAIRS:
        return set(), set(range(len(result)))
    lacking, found = set(range(len(source))), set()
    matcher = SequenceMatcher(None, source, result, autojunk=False)
    for at, there, size in matcher.get_matching_blocks():
        lacking -= set(range(at, at + size))
        found |= set(range(there, there + size))
    return lacking, found


def _spans(pieces: Sequence[str], differing: set[int]) -> list[Span]:
    """Join adjacent pieces of the same kind; a space takes the kind of its neighbors."""
    kinds: list[bool | None] = []
    word = 0
    for piece in pieces:
        kinds.append(None if piece.isspace() else word in differing)
        word += not piece.isspace()
    for at, kind in enumerate(kinds):
        if kind is None:
            neighbours = kinds[max(at - 1, 0)], kinds[min(at + 1, len(kinds) - 1)]
            kinds[at] = neighbours == (True, True)
    return [
        Span("".join(piece for piece, _ in group), bool(kind))
        for kind, group in groupby(zip(pieces, kinds, strict=True), key=itemgetter(1))
    ]
