"""Which active memories repeat a new text, or contradict it or each other: found without a model.

A text with no memory of enough of the same words costs no reading.
"""

from __future__ import annotations

from collections.abc import Container, Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import combinations
from typing import Literal

from slowwave.consolidation.text.tokens import words_in
from slowwave.consolidation.thresholds import COMMON_WORD, MAX_NEAR, SHARED_WORDS
from slowwave.store.file import MemoryFile
from slowwave.store.memories import read_active_texts, read_memories
from slowwave.store.records import Memory
from slowwave.store.word_index import WordIndex

# The number of memories that are compared with each other.
_MAX_COMPARED = 100


@dataclass(frozen=True)
class Similar:
    """An active memory that repeats or contradicts a text, and why."""

    memory: Memory
    relation: Literal["duplicate", "contradiction"]
    why: str


def find_similar(file: MemoryFile, tenant: str, text: str, now: str) -> list[Similar]:
    """Return the active memories of a tenant that repeat or contradict a text, nearest first.

    Raises `StoreError`.
    """
    near_memories = _near(file, tenant, text, now)
    if not near_memories:
        return []
    # Imported late: they load dictionaries.
    from slowwave.consolidation.comparison.normal_form import repeats
    from slowwave.consolidation.comparison.rivals import find_rivalry

    # If very many are alike, as lines of a log are, each has a value of its own.
    is_log, similar = len(near_memories) > MAX_NEAR, list[Similar]()
    for memory in near_memories[:MAX_NEAR]:
        rivalry = None if is_log else find_rivalry(memory.content, text)
        if rivalry is not None:
            values = " vs. ".join(rivalry.values)
            why = rivalry.why if text in values else f"{values}: {rivalry.why}"
            similar.append(Similar(memory, "contradiction", why))
        elif repeats(memory, text, now):
            similar.append(Similar(memory, "duplicate", "the same text apart from layout"))
    return similar


def find_contradictions(
    memories: Sequence[Memory], index: WordIndex, settled: Container[frozenset[str]]
) -> dict[str, Memory]:
    """Return for the earlier memory of each contradiction the later one, by id.

    `slowwave conflicts` lists the same ones without a model. index: of all memories. settled:
    pairs of texts, by hash, that a person found both right.
    """
    pairs, later_by_id = list(_pairs(memories[:_MAX_COMPARED], index)), dict[str, Memory]()
    if not pairs:
        return later_by_id
    # Imported late: it loads dictionaries.
    from slowwave.consolidation.planning.conflicts import find_conflicts
    from slowwave.consolidation.snapshot.cache import Cache
    from slowwave.consolidation.snapshot.features import features_of

    cache = Cache()
    features = features_of((memory for pair in pairs for memory in pair), cache)
    for pair in pairs:
        by_id = {memory.id: memory for memory in pair}
        for conflict in find_conflicts(pair, (), settled, cache, features):
            earlier, later = conflict.sources
            later_by_id.setdefault(earlier, by_id[later])
    return later_by_id


def _pairs(memories: Sequence[Memory], index: WordIndex) -> Iterator[tuple[Memory, Memory]]:
    """Yield the active pairs of a tenant that share enough words, one of them not too common."""
    active = [
        (memory, set(_words(memory.content))) for memory in memories if memory.status == "active"
    ]

    @cache
    def is_common(word: str) -> bool:
        return len(index.count_words([word])) > COMMON_WORD

    for (first, first_words), (second, second_words) in combinations(active, 2):
        shared, shorter = first_words & second_words, min(len(first_words), len(second_words))
        is_near = first.tenant == second.tenant and len(shared) >= SHARED_WORDS * shorter
        if is_near and not all(map(is_common, shared)):
            yield first, second


def _near(file: MemoryFile, tenant: str, text: str, now: str) -> list[Memory]:
    """Return the active memories that share enough words with a text, nearest first."""
    words, texts = _words(text), read_active_texts(file, tenant)
    index = WordIndex((content for _, content in texts), is_ranked=False)
    shares = {
        texts[row][0]: shared / min(len(words), len(_words(texts[row][1])))
        for row, shared in index.count_words(words).items()
    }
    index.close()
    near_ids = [memory_id for memory_id, share in shares.items() if share >= SHARED_WORDS]
    memories = (memory for memory in read_memories(file, near_ids) if not memory.has_expired(now))
    return sorted(memories, key=lambda memory: (-shares[memory.id], memory.id))


def _words(text: str) -> list[str]:
    return list(dict.fromkeys(words_in(text)))
