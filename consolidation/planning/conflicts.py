"""The conflicts that stand in a file now: found by what texts say, or named by a model before."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

from slowwave.consolidation.proposals import Conflict
from slowwave.consolidation.snapshot.snapshot import read_sound
from slowwave.consolidation.snapshot.tenant_view import TenantView
from slowwave.consolidation.updates.replacements import find_updates
from slowwave.store.file import open_reading
from slowwave.store.lineage import read_edges
from slowwave.store.memories import chosen_tenants
from slowwave.store.records import Memory
from slowwave.store.shown_to_model import Dispute, read_disputes

from .dated_memories import dated_memories


def current_conflicts(path: Path, chosen: Sequence[str], now: str) -> list[Conflict]:
    """Return the conflicts of the tenants named, or of all. Raises `StoreError`.

    The file is only read, and needs no vectors. What a run would merge or make a rule of first
    is not known here, so it may list a pair more than a run does.
    """
    import numpy as np

    found: list[Conflict] = []
    with open_reading(path) as file:
        for tenant in chosen_tenants(file, chosen):
            observed, derived, _ = read_sound(file, tenant, now)
            view = TenantView(
                tenant=tenant,
                memories=tuple(observed),
                text_vectors=np.empty((0, 1), np.float32),
                entities={},
                derived=tuple(derived),
                derived_vectors={},
                edges=tuple(read_edges(file, tenant)),
            )
            dated = dated_memories(view, view.is_fresh)
            seen = find_updates(dated, lambda memory: not memory.protected).conflicts
            found += [*seen, *_named(view, read_disputes(file, tenant), seen)]
    return found


def _named(
    view: TenantView, disputes: Sequence[Dispute], seen: Sequence[Conflict]
) -> Iterator[Conflict]:
    """Yield the conflicts that a model named whose memories still stand, none twice."""
    active: dict[str, Memory] = {}
    for memory in view.memories:
        if memory.status == "active":
            active.setdefault(memory.content_hash, memory)
    known = {frozenset(one.sources) for one in seen}
    for one in disputes:
        earlier, later = active.get(one.earlier_hash), active.get(one.later_hash)
        if earlier and later and frozenset((earlier.id, later.id)) not in known:
            texts = (earlier.content, later.content)
            yield Conflict((earlier.id, later.id), one.tenant, "statement", texts, one.why)
