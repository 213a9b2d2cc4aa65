"""What is remembered already, beside what is new: said again, corrected, or neither."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

from slowwave.consolidation.comparison.coverage import Coverage
from slowwave.consolidation.comparison.rivals import find_rivalry
from slowwave.consolidation.facts.reading import read
from slowwave.consolidation.progress import Progress
from slowwave.consolidation.thresholds import DUPLICATE_SIMILARITY, WIDE_SIMILARITY
from slowwave.consolidation.vectors.embedder import Embedder
from slowwave.consolidation.vectors.matrix import Kept, TextVectors
from slowwave.store.records import Memory

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

# A model is shown so many memories beside a part of a conversation at the most.
_MOST_SHOWN = 12
# What is new is compared with so many of the nearest memories.
_NEAREST = 16


@dataclass(frozen=True, eq=False)
class Relation:
    """How a new text relates to what is remembered. `vector`: float32, shape (d,), unit length."""

    vector: NDArray[np.float32]
    # The memory that says it already.
    covered_by: Memory | None = None
    # The ids of memories that say otherwise.
    corrects: tuple[str, ...] = ()


class KnownMemories:
    """The active memories of a tenant, with those that the run has added.

    Vectors that the file lacks are computed; `computed` has them, to be kept.
    """

    def __init__(
        self,
        memories: Sequence[Memory],
        kept: Sequence[Kept],
        embedder: Embedder,
        progress: Progress,
    ) -> None:
        """Take what the file holds. Raises `EmbedderError`."""
        self.computed: list[Kept] = []
        self._embedder = embedder
        vectors = TextVectors(memories, kept)
        vectors.complete(embedder, self.computed.extend, progress)
        self._memories = list(memories)
        # Of what was there, shape (n, d), None if that is nothing; and of what was added since.
        self._vectors = vectors.of(memories) if memories else None
        self._added: list[NDArray[np.float32]] = []

    @cached_property
    def _coverage(self) -> Coverage:
        return Coverage()

    def near(self, text: str) -> list[str]:
        """Return what is remembered about a text, nearest first."""
        vector = self._embedder.encode([text])[0]
        near = self._nearest(vector, WIDE_SIMILARITY, _MOST_SHOWN)
        return [memory.content for memory in near]

    def relation_of(self, new: Memory) -> Relation:
        """Return how a text that is not there yet relates to those that are.

        Raises `EmbedderError`.
        """
        vector = self._embedder.encode([new.content])[0]
        near = self._nearest(vector, DUPLICATE_SIMILARITY, _NEAREST)
        said = read(new.content)
        day = new.observed_at[:10]
        known = [one for one in near if not said.deictic or one.observed_at[:10] == day]
        covered = self._coverage.covered([(new.content, one.content) for one in known])
        for memory, is_covered in zip(known, covered, strict=True):
            if is_covered:
                return Relation(vector, memory)
        rivals = [one.id for one in near if find_rivalry(read(one.content), said) is not None]
        return Relation(vector, corrects=tuple(rivals))

    def add(self, memory: Memory, vector: NDArray[np.float32]) -> None:
        """Take in what the run has stored."""
        self._memories.append(memory)
        self._added.append(vector)

    def change(self, memory: Memory) -> None:
        """Take in that the run has changed a memory, its text aside."""
        at = next(at for at, one in enumerate(self._memories) if one.id == memory.id)
        self._memories[at] = memory

    def _nearest(self, vector: NDArray[np.float32], least: float, most: int) -> list[Memory]:
        import numpy as np

        if not self._memories:
            return []
        there = () if self._vectors is None else (self._vectors @ vector,)
        added = (np.stack(self._added) @ vector,) if self._added else ()
        found = np.concatenate((*there, *added))
        order = np.argsort(-found, kind="stable")[:most]
        return [self._memories[at] for at in order if found[at] >= least]
