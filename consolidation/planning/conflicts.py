"""The conflicts that stand in a file now: found by what texts say, without any model."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from slowwave.consolidation.proposals import Conflict
from slowwave.consolidation.snapshot.population import Population
from slowwave.consolidation.snapshot.snapshot import read_sound, sorted_by_length
from slowwave.consolidation.updates.replacements import find_updates
from slowwave.store.file import open_reading
from slowwave.store.lineage import read_edges
from slowwave.store.memories import chosen_tenants

from .memories_with_sayings import memories_with_sayings


def standing_conflicts(path: Path, chosen: Sequence[str], now: str) -> list[Conflict]:
    """Give the conflicts of the tenants named, or of all. Raises `StoreError`.

    The file is only read, and needs no vectors. What a run would merge or make a rule of first
    is not known here, so it may list a pair more than a run does.
    """
    import numpy as np

    found: list[Conflict] = []
    with open_reading(path) as file:
        for tenant in chosen_tenants(file, chosen):
            sound = read_sound(file, tenant, now)
            observed, derived, too_long = sorted_by_length(sound[0], sound[1])
            population = Population(
                tenant=tenant,
                memories=observed,
                text_vectors=np.empty((0, 1), np.float32),
                entities={},
                derived=derived,
                derived_vectors={},
                edges=tuple(read_edges(file, tenant)),
                too_long=too_long,
            )
            told = memories_with_sayings(population, population.is_fresh)
            found += find_updates(told, lambda memory: not memory.protected).conflicts
    return found
