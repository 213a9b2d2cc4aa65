"""Search hits."""

from __future__ import annotations

from dataclasses import dataclass

from slowwave.store.records import Memory


@dataclass(frozen=True)
class Hit:
    """A memory that was found, with its ranks."""

    memory: Memory
    # Its relevance, before age and repetition are considered.
    relevance: float
    # The cosine of its nearest key.
    cosine: float
    # Its ranks, from 1, by words (None if it has none of them) and by vectors.
    by_words: int | None
    by_vectors: int
    # The memory whose text was found: itself, or one that it replaced.
    key: Memory
    # The ids of its sources, at any depth.
    sources: tuple[str, ...]
    # A hit with a later value of the same property, by a model's judgement.
    later: Memory | None = None
    # A later hit that differs only in a value or a negation.
    perhaps_later: Memory | None = None
