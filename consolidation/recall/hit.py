"""What a search finds."""

from __future__ import annotations

from dataclasses import dataclass

from slowwave.store.records import Memory


@dataclass(frozen=True)
class Hit:
    """A memory that was found, and why."""

    memory: Memory
    # What it was ranked by, before its age and what it repeats.
    relevance: float
    # Of the nearest of its keys.
    cosine: float
    # Its rank by words alone, from 1 on, None if it has none of them; and by vectors.
    by_words: int | None
    by_vectors: int
    # The text that was found: its own, or one that it took the place of.
    key: Memory
    # The ids of what it was made from, to every depth.
    sources: tuple[str, ...]
    # A hit that gives the same thing a later value, as a model said, if there is one.
    later: Memory | None = None
    # A later hit that says the same but for a value or a denial.
    perhaps_later: Memory | None = None
