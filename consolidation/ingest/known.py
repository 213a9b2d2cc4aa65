"""What is remembered already, beside what is new: said again, corrected, or neither."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

from slowwave.consolidation.comparison.coverage import Coverage
from slowwave.consolidation.comparison.guards import gravest_objection
from slowwave.consolidation.comparison.objections import Objection
from slowwave.consolidation.progress import Progress
from slowwave.consolidation.text.reading import Reading, read
from slowwave.consolidation.thresholds import (
    PAIR_SIMILARITY,
    RETOLD_SIMILARITY,
    SHOWN_SIMILARITY,
    WIDE_SIMILARITY,
)
from slowwave.consolidation.updates.dated_memory import dated_memory
from slowwave.consolidation.updates.replacements import find_updates
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
        near = self._nearest(vector, SHOWN_SIMILARITY, _MOST_SHOWN)
        return [memory.content for _, memory in near]

    def relation_of(self, new: Memory) -> Relation:
        """Return how a text that is not there yet relates to those that are.

        Raises `EmbedderError`.
        """
        vector = self._embedder.encode([new.content])[0]
        near = self._nearest(vector, WIDE_SIMILARITY, _NEAREST)
        said = read(new.content)
        corrects: list[str] = []
        for similarity, memory in near:
            if similarity < PAIR_SIMILARITY:
                continue
            objection = gravest_objection(read(memory.content), said)
            if self._tells(memory, said, objection, similarity):
                return Relation(vector, memory)
            if objection is not None and objection.certain:
                corrects.append(memory.id)
        corrects += _replaced(new, [memory for _, memory in near])
        return Relation(vector, corrects=tuple(dict.fromkeys(corrects)))

    def add(self, memory: Memory, vector: NDArray[np.float32]) -> None:
        """Take in what the run has stored."""
        self._memories.append(memory)
        self._added.append(vector)

    def change(self, memory: Memory) -> None:
        """Take in that the run has changed a memory, its text aside."""
        at = next(at for at, one in enumerate(self._memories) if one.id == memory.id)
        self._memories[at] = memory

    def _tells(
        self, memory: Memory, said: Reading, objection: Objection | None, similarity: float
    ) -> bool:
        """Whether a memory says all that a text says."""
        if objection is None:
            return True
        if objection.conflict or similarity < RETOLD_SIMILARITY:
            return False
        sentences = [read(one) for one in read(memory.content).sentences]
        return all(
            self._coverage.find_covering(read(one), sentences) is not None for one in said.sentences
        )

    def _nearest(
        self, vector: NDArray[np.float32], least: float, most: int
    ) -> list[tuple[float, Memory]]:
        import numpy as np

        if not self._memories:
            return []
        there = () if self._vectors is None else (self._vectors @ vector,)
        added = (np.stack(self._added) @ vector,) if self._added else ()
        found = np.concatenate((*there, *added))
        order = np.argsort(-found, kind="stable")[:most]
        return [(float(found[at]), self._memories[at]) for at in order if found[at] >= least]


def _replaced(new: Memory, others: Sequence[Memory]) -> list[str]:
    """Return the memories that give a thing another value than a text that is said later."""
    if not others:
        return []
    dated = [dated_memory(one) for one in (*others, new)]
    found = find_updates(dated, lambda memory: memory.id != new.id)
    groups = [[one.memory.id for one in replacement.memories] for replacement in found.replacements]
    groups += [list(conflict.sources) for conflict in found.conflicts]
    return [one for group in groups if new.id in group for one in group if one != new.id]
