"""Compare new texts with known memories: restated, corrected, or new."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from slowwave.consolidation.comparison.normal_form import repeats
from slowwave.consolidation.comparison.rivals import find_rivalry
from slowwave.consolidation.progress import Progress
from slowwave.consolidation.thresholds import NEAR_SIMILARITY, WIDE_SIMILARITY
from slowwave.consolidation.vectors.embedder import Embedder
from slowwave.consolidation.vectors.matrix import Kept, TextVectors
from slowwave.store.records import Memory

# The maximum number of memories that a model is shown with a part.
_MAX_SHOWN = 12
# The number of nearest memories that a new text is compared with.
_NEAREST = 16


@dataclass(frozen=True, eq=False)
class Relation:
    """The relation of a new text to known memories. vector: float32, shape (d,), unit length."""

    vector: NDArray[np.float32]
    # The memory that says it already.
    covered_by: Memory | None = None
    # The memories that it contradicts.
    corrects: tuple[Memory, ...] = ()


class KnownMemories:
    """The active memories of a tenant, and those that the run adds.

    Vectors that the file lacks are computed, and are in `computed`.
    """

    def __init__(
        self,
        memories: Sequence[Memory],
        kept_vectors: Sequence[Kept],
        embedder: Embedder,
        progress: Progress,
    ) -> None:
        """Embed memories without kept vectors. Raises `EmbedderError`."""
        self.computed: list[Kept] = []
        self._embedder = embedder
        vectors = TextVectors(memories, kept_vectors)
        vectors.complete(embedder, self.computed.extend, progress)
        self._memories = list(memories)
        # The vectors of the memories, in their order; shape (n, d) each.
        self._vectors = [vectors.of(memories)] if memories else []

    def near(self, text: str) -> list[str]:
        """Return the texts of the memories near a text, nearest first."""
        if not self._memories:
            return []
        vector = self._embedder.encode([text])[0]
        nearest = self._nearest(vector, WIDE_SIMILARITY, _MAX_SHOWN)
        return [memory.content for memory in nearest]

    def relation_of(self, new: Memory) -> Relation:
        """Return the relation of a new text to known memories. Raises `EmbedderError`."""
        vector = self._embedder.encode([new.content])[0]
        neighbours = self._nearest(vector, NEAR_SIMILARITY, _NEAREST)
        for memory in neighbours:
            if repeats(memory, new.content, new.observed_at):
                return Relation(vector, memory)
        rivals = (
            memory for memory in neighbours if find_rivalry(memory.content, new.content) is not None
        )
        return Relation(vector, corrects=tuple(rivals))

    def add(self, memory: Memory, vector: NDArray[np.float32]) -> None:
        """Add a memory that the run stored."""
        self._memories.append(memory)
        self._vectors.append(vector[None])

    def change(self, memory: Memory) -> None:
        """Replace a memory whose columns, except the text, the run changed."""
        ids = [old.id for old in self._memories]
        self._memories[ids.index(memory.id)] = memory

    def _nearest(self, vector: NDArray[np.float32], floor: float, limit: int) -> list[Memory]:
        if not self._memories:
            return []
        similarities = np.concatenate([vectors @ vector for vectors in self._vectors])
        order = np.argsort(-similarities, kind="stable")[:limit]
        return [self._memories[place] for place in order if similarities[place] >= floor]
