"""Which words of a text are in another text, and which are not."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from itertools import groupby

# Words and signs, each with the space after it: joined, they are the text again.
_PIECES = re.compile(r"(?:\w+|[^\w\s])\s*|\s+")
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
    new_indexes = set(range(len(result_pieces)) if sources else ())
    marked = []
    for source in sources:
        pieces = _PIECES.findall(source)
        lacking, shared = _compare(pieces, result_pieces)
        new_indexes -= shared
        marked.append(_spans(pieces, lacking))
    return marked, _spans(result_pieces, new_indexes)


def _compare(source: Sequence[str], result: Sequence[str]) -> tuple[set[int], set[int]]:
    """Return which pieces of the source the result lacks, and which of the result it shares."""
    if len(source) * len(result) > _MAX_PAIRS:
        return set(), set(range(len(result)))
    lacking, shared = set(range(len(source))), set()
    words, result_words = ([piece.strip() for piece in pieces] for pieces in (source, result))
    matcher = SequenceMatcher(None, words, result_words, autojunk=False)
    for block in matcher.get_matching_blocks():
        lacking -= set(range(block.a, block.a + block.size))
        shared |= set(range(block.b, block.b + block.size))
    return lacking, shared


def _spans(pieces: Sequence[str], differing: set[int]) -> list[Span]:
    """Join adjacent pieces of the same kind; no span that differs ends with a space."""
    spans = []
    for differs, indexes in groupby(range(len(pieces)), differing.__contains__):
        text = "".join(pieces[index] for index in indexes)
        words = text.rstrip() if differs else text
        spans += [Span(words, differs), Span(text[len(words) :], False)]
    return [span for span in spans if span.text]
