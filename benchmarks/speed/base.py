"""The base of all generated data: the 3,000 memories of fixtures/night, with vectors."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from fixtures.night import FLAVOURS, NightMemory, load
from slowwave.consolidation.vectors.embedder import SentenceEmbedder


@dataclass(frozen=True)
class Base:
    """The hand-written memories of all flavours, with their vectors."""

    memories: tuple[NightMemory, ...]
    # The flavour of each memory.
    flavours: tuple[str, ...]
    # float32, shape (len(memories), d), unit length.
    vectors: NDArray[np.float32]
    # The name of the embedder.
    model: str

    @cached_property
    def groups(self) -> list[list[int]]:
        """The rows of each fact, rule or update, which are renamed together."""
        rows: dict[tuple[str, str], list[int]] = defaultdict(list)
        for row, (flavour, memory) in enumerate(zip(self.flavours, self.memories, strict=True)):
            rows[flavour, memory.group.removeprefix("near:")].append(row)
        return list(rows.values())


def load_base() -> Base:
    """Return the base."""
    pairs = [(flavour, memory) for flavour in FLAVOURS for memory in load(flavour).memories]
    embedder = SentenceEmbedder()
    vectors = embedder.encode([memory.text for _, memory in pairs])
    flavours, memories = zip(*pairs, strict=True)
    return Base(memories, flavours, vectors, embedder.name)
