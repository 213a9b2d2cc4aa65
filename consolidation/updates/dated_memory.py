"""A memory with its time and the features of its sentences, as the search for updates sees it."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from hashlib import blake2b

from slowwave.store.records import Memory

from .frames import Frame, Key
from .sentence_features import SentenceFeatures, frames_in, sentence_features

# Among 100,000 memories two have the same key by chance in one file of three thousand million.
_KEY_BYTES = 8


@dataclass(frozen=True, eq=False)
class DatedMemory:
    """A memory, and what it says."""

    memory: Memory
    sentences: tuple[SentenceFeatures, ...]
    # Whether it can be replaced: it is active, and not what stands behind another one.
    open: bool

    @property
    def observed(self) -> bool:
        """Whether somebody said it; what was made of it counts as no further voice."""
        return self.memory.generation == 0

    @property
    def moment(self) -> tuple[str, str]:
        """When it was said; of two at once the order of ids decides."""
        return self.memory.observed_at, self.memory.id

    @property
    def frames(self) -> tuple[Frame, ...]:
        """Its sentences read in full, one for each saying."""
        return frames_in(self.memory.content)

    @cached_property
    def key(self) -> bytes:
        """What it is known by from night to night: another text or another time is another key."""
        memory = self.memory
        parts = (memory.id, memory.content_hash, memory.observed_at, str(self.observed))
        return blake2b("\0".join(parts).encode(), digest_size=_KEY_BYTES).digest()

    def states_nothing_else(self, keys: frozenset[Key]) -> bool:
        """Whether each of its sentences is about these values."""
        return all(sentence.holds(keys) for sentence in self.sentences)


def read_sentences(memory: Memory) -> tuple[SentenceFeatures, ...]:
    """Read what a memory says."""
    return sentence_features(memory.content)


def dated_memory(memory: Memory, is_open: bool = True) -> DatedMemory:
    """Return a memory as the search sees it: what it says of today, sentence by sentence."""
    return DatedMemory(memory, read_sentences(memory), is_open)
