"""The planner of one tenant: which memories may leave, and how a proposal is made."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cache
from typing import TYPE_CHECKING

from slowwave.consolidation.options import PlanOptions
from slowwave.consolidation.proposals import (
    Claim,
    Draft,
    Operation,
    Proposal,
    Source,
    method_key,
    proposal_id,
)
from slowwave.consolidation.snapshot.tenant_view import TenantView
from slowwave.store.records import Memory

from .topics import shared_topics

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


class TenantPlanner:
    """Says which memories of a tenant may leave, and makes proposals about them."""

    def __init__(self, view: TenantView, options: PlanOptions) -> None:
        """Take the tenant as it is, and what the user chose."""
        # The memories of each key: others may say the same, word for word.
        self._memories_of_key: dict[str, frozenset[str]] = {}
        self.view = view
        self.options = options
        # What leaves once a person approves of the merges that wait.
        self.leaving_later: set[str] = set()

    def may_leave(self, row: int) -> bool:
        """Whether a memory may be superseded."""
        return self.may_be_replaced(self.view.memories[row])

    def may_be_replaced(self, memory: Memory) -> bool:
        """Whether a memory, observed or derived, may be superseded."""
        if memory.id in self.view.supported_rule:
            return False
        return self.options.include_protected or not memory.protected

    def id(self, row: int) -> str:
        """Return the id of a row."""
        return self.view.memories[row].id

    def ids(self, rows: Sequence[int]) -> list[str]:
        """Return the ids of rows."""
        return [self.id(row) for row in rows]

    def is_decided(self, operation: Operation, ids: Sequence[str]) -> bool:
        """Whether what would be proposed was decided before, or waits: it is not written again."""
        return not self.options.remembered.isdisjoint(self._keys(operation, ids))

    def propose(
        self,
        operation: Operation,
        ids: Sequence[str],
        leaving: Sequence[str],
        reason: str,
        survivor: str | None = None,
        draft: Draft | None = None,
        topics: tuple[str, ...] = (),
    ) -> Iterator[Proposal]:
        """Yield a proposal of memories, observed or derived, of which some are to be superseded.

        What was decided before is not proposed again. A merge needs no draft: the survivor stays,
        word for word.
        """
        if self._key(operation, ids) in self.options.waiting:
            self.leaving_later.update(leaving)
        if self.is_decided(operation, ids):
            return
        sources = self.view.sources(sorted(ids))
        lowest, mean = similarities(sources)
        if draft is None:
            if survivor is None:
                raise ValueError(f"a {operation} without a survivor needs a draft")
            staying = self.view.memory(survivor).content
            draft = Draft((Claim(staying, tuple(one.id for one in sources)),))
        hashes = tuple(self.view.memory(one.id).content_hash for one in sources)
        rows = [row for row in map(self.view.row, ids) if row is not None]
        yield Proposal(
            id=self._key(operation, ids),
            operation=operation,
            tenant=self.view.tenant,
            sources=tuple(one.id for one in sources),
            source_hashes=hashes,
            leaving=tuple(sorted(leaving)),
            survivor=survivor,
            topics=topics or shared_topics(self.view, rows),
            min_similarity=lowest,
            mean_similarity=mean,
            reason=f"{reason}, mean similarity {mean:.2f}",
            draft=draft,
            include_protected=self.options.include_protected,
        )

    def _key(self, operation: Operation, ids: Sequence[str]) -> str:
        """Return the key of a proposal: of its texts, or of its memories if the former is taken."""
        of_texts, of_memories = self._keys(operation, ids)
        owner = self._memories_of_key.setdefault(of_texts, frozenset(ids))
        return of_texts if owner == frozenset(ids) else of_memories

    def _keys(self, operation: Operation, ids: Sequence[str]) -> tuple[str, str]:
        """Return the keys of the texts and of the memories of a proposal."""
        tenant, method = self.view.tenant, method_key(operation)
        hashes = tuple(self.view.memory(memory_id).content_hash for memory_id in ids)
        of_texts = proposal_id(operation, tenant, hashes, method, "extractive")
        return of_texts, proposal_id(operation, tenant, tuple(ids), of_texts, "extractive")


@cache
def _pairs_of(count: int) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """Return the places of the pairs of so many, each pair once: there are few such counts."""
    import numpy as np

    return np.triu_indices(count, k=1)


def similarities(sources: Sequence[Source]) -> tuple[float, float]:
    """Return the lowest and the mean similarity of the pairs, to four places."""
    import numpy as np

    vectors = np.stack([source.vector for source in sources])
    pairs = (vectors @ vectors.T)[_pairs_of(len(sources))]
    return round(float(pairs.min()), 4), round(float(pairs.mean()), 4)
