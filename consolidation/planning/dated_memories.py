"""A tenant's memories with the features of their sentences, for the search for updates."""

from __future__ import annotations

from collections.abc import Callable

from slowwave.consolidation.snapshot.tenant_view import TenantView
from slowwave.consolidation.updates.dated_memory import DatedMemory, read_sentences
from slowwave.consolidation.updates.sentence_features import SentenceFeatures
from slowwave.store.records import Memory


def dated_memories(
    view: TenantView,
    is_open: Callable[[int], bool],
    sentences: Callable[[Memory], tuple[SentenceFeatures, ...]] = read_sentences,
) -> list[DatedMemory]:
    """Return all that a tenant's memories say; what stands in a derived one is not open itself.

    sentences: returns what a memory says, from the cache where it was read before.
    """
    observed = [
        DatedMemory(memory, sentences(memory), is_open(row))
        for row, memory in enumerate(view.memories)
    ]
    # An active memory that commands its reader, or is meant to the letter, replaces nothing, and
    # nothing is put into it.
    return observed + [
        DatedMemory(memory, sentences(memory), memory.id not in view.kept_as_is)
        for memory in view.derived
        if memory.layer == "stable"
    ]
