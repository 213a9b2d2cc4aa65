"""One tenant's memories, as planning sees them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import chain, product

from slowwave.consolidation.clustering.forest import StoredForest
from slowwave.consolidation.clustering.neighbours import Neighbours, similar_pairs
from slowwave.consolidation.facts.specifics import names_in
from slowwave.consolidation.proposals import Source
from slowwave.consolidation.text.density import density_of, without_fences
from slowwave.consolidation.thresholds import LARGE_TENANT, NARROW_EPS, WIDE_EPS
from slowwave.consolidation.vectors.matrix import TextVectors
from slowwave.store.lineage import Edge
from slowwave.store.memories import LongMemory
from slowwave.store.records import Memory
from slowwave.store.shown_to_model import Dispute

from .cache import Cache
from .features import TextFeatures, features_of


@dataclass(frozen=True)
class TenantView:
    """The contents of the file for one tenant."""

    tenant: str
    # Observed memories, active or superseded, sorted by id.
    memories: tuple[Memory, ...]
    # Active memories that consolidation made.
    derived: tuple[Memory, ...]
    # The vectors of both.
    vectors: TextVectors
    # The names that were supplied with a memory, by id.
    entities: Mapping[str, Sequence[str]] = field(default_factory=dict)
    edges: tuple[Edge, ...] = ()
    # Active memories that are too long to be read; they are not among the others.
    too_long: tuple[LongMemory, ...] = ()
    # Ids of memories whose text does not match its hash; they are not among the others.
    damaged: tuple[str, ...] = ()
    # The pairs of texts, by hash, that a person found both right.
    settled: frozenset[frozenset[str]] = frozenset()
    # The pairs of texts that a model found contradictory.
    disputes: tuple[Dispute, ...] = ()
    # The change count.
    changes: int = 0
    # Findings that depend on texts only.
    cache: Cache = field(default_factory=Cache)
    # The spanning forest of the texts that an earlier run would have shown to a model.
    forest: StoredForest = field(default_factory=StoredForest)
    # Called with the number of compared blocks, and of all.
    report: Callable[[int, int], None] | None = None

    @cached_property
    def orders(self) -> dict[str, tuple[str, ...]]:
        """The sentences that contain instructions to the reader, by memory id.

        Such a memory is not consolidated, and no model sees it.
        """
        orders = (
            (memory.id, self.features(memory).orders) for memory in (*self.memories, *self.derived)
        )
        return {memory_id: sentences for memory_id, sentences in orders if sentences}

    @cached_property
    def dense(self) -> frozenset[str]:
        """The ids of memories that stay verbatim: code, data, identifiers.

        No model sees them, and no derived memory quotes a part of them. The fenced code of notes
        does not count: it is copied, and checked by a program.
        """
        memories = (*self.memories, *self.derived)
        return frozenset(
            memory.id
            for memory in memories
            if self.features(memory).density.is_dense
            and not (memory.is_note and not density_of(without_fences(memory.content)).is_dense)
        )

    @cached_property
    def verbatim_only(self) -> frozenset[str]:
        """The ids of memories that are only merged with their own duplicates."""
        learned = (memory.id for memory in self.derived if "experience" in memory.metadata)
        return self.dense.union(self.orders, learned)

    def features(self, memory: Memory) -> TextFeatures:
        """Return the features of a memory."""
        return self.text_features[memory.content_hash]

    def added_names(self, memory: Memory) -> frozenset[str]:
        """Return the names that were supplied with a memory and that its text does not mention."""
        if not (supplied := self.entities.get(memory.id)):
            return frozenset()
        mentioned = map(str.casefold, names_in(memory.content))
        return frozenset(map(str.casefold, supplied)).difference(mentioned)

    @cached_property
    def text_features(self) -> dict[str, TextFeatures]:
        """The features of all texts, by hash."""
        return features_of((*self.memories, *self.derived), self.cache)

    @cached_property
    def all_near(self) -> Neighbours:
        """The pairs of all texts that may be shown to a model together."""
        return similar_pairs(self.vectors.of(self._texts), self._width, report=self.report)

    @property
    def _width(self) -> float:
        """The least similarity in `all_near`."""
        return 1.0 - (WIDE_EPS if len(self._texts) <= LARGE_TENANT else NARROW_EPS)

    @cached_property
    def _texts(self) -> list[Memory]:
        """The first observed memory of each text."""
        firsts: dict[str, Memory] = {}
        for memory in self.memories:
            firsts.setdefault(memory.content_hash, memory)
        return list(firsts.values())

    def near(self, memories: Sequence[Memory], similarity: float) -> Neighbours:
        """Return the pairs of memories, of different texts, with at least this similarity."""
        import numpy as np

        if "all_near" not in vars(self) or similarity < self._width:
            return similar_pairs(self.vectors.of(memories), similarity, report=self.report)
        texts = {memory.content_hash: row for row, memory in enumerate(self._texts)}
        chosen = [texts.get(memory.content_hash, -1) for memory in memories]
        if -1 in chosen:
            return similar_pairs(self.vectors.of(memories), similarity, report=self.report)
        numbers = np.full(len(texts), -1, dtype=np.int32)
        numbers[chosen] = np.arange(len(chosen), dtype=np.int32)
        return self.all_near.at_least(similarity).renumbered(numbers, len(chosen))

    @cached_property
    def derived_from(self) -> dict[str, str]:
        """The active stable memory that each of its sources, at any depth, went into, by id."""
        return self._ancestors({"synthesize", "merge", "update"}, "stable")

    @cached_property
    def supported_rule(self) -> dict[str, str]:
        """The active rule that each of its sources, at any depth, supports, by id."""
        return self._ancestors({"extract"}, "core")

    @cached_property
    def user_separated(self) -> frozenset[tuple[str, str]]:
        """Pairs that a person separated, both ways round.

        A merge joined them, and both are active again; or both are right. A memory inherits this
        from those that were merged into it.
        """
        hashes = {text for pair in self.settled for text in pair}
        of_text: dict[str, list[str]] = {}
        for memory in (*self.memories, *self.derived):
            if memory.content_hash in hashes:
                of_text.setdefault(memory.content_hash, []).append(memory.id)
        settled = (
            pair
            for texts in self.settled
            for pair in product(*(of_text.get(text, ()) for text in texts))
        )
        merged = (
            (edge.derived_id, edge.source_id) for edge in self.edges if edge.operation == "merge"
        )
        joined = (tuple(map(self._successor, pair)) for pair in chain(merged, settled))
        pairs = {(first, second) for first, second in joined if first != second}
        return frozenset(pairs | {(second, first) for first, second in pairs})

    def _successor(self, memory_id: str) -> str:
        """Return the observed memory that a memory was merged into at last, or its own id."""
        passed: dict[str, None] = {}
        # An agent's SQL can supersede memories in a circle.
        while memory_id not in passed and (row := self.row(memory_id)) is not None:
            passed[memory_id] = None
            memory_id = self.memories[row].superseded_by or memory_id
        return next(reversed(passed), memory_id)

    def is_fresh(self, row: int) -> bool:
        """Whether a memory may be consolidated: active, working, and not a source already."""
        memory = self.memories[row]
        return (
            memory.status == "active"
            and memory.id not in self.verbatim_only
            and memory.layer == "working"
            and memory.id not in self.derived_from
            and memory.id not in self.supported_rule
        )

    def sources(self, ids: Sequence[str]) -> list[Source]:
        """Return observed or derived memories as a writer sees them."""
        memories = [self.memory(memory_id) for memory_id in ids]
        dated = [replace(memory, observed_at=self.stated_at(memory)) for memory in memories]
        return Source.of(dated, self.vectors.of(memories))

    def stated_at(self, memory: Memory) -> str:
        """Return when a memory was observed, or another one that says the same, if later.

        A value may have changed and changed back between two equal memories, of which one stays.
        """
        if memory.generation > 0 or self.features(memory).is_relative:
            return memory.observed_at
        return self._last_stated[self.features(memory).form]

    @cached_property
    def _last_stated(self) -> dict[str, str]:
        """When each text was last observed, by the hash of its normal form."""
        last: dict[str, str] = {}
        for memory in self.memories:
            form = self.features(memory).form
            last[form] = max(memory.observed_at, last.get(form, ""))
        return last

    def row(self, memory_id: str) -> int | None:
        """Return the row of an observed memory; None for a derived one."""
        return self._rows.get(memory_id)

    def memory(self, memory_id: str) -> Memory:
        """Return the observed or derived memory with this id."""
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
        ancestors: dict[str, str] = {}
        for memory in self.derived:
            if memory.layer != layer:
                continue
            remaining = sources.get(memory.id, [])[:]
            while remaining:
                source = remaining.pop()
                if source not in ancestors:
                    ancestors[source] = memory.id
                    remaining += sources.get(source, [])
        return ancestors
