"""What can be found in a file, read once: texts with vectors and words, and where they lead."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache
from pathlib import Path
from typing import TYPE_CHECKING

from slowwave.consolidation.progress import Progress
from slowwave.consolidation.vectors.embedder import Embedder
from slowwave.consolidation.vectors.matrix import TextVectors
from slowwave.store.file import open_reading
from slowwave.store.lineage import Edge, read_edges
from slowwave.store.memories import read_recallable, read_restorable, select_tenants
from slowwave.store.records import LAYERS, Memory
from slowwave.store.shown_to_model import Dispute, read_disputes
from slowwave.store.vectors import read_vectors
from slowwave.store.word_index import WordIndex

from .filter import Filter
from .keys import NEVER, current_holders, holders_at

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


@dataclass(frozen=True)
class Recallable:
    """What a file holds of the tenants chosen, with its vectors as far as the file has them."""

    memories: tuple[Memory, ...]
    edges: tuple[Edge, ...]
    vectors: TextVectors
    # The conflicts that a model named.
    disputes: tuple[Dispute, ...]


def read_recallable_of(path: Path, chosen: Sequence[str], model: str) -> Recallable:
    """Read what the tenants named, or all, remember. Raises `StoreError`.

    The file is open only as long as it takes to read.
    """
    with open_reading(path) as file:
        tenants = select_tenants(file, chosen)
        memories = [one for tenant in tenants for one in read_recallable(file, tenant)]
        return Recallable(
            tuple(memories),
            tuple(edge for tenant in tenants for edge in read_edges(file, tenant)),
            TextVectors(
                memories, (one for tenant in tenants for one in read_vectors(file, model, tenant))
            ),
            tuple(one for tenant in tenants for one in read_disputes(file, tenant)),
        )


def read_archived_of(
    path: Path, chosen: Sequence[str], model: str
) -> tuple[Recallable, dict[str, str]]:
    """Read what the tenants named, or all, have archived or let expire, to be searched by itself.

    Left out is what is never active again: shared facts that ended, and traces of tasks. The
    memories are given as if they were active; what they are stands beside, by their ids.
    Raises `StoreError`.
    """
    with open_reading(path) as file:
        tenants = select_tenants(file, chosen)
        found = read_restorable(file, tenants)
        memories = [replace(one, status="active", expires_at=None) for one in found]
        vectors = (one for tenant in tenants for one in read_vectors(file, model, tenant))
        recallable = Recallable(tuple(memories), (), TextVectors(memories, vectors), ())
    return recallable, {one.id: one.status for one in found}


class RecallIndex:
    """All texts of a file, to be searched as often as one likes.

    The places of memories are rows of every array here, n in all.
    """

    def __init__(
        self, recallable: Recallable, embedder: Embedder, progress: Progress | None = None
    ) -> None:
        """Index what was read; vectors that the file lacks are computed and not kept.

        Raises `EmbedderError`.
        """
        # How many memories the file has no vector of.
        self.without_vector = 0
        recallable.vectors.complete(embedder, self._count, progress or Progress())
        self.memories = recallable.memories
        self.embedder = embedder
        self.vectors: NDArray[np.float32] = recallable.vectors.of(recallable.memories)
        self.words = WordIndex(memory.content for memory in recallable.memories)
        self._recallable = recallable
        self._current: tuple[str, str, NDArray[np.intp]] | None = None
        self._past = lru_cache(maxsize=8)(self._holders_at)
        self.passing = lru_cache(maxsize=64)(self._passing)

    def _count(self, rows: Sequence[tuple[str, str, bytes]]) -> None:
        """Count computed vectors and let them go: a search only reads."""
        self.without_vector += len(rows)

    def current(self, now: str) -> NDArray[np.intp]:
        """Return the place that each text leads to now, shape (n,), or `NOWHERE`."""
        import numpy as np

        if self._current is None or not self._current[0] <= now < self._current[1]:
            ends = (one.expires_at for one in self.memories)
            until = min((one for one in ends if one is not None and one > now), default=NEVER)
            found = current_holders(self.memories, self._recallable.edges, now)
            self._current = now, until, np.array(found, dtype=np.intp)
        return self._current[2]

    def past(self, moment: str) -> NDArray[np.intp]:
        """Return the place that each text leads to at an earlier moment, shape (n,)."""
        return self._past(moment)

    def _passing(self, wanted: Filter) -> NDArray[np.bool_]:
        """Say of each memory whether a filter lets it through, shape (n,)."""
        import numpy as np

        return np.fromiter(map(wanted.lets_through, self.memories), bool, len(self.memories))

    def _holders_at(self, moment: str) -> NDArray[np.intp]:
        import numpy as np

        found = holders_at(self.memories, self._recallable.edges, moment)
        return np.array(found, dtype=np.intp)

    @cached_property
    def observed(self) -> NDArray[np.datetime64]:
        """When each memory was observed, to the second, shape (n,)."""
        import numpy as np

        return np.array([one.observed_at[:19] for one in self.memories], dtype="datetime64[s]")

    @cached_property
    def layers(self) -> NDArray[np.int8]:
        """How settled each memory is, from 0 on, shape (n,)."""
        import numpy as np

        levels = {layer: level for level, layer in enumerate(LAYERS)}
        return np.array([levels[one.layer] for one in self.memories], dtype=np.int8)  # type: ignore[index]  # the schema lets no other word in

    @cached_property
    def trusts(self) -> NDArray[np.float32]:
        """How far each memory is trusted, shape (n,)."""
        import numpy as np

        return np.array([one.trust for one in self.memories], dtype=np.float32)

    @property
    def disputes(self) -> Sequence[Dispute]:
        """The conflicts that a model named."""
        return self._recallable.disputes

    def sources_of(self, place: int) -> tuple[str, ...]:
        """Return the ids of all that a memory was made from, to every depth, nearest first."""
        return tuple(self._ancestors(self.memories[place].id))

    def _ancestors(self, memory_id: str) -> Iterable[str]:
        found: dict[str, None] = {}
        waiting = list(self._sources.get(memory_id, ()))
        while waiting:
            one = waiting.pop(0)
            if one not in found and one != memory_id:
                found[one] = None
                waiting += self._sources.get(one, ())
        return found

    @cached_property
    def _sources(self) -> Mapping[str, list[str]]:
        sources: dict[str, list[str]] = {}
        for edge in self._recallable.edges:
            sources.setdefault(edge.derived_id, []).append(edge.source_id)
        return sources
