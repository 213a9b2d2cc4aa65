"""A tenant's memories with their sayings, as the search for old and new values sees them."""

from __future__ import annotations

from collections.abc import Callable

from slowwave.consolidation.snapshot.population import Population
from slowwave.consolidation.updates.memory_with_sayings import MemoryWithSayings, said_in
from slowwave.consolidation.updates.sayings import Saying
from slowwave.store.records import Memory


def memories_with_sayings(
    population: Population,
    is_open: Callable[[int], bool],
    sayings: Callable[[Memory], tuple[Saying, ...]] = said_in,
) -> list[MemoryWithSayings]:
    """Return all that a tenant's memories say; what stands in a derived one is not open itself.

    sayings: gives what a memory says, where that was kept and need not be read again.
    """
    observed = [
        MemoryWithSayings(memory, sayings(memory), is_open(row))
        for row, memory in enumerate(population.memories)
    ]
    # An active memory that commands its reader replaces nothing, and nothing is put into it.
    return observed + [
        MemoryWithSayings(memory, sayings(memory), memory.id not in population.orders)
        for memory in population.derived
        if memory.layer == "stable"
    ]
