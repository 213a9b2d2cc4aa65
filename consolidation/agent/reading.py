"""What `AgentMemory` reads of a file: lineage and counts."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from slowwave.consolidation.text.token_count import count_tokens
from slowwave.store.file import MemoryFile
from slowwave.store.ledger import Decision, Run, read_decisions, read_last_run
from slowwave.store.lineage import (
    Ancestor,
    Derivation,
    Lineage,
    find_memory_or_source,
    read_claims,
    read_derivations,
    trace_derived,
    trace_sources,
)
from slowwave.store.memories import Counts, count_by_status, count_memories
from slowwave.store.records import Claim, Memory


@dataclass(frozen=True)
class Trace:
    """The lineage of a memory, in both directions."""

    # An `Ancestor` if the memory was deleted.
    memory: Memory | Ancestor
    # Its claims, as of the last run that changed it.
    claims: tuple[Claim, ...]
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


def read_trace(file: MemoryFile, memory_id: str, tenant: str) -> Trace:
    """Return the lineage of a memory of a tenant. Raises `StoreError`."""
    found = find_memory_or_source(file, memory_id, tenant)
    return Trace(
        found,
        tuple(read_claims(file, found.id)),
        tuple(read_derivations(file, found.id)),
        trace_sources(file, found.id),
        trace_derived(file, found.id),
    )


def read_stats(file: MemoryFile, tenant: str) -> Stats:
    """Return the counts and the last run of a tenant. Raises `StoreError`."""
    run = read_last_run(file, tenant)
    decided = read_decisions(file, run.id) if run else ()
    mine = tuple(decision for decision in decided if decision.tenant == tenant)
    counts = count_memories(file, [tenant], count_tokens)
    return Stats(counts, count_by_status(file, [tenant]), (run, mine) if run else None)
