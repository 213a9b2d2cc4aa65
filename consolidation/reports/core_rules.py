"""The rules and patterns that recur: the memories of layer `core`, with their evidence."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from slowwave.consolidation.text.injection import commands
from slowwave.store.file import MemoryFile, open_reading
from slowwave.store.lineage import trace_sources
from slowwave.store.memories import read_active, read_memories, select_tenants
from slowwave.store.records import Memory
from slowwave.store.witnesses import read_witnesses


@dataclass(frozen=True)
class CoreRule:
    """A memory of layer `core` and the observed memories that it was derived from."""

    memory: Memory
    # (id, day) of each, the earliest first; () for a rule that somebody stored as such.
    evidence: tuple[tuple[str, str], ...]

    @property
    def days(self) -> int:
        """On how many days it was said."""
        return len({day for _, day in self.evidence})


def read_core_rules(
    path: Path, tenants: Sequence[str], now: str
) -> tuple[list[CoreRule], list[Memory]]:
    """Return the rules by tenant, most evidence first, and those with instructions to their reader.

    tenants: () means all. Raises `StoreError`.
    """
    rules: list[CoreRule] = []
    suspicious: list[Memory] = []
    with open_reading(path) as file:
        for tenant in select_tenants(file, tenants):
            purged = read_witnesses(file, tenant)
            tenant_rules = []
            for memory in read_active(file, tenant, now):
                if memory.layer != "core":
                    continue
                if commands(memory.content):
                    suspicious.append(memory)
                else:
                    tenant_rules.append(CoreRule(memory, _evidence(file, memory.id, purged)))
            rules += sorted(tenant_rules, key=lambda rule: (-len(rule.evidence), rule.memory.id))
    return rules, suspicious


def _evidence(
    file: MemoryFile, memory_id: str, purged: Iterable[Memory]
) -> tuple[tuple[str, str], ...]:
    steps = trace_sources(file, memory_id).steps
    sources = {source.id for step in steps.values() for source in step}
    memories = [*read_memories(file, sorted(sources)), *purged]
    observed = (memory for memory in memories if memory.id in sources and memory.generation == 0)
    return tuple(
        (memory.id, memory.observed_at[:10])
        for memory in sorted(observed, key=lambda memory: (memory.observed_at, memory.id))
    )
