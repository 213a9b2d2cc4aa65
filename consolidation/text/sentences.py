"""Split a text into sentences."""

from __future__ import annotations

import re

# A sentence ends after its mark, and a quote or bracket, before a capital; or at a line end. The
# search is anchored where blanks begin, so that a long run of them takes no quadratic time.
_SENTENCE_END = re.compile(
    r"(?:(?<=[.!?])|(?<=[.!?][\"'”)]))\s+(?=[\"'“(\[`]?[A-Z0-9])|(?<!\s)\s*\n\s*"
)
_ABBREVIATED = re.compile(
    r"\b(?:e\.g|i\.e|etc|vs|Dr|Prof|Mr|Mrs|Ms|St|No|approx|a\.m|p\.m)\.$", re.I
)


def split_sentences(text: str) -> list[str]:
    """Return the sentences of a text, verbatim."""
    sentences: list[str] = []
    for part in filter(None, _SENTENCE_END.split(text.strip())):
        if sentences and _ABBREVIATED.search(sentences[-1]):
            sentences[-1] = f"{sentences[-1]} {part}"
        else:
            sentences.append(part)
    return sentences
