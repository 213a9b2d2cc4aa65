"""From merges of duplicates to proposals."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from slowwave.consolidation.facts.specifics import names_in
from slowwave.consolidation.options import PlanOptions
from slowwave.consolidation.proposals import Draft, Proposal, Source, method_key, proposal_id
from slowwave.consolidation.snapshot.tenant_view import TenantView
from slowwave.store.records import Claim

from .duplicates import Merge

# How many names a proposal has.
_MAX_NAMES = 3


def propose_merges(
    view: TenantView, options: PlanOptions, merges: Iterable[Merge]
) -> tuple[list[Proposal], dict[str, list[str]], set[str]]:
    """Return the proposals, those held back, and the ids of memories that leave if approved.

    Held back is what was undone, declined or rejected: the ids of its memories by its id. Memories
    leave if pending ones are approved.
    """
    # The memories of each key: others may have the same texts.
    memories_of_key: dict[str, frozenset[str]] = {}
    proposals: list[Proposal] = []
    held_back: dict[str, list[str]] = {}
    leaving_later: set[str] = set()
    method = method_key("merge")
    for merge in merges:
        memories = [view.memories[row] for row in (merge.survivor, *merge.leaving)]
        ids = [memory.id for memory in memories]
        hashes = tuple(memory.content_hash for memory in memories)
        of_texts = proposal_id("merge", view.tenant, hashes, method, "extractive")
        of_memories = proposal_id("merge", view.tenant, tuple(ids), of_texts, "extractive")
        owner = memories_of_key.setdefault(of_texts, frozenset(ids))
        key = of_texts if owner == frozenset(ids) else of_memories
        if key in options.pending:
            leaving_later.update(ids[1:])
        elif options.remembered.isdisjoint((of_texts, of_memories)):
            proposals.append(_proposal(view, options, merge, key))
        else:
            held_back[key] = ids
    return proposals, held_back, leaving_later


def _proposal(view: TenantView, options: PlanOptions, merge: Merge, key: str) -> Proposal:
    rows = [merge.survivor, *merge.leaving]
    survivor, *leaving = (view.memories[row] for row in rows)
    sources = view.sources(sorted(view.memories[row].id for row in rows))
    ids = tuple(source.id for source in sources)
    lowest, mean = similarities(sources)
    return Proposal(
        id=key,
        operation="merge",
        tenant=view.tenant,
        sources=ids,
        source_hashes=tuple(view.memory(source).content_hash for source in ids),
        leaving=tuple(sorted(memory.id for memory in leaving)),
        survivor=survivor.id,
        entities=names_in(survivor.content)[:_MAX_NAMES],
        min_similarity=lowest,
        mean_similarity=mean,
        reason=f"{len(ids)} memories say the same",
        draft=Draft((Claim(survivor.content, ids),)),
        include_protected=options.include_protected,
    )


def similarities(sources: Sequence[Source]) -> tuple[float, float]:
    """Return the lowest and the mean similarity of the pairs, to four places."""
    import numpy as np

    vectors = np.stack([source.vector for source in sources])
    pairs = (vectors @ vectors.T)[np.triu_indices(len(sources), k=1)]
    return round(float(pairs.min()), 4), round(float(pairs.mean()), 4)
