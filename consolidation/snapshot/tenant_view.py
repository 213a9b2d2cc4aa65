"""One tenant's memories as planning sees them, and where each of them stands."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING

from slowwave.consolidation.clustering.neighbours import Neighbours
from slowwave.consolidation.clustering.stored_graph import StoredGraph, sign_of
from slowwave.consolidation.facts.reading import Reading, read
from slowwave.consolidation.proposals import Source
from slowwave.consolidation.thresholds import DUPLICATE_SIMILARITY
from slowwave.store.lineage import Edge
from slowwave.store.memories import LongMemory
from slowwave.store.records import Memory

from .cache import Cache
from .features import TextFeatures, features_of

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


@dataclass(frozen=True)
class TenantView:
    """What a tenant's part of the file holds, read at one moment."""

    tenant: str
    # Observed memories, active ones and those that tell what belongs together, sorted by id.
    memories: tuple[Memory, ...]
    # Of each text, in the order in which texts come first: float32, shape (texts, d), unit length.
    text_vectors: NDArray[np.float32]
    # Per memory id, the names it mentions.
    entities: Mapping[str, Sequence[str]]
    # Active memories that consolidation made, and their vectors by id.
    derived: tuple[Memory, ...]
    derived_vectors: Mapping[str, NDArray[np.float32]]
    edges: tuple[Edge, ...]
    # Active memories that are longer than a night reads: nothing else here knows them.
    too_long: tuple[LongMemory, ...] = ()
    # Ids of those whose text is no longer what it was: nothing else here knows them either.
    damaged: tuple[str, ...] = ()
    # What was found out from texts alone.
    cache: Cache = field(default_factory=Cache)
    # The near pairs of texts, as far as they are known already.
    graph: StoredGraph = field(default_factory=StoredGraph)

    @cached_property
    def orders(self) -> dict[str, tuple[str, ...]]:
        """Per memory that gives orders to its reader, the sentences that do.

        It stays what it is, and goes into nothing else: no model sees it, and no derived memory
        repeats what it orders. Superseded ones are among them, so that what was clustered without
        them stays the same.
        """
        found = ((one.id, self.features(one).orders) for one in (*self.memories, *self.derived))
        return {memory_id: sentences for memory_id, sentences in found if sentences}

    @cached_property
    def dense(self) -> frozenset[str]:
        """The memories that are meant to the letter: code, data, identifiers.

        They stay word for word: no model sees them, and no derived memory quotes a part of them.
        """
        everyone = (*self.memories, *self.derived)
        return frozenset(one.id for one in everyone if self.features(one).density.is_dense)

    @cached_property
    def kept_as_is(self) -> frozenset[str]:
        """The memories that go into nothing but their own duplicates."""
        learned = (one.id for one in self.derived if "experience" in one.metadata)
        return self.dense.union(self.orders, learned)

    def features(self, memory: Memory) -> TextFeatures:
        """Return what a memory says, as far as every night asks."""
        if memory.content_hash not in self._features:
            self._features[memory.content_hash] = features_of(memory, self.cache)
        return self._features[memory.content_hash]

    @cached_property
    def _features(self) -> dict[str, TextFeatures]:
        return {}

    @cached_property
    def text_of(self) -> NDArray[np.int32]:
        """The number of each row's text, shape (len(memories),): twins have one text.

        Numbered in the order in which texts come first. Everything that is compared is a text.
        """
        import numpy as np

        numbers: dict[str, int] = {}
        found = (numbers.setdefault(one.content_hash, len(numbers)) for one in self.memories)
        return np.fromiter(found, np.int32, len(self.memories))

    @cached_property
    def rows_of(self) -> list[list[int]]:
        """The rows of each text."""
        rows: list[list[int]] = []
        for row, text in enumerate(self.text_of.tolist()):
            if text == len(rows):
                rows.append([])
            rows[text].append(row)
        return rows

    @cached_property
    def neighbours(self) -> Neighbours:
        """The pairs of texts that are near enough for one to say what the other says."""
        import numpy as np

        reach = np.full(len(self.text_vectors), DUPLICATE_SIMILARITY)
        return self.graph.grown(self.text_signs, self.text_vectors, reach)

    @cached_property
    def text_signs(self) -> list[bytes]:
        """What each text is known by from night to night: its hash and its vector."""
        hashes = (self.memories[rows[0]].content_hash for rows in self.rows_of)
        return [sign_of(*one) for one in zip(hashes, self.text_vectors, strict=True)]

    @cached_property
    def derived_from(self) -> dict[str, str]:
        """Per memory that stands in an active stable one, to every depth, the id of that one."""
        return self._ancestors({"synthesize", "merge", "update"}, "stable")

    @cached_property
    def updates(self) -> frozenset[str]:
        """Active memories that say what something is now and what it was before."""
        made = {edge.derived_id for edge in self.edges if edge.operation == "update"}
        return frozenset(memory.id for memory in self.derived if memory.id in made)

    @cached_property
    def supported_rule(self) -> dict[str, str]:
        """Per memory that an active rule rests on, the id of that rule."""
        return self._ancestors({"extract"}, "core")

    @cached_property
    def taken_apart(self) -> frozenset[tuple[str, str]]:
        """Pairs that a merge joined; if both are active, someone took them apart again."""
        return frozenset(
            pair
            for edge in self.edges
            if edge.operation == "merge"
            for pair in ((edge.derived_id, edge.source_id), (edge.source_id, edge.derived_id))
        )

    def is_fresh(self, row: int) -> bool:
        """Whether a memory may go into something: active, working, not part of anything made."""
        memory = self.memories[row]
        return (
            memory.status == "active"
            and memory.id not in self.kept_as_is
            and memory.layer == "working"
            and memory.id not in self.derived_from
            and memory.id not in self.supported_rule
        )

    def reading(self, row: int) -> Reading:
        """Return a memory's text, read."""
        return read(self.memories[row].content)

    def source(self, row: int) -> Source:
        """Return an observed memory as a writer sees it."""
        return as_source(self.memories[row], self.text_vectors[self.text_of[row]])

    def vectors(self, rows: Sequence[int]) -> NDArray[np.float32]:
        """Return the vectors of some rows, shape (len(rows), d)."""
        return self.text_vectors[self.text_of[rows]]

    def sources(self, ids: Sequence[str]) -> list[Source]:
        """Return memories, observed or derived, as a writer sees them."""
        return [
            self.source(self._rows[one])
            if one in self._rows
            else as_source(self._derived[one], self.derived_vectors[one])
            for one in ids
        ]

    def row(self, memory_id: str) -> int | None:
        """Return the row of an observed memory, None for a derived one."""
        return self._rows.get(memory_id)

    def memory(self, memory_id: str) -> Memory:
        """Return the memory, observed or derived, with this id."""
        row = self._rows.get(memory_id)
        return self._derived[memory_id] if row is None else self.memories[row]

    @cached_property
    def _rows(self) -> dict[str, int]:
        return {memory.id: row for row, memory in enumerate(self.memories)}

    @cached_property
    def _derived(self) -> dict[str, Memory]:
        return {memory.id: memory for memory in self.derived}

    def _ancestors(self, operations: set[str], layer: str) -> dict[str, str]:
        sources: dict[str, list[str]] = {}
        for edge in self.edges:
            if edge.operation in operations:
                sources.setdefault(edge.derived_id, []).append(edge.source_id)
        found: dict[str, str] = {}
        for memory in self.derived:
            if memory.layer != layer:
                continue
            waiting = sources.get(memory.id, [])[:]
            while waiting:
                one = waiting.pop()
                if one not in found:
                    found[one] = memory.id
                    waiting += sources.get(one, [])
        return found


def as_source(memory: Memory, vector: NDArray[np.float32]) -> Source:
    """Return a memory as a writer sees it."""
    return Source(memory.id, memory.content, memory.observed_at, vector)
