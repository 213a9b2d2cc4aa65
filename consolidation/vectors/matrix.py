"""The vectors of all texts as one matrix: what the file holds, and what was missing computed."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from operator import itemgetter
from typing import TYPE_CHECKING

from slowwave.consolidation.progress import Progress
from slowwave.store.records import Memory
from slowwave.store.vectors import from_blob, have_unit_length, to_blob

from .embedder import Embedder, encode_portions

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

# Kept vectors that are put into the matrix together: 6 MB at 384 dimensions.
_PORTION = 4_096

# (memory id, hash of the text that it was made from, blob), as the file has them.
Kept = tuple[str, str, bytes]
Keep = Callable[[Sequence[Kept]], None]


class TextVectors:
    """A vector for each text, whichever memories have it; a text is a row of the matrix."""

    def __init__(self, memories: Sequence[Memory], kept: Iterable[Kept]) -> None:
        """Take the memories whose texts are to have vectors, and what the file has of those.

        What was made from another text, is damaged, or has not the size of most is left out.
        """
        self._memories = memories
        self._texts: dict[str, int] = {}
        if not memories:
            return  # a quiet night does without numpy
        import numpy as np

        for memory in memories:
            self._texts.setdefault(memory.content_hash, len(self._texts))
        # Memories that the file has a sound vector of.
        self._served: set[str] = set()
        hashes = {memory.id: memory.content_hash for memory in memories}
        found = [one for one in kept if hashes.get(one[0]) == one[1] and isinstance(one[2], bytes)]
        sizes = Counter(len(blob) for _, _, blob in found if len(blob) % 4 == 0)
        size = max(sizes, key=lambda one: (sizes[one], one), default=0)
        self._begin(size // 4)
        # Of twins with different vectors the lowest id decides.
        found = sorted((one for one in found if len(one[2]) == size), key=itemgetter(0))
        for start in range(0, len(found) if size else 0, _PORTION):
            part = found[start : start + _PORTION]
            vectors = np.frombuffer(b"".join(blob for _, _, blob in part), dtype="<f4")
            self._take(part, vectors.reshape(len(part), -1))

    def of(self, memories: Sequence[Memory]) -> NDArray[np.float32]:
        """Return the vector of each memory, float32, shape (len(memories), d), unit length."""
        import numpy as np

        if not memories:
            return np.empty((0, 1), dtype=np.float32)
        rows = np.fromiter((self._texts[one.content_hash] for one in memories), np.intp)
        if len(rows) and np.array_equal(rows, np.arange(rows[0], rows[0] + len(rows))):
            return self._matrix[rows[0] : rows[0] + len(rows)]  # a view: nothing is copied
        return self._matrix[rows]

    def complete(self, embedder: Embedder, keep: Keep, progress: Progress) -> None:
        """Compute what is missing, each text once, and keep it as it comes.

        Raises `EmbedderError`.
        """
        if not self._memories:
            return None
        borrowed = [one for one in self._memories if self._is_there(one)]
        self._keep(keep, [one for one in borrowed if one.id not in self._served])
        lacking: dict[str, list[Memory]] = {}
        for memory in self._memories:
            if not self._is_there(memory):
                lacking.setdefault(memory.content_hash, []).append(memory)
        hashes = sorted(lacking)
        texts = [lacking[one][0].content for one in hashes]

        def report(done: int, total: int) -> None:
            progress.stage("embedding", done, total)

        for positions, encoded in encode_portions(embedder, texts, report):
            vectors = [from_blob(to_blob(vector)) for vector in encoded]
            if len(vectors[0]) != self._matrix.shape[1]:
                fresh = not self._there.any()
                self._begin(len(vectors[0]))
                if not fresh:
                    # Another model has gone by this name: what it left is of no use.
                    self._served.clear()
                    return self.complete(embedder, keep, progress)
            rows = [self._texts[hashes[at]] for at in positions]
            self._matrix[rows], self._there[rows] = vectors, True
            self._keep(keep, [one for at in positions for one in lacking[hashes[at]]])
        return None

    def _begin(self, dimensions: int) -> None:
        import numpy as np

        self._matrix = np.zeros((len(self._texts), dimensions), dtype=np.float32)
        self._there = np.zeros(len(self._texts), dtype=bool)

    def _take(self, part: Sequence[Kept], vectors: NDArray[np.float32]) -> None:
        import numpy as np

        sound = have_unit_length(vectors)
        rows = np.array([self._texts[of] for _, of, _ in part])
        self._served.update(one[0] for one, good in zip(part, sound, strict=True) if good)
        new = np.flatnonzero(sound & ~self._there[rows])
        texts, first = np.unique(rows[new], return_index=True)
        self._matrix[texts], self._there[texts] = vectors[new[first]], True

    def _is_there(self, memory: Memory) -> bool:
        return bool(self._there[self._texts[memory.content_hash]])

    def _keep(self, keep: Keep, memories: Sequence[Memory]) -> None:
        rows = [
            (one.id, one.content_hash, self._matrix[self._texts[one.content_hash]].tobytes())
            for one in memories
        ]
        if rows:
            keep(rows)
