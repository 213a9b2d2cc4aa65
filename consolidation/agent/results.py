"""Results of `AgentMemory`: lineage and counts."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from slowwave.store.ledger import Decision, Run
from slowwave.store.lineage import (
    Ancestor,
    Derivation,
    KeptClaim,
    Lineage,
)
from slowwave.store.memories import (
    Counts,
)
from slowwave.store.records import Memory


@dataclass(frozen=True)
class Trace:
    """The lineage of a memory, in both directions."""

    # An `Ancestor` if the memory was deleted.
    memory: Memory | Ancestor
    # Its claims, as of the last run that changed it.
    claims: tuple[KeptClaim, ...]
    derivations: tuple[Derivation, ...]
    sources: Lineage
    derived: Lineage


@dataclass(frozen=True)
class Stats:
    """Counts of memories, and the last run."""

    # Counts of active memories.
    active: Counts
    # The number of memories by status and layer.
    by_status: Mapping[str, Mapping[str, int]]
    # The last run of these memories, with its decisions about them; None before the first.
    last: tuple[Run, tuple[Decision, ...]] | None
