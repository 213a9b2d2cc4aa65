"""Whether a memory holds what another one said: by its text, or by its lineage alone."""

from __future__ import annotations

from slowwave.consolidation.facts.reading import read
from slowwave.consolidation.thresholds import SHARED_WORDS_ANCHORED


def keeps_facts(source: str, text: str) -> bool:
    """Whether the facts of a source stand in another text: its values, names and most other words.

    Stricter than what a merge asks: where one text says all of another in other words, that is not
    seen here.
    """
    if source == text:
        return True
    said, there = read(source), read(text)
    return (
        all(there.holds(value) for value in said.values)
        and all(there.mentions(name) for name in said.names)
        and len(said.stem_set & there.stem_set) >= SHARED_WORDS_ANCHORED * len(said.stem_set)
    )
