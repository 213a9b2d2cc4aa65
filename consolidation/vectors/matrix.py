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
from slowwave.store.vectors import from_blob, have_unit_length, replacement_hint, to_blob

from .embedder import Embedder, encode_portions

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

# Texts that are embedded again, to learn whether the kept vectors are of the same model.
_TRIED = 3

# (memory id, hash of the embedded text, blob), as the file has them.
Kept = tuple[str, str, bytes]
Keep = Callable[[Sequence[Kept]], None]


class Text(NamedTuple):
    """The text of a memory."""

    # The memory's id, the hash of its text, and the text.
    id: str
    content_hash: str
    content: str


class TextVectors:
    """The vectors of texts, which memories may share."""

    def __init__(self, memories: Sequence[Memory | Text], kept: Iterable[Kept]) -> None:
        """kept: the vectors in the file.

        Vectors of other texts, damaged ones, and those of an unusual size are ignored.
        """
        self._memories = memories
        # float32, shape (rows, d), unit length; a text without a row has no vector yet.
        self.matrix: NDArray[np.float32]
        # The row of each text in the matrix, by its hash.
        self._rows: dict[str, int] = {}
        # Ids of memories with a sound vector in the file.
        self._served: set[str] = set()
        if not memories:
            return  # a no-op night does not load numpy
        import numpy as np

        by_id = {row[0]: row for row in kept if isinstance(row[2], bytes)}
        rows_in_file = (by_id.get(memory.id, ("", "", b"")) for memory in memories)
        pairs = zip(memories, rows_in_file, strict=True)
        stored = [row for memory, row in pairs if row[1] == memory.content_hash]
        sizes = Counter(map(len, map(itemgetter(2), stored)))
        counts = {size: count for size, count in sizes.items() if size % 4 == 0}
        size = max(counts, key=lambda length: (counts[length], length), default=0)
        if len(sizes) > 1 or not size:
            stored = [row for row in stored if len(row[2]) == size > 0]
        joined = b"".join(map(itemgetter(2), stored))
        self.matrix = np.frombuffer(joined, dtype="<f4").reshape(len(stored), size // 4)
        for number, is_sound in enumerate(have_unit_length(self.matrix).tolist()):
            memory_id, text_hash, _ = stored[number]
            if is_sound:
                self._served.add(memory_id)
                row = self._rows.setdefault(text_hash, number)
                # The lowest id of duplicates with different vectors counts.
                if memory_id < stored[row][0]:
                    self._rows[text_hash] = number

    def of(self, memories: Sequence[Memory | Text]) -> NDArray[np.float32]:
        """Return the vector of each memory, float32, shape (len(memories), d), unit length."""
        import numpy as np

        if not memories:
            return np.empty((0, 1), dtype=np.float32)
        rows = self.rows_of(memories)
        if np.array_equal(rows, np.arange(rows[0], rows[0] + len(rows))):
            return self.matrix[rows[0] : rows[0] + len(rows)]  # a view, not a copy
        return self.matrix[rows]

    def rows_of(self, memories: Sequence[Memory | Text]) -> NDArray[np.intp]:
        """Return the row of each memory's vector in `matrix`, shape (len(memories),)."""
        import numpy as np

        return np.array([self._rows[memory.content_hash] for memory in memories], dtype=np.intp)

    def refuse_other_model(self, embedder: Embedder) -> None:
        """Refuse vectors of the file that another model made. Raises `EmbedderError`."""
        # A text must be as near to itself as duplicates are to each other.
        served = (memory for memory in self._memories if memory.id in self._served)
        tried = nsmallest(_TRIED, served, key=lambda memory: len(memory.content))
        if not tried:
            return
        new, stored = embedder.encode([memory.content for memory in tried]), self.of(tried)
        if new.shape != stored.shape or (new * stored).sum(axis=1).max() < NEAR_SIMILARITY:
            raise EmbedderError(
                f"The vectors kept for '{embedder.name}' were made by another model.",
                replacement_hint(embedder.name),
            )

    def complete(self, embedder: Embedder, keep: Keep, progress: Progress) -> None:
        """Compute missing vectors, each text once, and keep them. Raises `EmbedderError`."""
        if not self._memories:
            return None
        import numpy as np

        unserved = [memory for memory in self._memories if memory.id not in self._served]
        self._keep(keep, [memory for memory in unserved if self._is_present(memory)])
        missing: dict[str, list[Memory | Text]] = {}
        for memory in unserved:
            if not self._is_present(memory):
                missing.setdefault(memory.content_hash, []).append(memory)
        hashes = list(missing)
        texts = [missing[content_hash][0].content for content_hash in hashes]

        def report(done: int, total: int) -> None:
            progress.stage("embedding", done, total)

        size = len(self.matrix)
        for positions, encoded in encode_portions(embedder, texts, report):
            vectors = np.stack([from_blob(to_blob(vector)) for vector in encoded])
            if self._rows and vectors.shape[1] != self.matrix.shape[1]:
                # The kept vectors are of another model with this name.
                self._served.clear()
                self._rows.clear()
                return self.complete(embedder, keep, progress)
            if len(self.matrix) == size:
                size = size if self._rows else 0
                new = np.empty((len(texts), vectors.shape[1]), dtype=np.float32)
                self.matrix = np.concatenate([self.matrix, new]) if size else new
            rows = [size + place for place in positions]
            self.matrix[rows] = vectors
            self._rows.update(zip((hashes[place] for place in positions), rows, strict=True))
            self._keep(keep, [memory for place in positions for memory in missing[hashes[place]]])
        return None

    def _is_present(self, memory: Memory | Text) -> bool:
        return memory.content_hash in self._rows

    def _keep(self, keep: Keep, memories: Sequence[Memory | Text]) -> None:
        if memories:
            vectors = self.of(memories)
            pairs = zip(memories, vectors, strict=True)
            keep([(memory.id, memory.content_hash, vector.tobytes()) for memory, vector in pairs])
