"""The vectors of all texts as one matrix: the kept ones, and missing ones computed."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from heapq import nsmallest
from operator import itemgetter
from typing import TYPE_CHECKING, NamedTuple

from slowwave.consolidation.errors import EmbedderError
from slowwave.consolidation.progress import Progress
from slowwave.consolidation.thresholds import NEAR_SIMILARITY
from slowwave.store.records import Memory
from slowwave.store.vectors import from_blob, have_unit_length, to_blob

from .embedder import Embedder, encode_portions

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

# Kept vectors copied into the matrix together: 6 MB at 384 dimensions.
_BATCH = 4_096
# Texts that are embedded again, to learn whether the kept vectors are of the same model.
_TRIED = 3

# (memory id, hash of the embedded text, blob), as the file has them.
Kept = tuple[str, str, bytes]
Keep = Callable[[Sequence[Kept]], None]


class Text(NamedTuple):
    """The text of a memory."""

    # Of the memory.
    id: str
    content_hash: str
    content: str


class TextVectors:
    """A matrix with a row per text, which memories may share."""

    def __init__(self, memories: Sequence[Memory | Text], kept: Iterable[Kept]) -> None:
        """Take the memories, and the vectors that the file has.

        Vectors of other texts, damaged ones, and those of an unusual size are ignored.
        """
        self._memories = memories
        self._texts: dict[str, int] = {}
        # Ids of memories with a sound vector in the file.
        self._served: set[str] = set()
        if not memories:
            return  # a no-op night does not load numpy
        import numpy as np

        for memory in memories:
            self._texts.setdefault(memory.content_hash, len(self._texts))
        hashes = {memory.id: memory.content_hash for memory in memories}
        stored = [row for row in kept if hashes.get(row[0]) == row[1] and isinstance(row[2], bytes)]
        sizes = Counter(len(blob) for _, _, blob in stored if len(blob) % 4 == 0)
        size = max(sizes, key=lambda length: (sizes[length], length), default=0)
        self._allocate(size // 4)
        # The lowest id of duplicates with different vectors counts.
        stored = sorted((row for row in stored if len(row[2]) == size), key=itemgetter(0))
        for start in range(0, len(stored) if size else 0, _BATCH):
            part = stored[start : start + _BATCH]
            vectors = np.frombuffer(b"".join(blob for _, _, blob in part), dtype="<f4")
            self._take(part, vectors.reshape(len(part), -1))

    def of(self, memories: Sequence[Memory | Text]) -> NDArray[np.float32]:
        """Return the vector of each memory, float32, shape (len(memories), d), unit length."""
        import numpy as np

        if not memories:
            return np.empty((0, 1), dtype=np.float32)
        rows = np.array([self._texts[memory.content_hash] for memory in memories], dtype=np.intp)
        if np.array_equal(rows, np.arange(rows[0], rows[0] + len(rows))):
            return self._matrix[rows[0] : rows[0] + len(rows)]  # a view, not a copy
        return self._matrix[rows]

    def refuse_other_model(self, embedder: Embedder) -> None:
        """Refuse vectors of the file that another model made. Raises `EmbedderError`."""
        # A text must be as near to itself as duplicates are to each other.
        served = (memory for memory in self._memories if memory.id in self._served)
        tried = nsmallest(_TRIED, served, key=lambda memory: len(memory.content))
        if not tried:
            return
        made, kept = embedder.encode([memory.content for memory in tried]), self.of(tried)
        if made.shape != kept.shape or (made * kept).sum(axis=1).max() < NEAR_SIMILARITY:
            raise EmbedderError(
                f"The vectors kept for '{embedder.name}' were made by another model.",
                "Delete them from the table embeddings, or choose the model that made them.",
            )

    def complete(self, embedder: Embedder, keep: Keep, progress: Progress) -> None:
        """Compute missing vectors, each text once, and keep them. Raises `EmbedderError`."""
        if not self._memories:
            return None
        unserved = [memory for memory in self._memories if memory.id not in self._served]
        self._keep(keep, [memory for memory in unserved if self._is_present(memory)])
        missing: dict[str, list[Memory | Text]] = {}
        for memory in unserved:
            if not self._is_present(memory):
                missing.setdefault(memory.content_hash, []).append(memory)
        hashes = sorted(missing)
        texts = [missing[content_hash][0].content for content_hash in hashes]

        def report(done: int, total: int) -> None:
            progress.stage("embedding", done, total)

        for positions, encoded in encode_portions(embedder, texts, report):
            vectors = [from_blob(to_blob(vector)) for vector in encoded]
            if len(vectors[0]) != self._matrix.shape[1]:
                fresh = not self._present.any()
                self._allocate(len(vectors[0]))
                if not fresh:
                    # The kept vectors are of another model with this name.
                    self._served.clear()
                    return self.complete(embedder, keep, progress)
            rows = [self._texts[hashes[at]] for at in positions]
            self._matrix[rows], self._present[rows] = vectors, True
            self._keep(keep, [memory for at in positions for memory in missing[hashes[at]]])
        return None

    def _allocate(self, dimensions: int) -> None:
        import numpy as np

        self._matrix = np.zeros((len(self._texts), dimensions), dtype=np.float32)
        self._present = np.zeros(len(self._texts), dtype=bool)

    def _take(self, part: Sequence[Kept], vectors: NDArray[np.float32]) -> None:
        import numpy as np

        sound = have_unit_length(vectors)
        rows = np.array([self._texts[text_hash] for _, text_hash, _ in part])
        self._served.update(row[0] for row, good in zip(part, sound.tolist(), strict=True) if good)
        new = np.flatnonzero(sound & ~self._present[rows])
        texts, first = np.unique(rows[new], return_index=True)
        self._matrix[texts], self._present[texts] = vectors[new[first]], True

    def _is_present(self, memory: Memory | Text) -> bool:
        return bool(self._present[self._texts[memory.content_hash]])

    def _keep(self, keep: Keep, memories: Sequence[Memory | Text]) -> None:
        rows = [
            (
                memory.id,
                memory.content_hash,
                self._matrix[self._texts[memory.content_hash]].tobytes(),
            )
            for memory in memories
        ]
        if rows:
            keep(rows)
