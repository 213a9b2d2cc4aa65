"""What a tenant's memories say, as the search for old and new values sees it."""

from __future__ import annotations

from collections.abc import Callable

from slowwave.consolidation.snapshot.population import Population
from slowwave.consolidation.updates.sayings import Saying
from slowwave.consolidation.updates.told import Told, said_in
from slowwave.store.records import Memory


def told_of(
    population: Population,
    is_open: Callable[[int], bool],
    sayings: Callable[[Memory], tuple[Saying, ...]] = said_in,
) -> list[Told]:
    """Give all that a tenant's memories say; what stands in a derived one is not open itself.

    sayings: gives what a memory says, where that was kept and need not be read again.
    """
    observed = [
        Told(memory, sayings(memory), is_open(row))
        for row, memory in enumerate(population.memories)
    ]
    # An active memory that commands its reader replaces nothing, and nothing is put into it.
    return observed + [
        Told(memory, sayings(memory), memory.id not in population.orders)
        for memory in population.derived
        if memory.layer == "stable"
    ]
