"""Values that an agent gets: the lineage of a memory, and counts."""

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
    """Where a memory came from, and what was made from it."""

    # Of a memory that has left the file, what lineage kept.
    memory: Memory | Ancestor
    # Its statements, as the last run that changed it left them.
    claims: tuple[KeptClaim, ...]
    derivations: tuple[Derivation, ...]
    sources: Lineage
    derived: Lineage


@dataclass(frozen=True)
class Stats:
    """How much is remembered, and what runs did."""

    # What is active, and what it says.
    active: Counts
    # Per status, how many memories of each layer.
    by_status: Mapping[str, Mapping[str, int]]
    # The last run that was about these memories, with what it decided about them; None before one.
    last: tuple[Run, tuple[Decision, ...]] | None
