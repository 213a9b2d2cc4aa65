"""What `AgentMemory` reads of a file: its search index, lineage and counts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from slowwave.consolidation.recall.index import RecallIndex, read_recallable_of
from slowwave.consolidation.text.token_count import count_tokens
from slowwave.consolidation.vectors.embedder import Embedder
from slowwave.store.cache import count_changes
from slowwave.store.errors import StoreError
from slowwave.store.file import MemoryFile, open_reading
from slowwave.store.ledger import Decision, Run, read_decisions, read_last_run
from slowwave.store.lineage import (
    Ancestor,
    Derivation,
    KeptClaim,
    Lineage,
    find_memory_or_source,
    read_claims,
    read_derivations,
    trace_derived,
    trace_sources,
)
from slowwave.store.memories import Counts, count_by_status, count_memories, tenants
from slowwave.store.records import Memory, timestamp


class CachedIndex:
    """The index of one tenant's memories, rebuilt when the file changes."""

    def __init__(self, path: Path, tenant: str, embedder: Embedder) -> None:
        """Take the file, the tenant, and the embedder of questions."""
        self._path = path
        self._tenant = tenant
        self._embedder = embedder
        self._index: RecallIndex | None = None
        # The identity and change count of the indexed file.
        self._state: tuple[int, int, int, int] | None = None

    def get(self) -> RecallIndex | None:
        """Return the current index; None if the tenant has no memories."""
        with open_reading(self._path) as file:
            if self._tenant not in tenants(file):
                return None
            found = self._path.stat()
            # A replacement of the file may have the same change count.
            state = found.st_dev, found.st_ino, found.st_mtime_ns, count_changes(file, self._tenant)
        if self._index is None or self._state != state:
            self.forget()
            self._state = state
            recallable = read_recallable_of(self._path, (self._tenant,), self._embedder.name)
            self._index = RecallIndex(recallable, self._embedder)
        return self._index

    def forget(self) -> None:
        """Drop the index."""
        if self._index is not None:
            self._index.words.close()
            self._index = None


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


def to_timestamp(moment: datetime | None) -> str | None:
    """Return a time as the file stores it; without an offset it is UTC."""
    if moment is None:
        return None
    return timestamp(moment if moment.tzinfo else moment.replace(tzinfo=UTC))


def refuse_unknown(what: str, name: str | None, known: Sequence[str]) -> None:
    """Refuse a name that is not among the known ones. Raises `StoreError`."""
    if name is not None and name not in known:
        raise StoreError(f"There is no {what} '{name}'.", f"There are: {', '.join(known)}.")
