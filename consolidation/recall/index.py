"""The search index of a file: texts with vectors and words, and the memories they lead to."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from slowwave.consolidation.errors import EmbedderError
from slowwave.consolidation.progress import Progress
from slowwave.consolidation.runtime.redaction import without_secrets
from slowwave.consolidation.vectors.embedder import Embedder
from slowwave.consolidation.vectors.matrix import TextVectors
from slowwave.store.file import open_reading
from slowwave.store.lineage import Edge, read_edges
from slowwave.store.memories import (
    read_recallable,
    read_restorable,
    select_tenants,
    to_recallable,
)
from slowwave.store.memory_filter import Filter
from slowwave.store.records import Memory
from slowwave.store.shared_tenant import shared_tenants
from slowwave.store.shown_to_model import Dispute, read_disputes, read_settled
from slowwave.store.vectors import read_vectors
from slowwave.store.word_index import WordIndex

from .keys import NEVER, current_holders, disputed_values, holders_at, newer_values
from .searched import SearchedMemories


@dataclass(frozen=True)
class Recallable:
    """The searchable contents of a file, with the vectors that it has."""

    memories: SearchedMemories
    edges: tuple[Edge, ...]
    vectors: TextVectors
    # The conflicts that a model named.
    disputes: tuple[Dispute, ...] = ()
    # The pairs of texts, by hash, that a person found both right.
    settled: frozenset[frozenset[str]] = frozenset()
    # The tenant of shared facts, if anything was ever shared.
    shared: tuple[str, ...] = ()


def read_recallable_of(
    path: Path, chosen_tenants: Sequence[str], model: str, with_shared: bool = False
) -> Recallable:
    """Read the memories of the chosen tenants, or of all, and close the file.

    with_shared: read shared facts, too. Raises `StoreError`.
    """
    with open_reading(path) as file:
        shared = shared_tenants(file)
        tenants = select_tenants(file, chosen_tenants)
        if with_shared:
            tenants += [tenant for tenant in shared if tenant not in tenants]
        memories = SearchedMemories(
            [row for tenant in tenants for row in read_recallable(file, tenant)]
        )
        return Recallable(
            memories,
            tuple(edge for tenant in tenants for edge in read_edges(file, tenant)),
            TextVectors(
                memories.texts,
                (vector for tenant in tenants for vector in read_vectors(file, model, tenant)),
            ),
            tuple(dispute for tenant in tenants for dispute in read_disputes(file, tenant)),
            frozenset(pair for tenant in tenants for pair in read_settled(file, tenant)),
            shared,
        )


def read_archived_of(
    path: Path, chosen_tenants: Sequence[str], model: str
) -> tuple[Recallable, dict[str, str]]:
    """Read the archived and expired memories of the chosen tenants, or of all.

    Memories that cannot be restored are omitted: ended shared facts, and traces of tasks. The
    memories are returned as active ones, with their real status by id. Raises `StoreError`.
    """
    with open_reading(path) as file:
        tenants = select_tenants(file, chosen_tenants)
        restorable = read_restorable(file, tenants)
        active = (replace(memory, status="active", expires_at=None) for memory in restorable)
        memories = SearchedMemories(list(map(to_recallable, active)))
        vectors = (vector for tenant in tenants for vector in read_vectors(file, model, tenant))
        recallable = Recallable(memories, (), TextVectors(memories.texts, vectors))
    return recallable, {memory.id: memory.status for memory in restorable}


class Current(NamedTuple):
    """The active memory that each text led to, at a point in time."""

    # The row that each text leads to, or `NOWHERE`, shape (n,).
    holders: NDArray[np.intp]
    # The memory with the newer value, by the id of the outdated one.
    newer: Mapping[str, Memory]
    # The later memory of each undecided conflict, by the id of the earlier one.
    disputed: Mapping[str, Memory]


class RecallIndex:
    """All texts of a file. A memory's index in `memories` is its row in every array, n in all."""

    def __init__(
        self,
        recallable: Recallable,
        embedder: Embedder,
        progress: Progress | None = None,
        words_suffice: bool = False,
    ) -> None:
        """Index the memories; missing vectors are computed and not kept.

        words_suffice: where embedding fails, search by words alone. Raises `EmbedderError`.
        """
        # Why only words are searched; None if vectors are, too.
        self.words_only: str | None = None
        self._words_suffice = words_suffice
        self.memories = recallable.memories
        self.embedder = embedder
        # float32, shape (rows, d), unit length, and the row of each memory, shape (n,).
        self.vectors: NDArray[np.float32] = np.zeros((1, 1), dtype=np.float32)
        self.rows: NDArray[np.intp] = np.zeros(len(self.memories), dtype=np.intp)
        with self._falling_back():
            if words_suffice:
                recallable.vectors.refuse_other_model(embedder)
            # A search only reads.
            recallable.vectors.complete(embedder, lambda rows: None, progress or Progress())
            if len(self.memories):
                self.rows = recallable.vectors.rows_of(self.memories.texts)
                self.vectors = recallable.vectors.matrix
        self.words = WordIndex(recallable.memories.words)
        # Whether each memory is a shared fact, shape (n,).
        shared = [tenant in recallable.shared for tenant in recallable.memories.column("tenant")]
        self.is_shared = np.array(shared, dtype=bool)
        self.settled = recallable.settled
        self._disputes = recallable.disputes
        self._edges = recallable.edges
        self._current: tuple[str, str, Current] | None = None
        # The row that each text led to at an earlier time, or `NOWHERE`, shape (n,).
        self.past = lru_cache(maxsize=8)(self._holders_at)
        # Whether each memory matches a filter, shape (n,).
        self.passing = lru_cache(maxsize=64)(self._passing)

    @contextmanager
    def _falling_back(self) -> Iterator[None]:
        try:
            yield
        except Exception as error:  # an embedder of the caller may raise anything
            if not self._words_suffice:
                raise
            error_type = "" if isinstance(error, EmbedderError) else f"{type(error).__name__}: "
            self.words_only = without_secrets(f"{error_type}{error}")

    def cosines(self, text: str) -> NDArray[np.float32]:
        """Return the cosine of each memory to a text, shape (n,); 0 if embedding fails.

        Raises `EmbedderError` unless words suffice.
        """
        if self.words_only is None:
            with self._falling_back():
                cosines: NDArray[np.float32] = self.vectors @ self.embedder.encode([text])[0]
                return cosines[self.rows]
        return np.zeros(len(self.memories), dtype=np.float32)

    def current(self, now: str) -> Current:
        """Return what the texts lead to now."""
        if self._current is None or not self._current[0] <= now < self._current[1]:
            until = min((end for end in self.memories.ends if end and end > now), default=NEVER)
            holders = current_holders(self.memories, self._edges, now)
            newer = newer_values(self.memories, self._edges, holders)
            disputes = disputed_values(self.memories, self._disputes, holders)
            disputed = {
                earlier: later for earlier, later in disputes.items() if earlier not in newer
            }
            current = Current(np.array(holders, dtype=np.intp), newer, disputed)
            self._current = now, until, current
        return self._current[2]

    def _passing(self, memory_filter: Filter) -> NDArray[np.bool_]:
        return np.fromiter(map(memory_filter.matches, self.memories), bool, len(self.memories))

    def _holders_at(self, moment: str) -> NDArray[np.intp]:
        return np.array(holders_at(self.memories, self._edges, moment), dtype=np.intp)

    def sources_of(self, place: int) -> tuple[str, ...]:
        """Return the ids of a memory's sources at any depth, nearest first."""
        memory_id = self.memories[place].id
        source_ids: dict[str, None] = {}
        queue = list(self._sources.get(memory_id, ()))
        # The queue grows during the iteration.
        for source in queue:
            if source not in source_ids and source != memory_id:
                source_ids[source] = None
                queue += self._sources.get(source, ())
        return tuple(source_ids)

    @cached_property
    def _sources(self) -> Mapping[str, list[str]]:
        sources: dict[str, list[str]] = {}
        for edge in self._edges:
            sources.setdefault(edge.derived_id, []).append(edge.source_id)
        return sources
