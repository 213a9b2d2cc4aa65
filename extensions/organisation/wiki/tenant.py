"""What the pages of one tenant are made of, read at one moment."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

from slowwave.store.entities import read_entities
from slowwave.store.file import MemoryFile
from slowwave.store.lineage import Edge, read_edges
from slowwave.store.memories import read_tenant_memories
from slowwave.store.records import Memory

# How many active memories must mention a name that has a page: fewer are a heading or a greeting.
_MIN_MENTIONS = 3


@dataclass(frozen=True)
class TenantPicture:
    """The memories of one tenant in the order in which they were observed, with their lineage."""

    tenant: str
    memories: Mapping[str, Memory]
    # Per memory, the edges that lead into it, and those that lead out of it.
    sources: Mapping[str, Sequence[Edge]]
    derived: Mapping[str, Sequence[Edge]]
    # Per memory, the names it mentions.
    names: Mapping[str, Sequence[str]]

    @cached_property
    def rule_ids(self) -> frozenset[str]:
        """The ids of the memories that are rules."""
        edges = (edge for source in self.sources.values() for edge in source)
        return frozenset(item.derived_id for item in edges if item.operation == "extract")

    @cached_property
    def rules(self) -> list[Memory]:
        """The rules."""
        return [memory for memory in self.memories.values() if memory.id in self.rule_ids]

    @cached_property
    def entities(self) -> dict[str, list[Memory]]:
        """Per name that enough active memories mention, sorted, all that do, in their order."""
        found: dict[str, list[Memory]] = {}
        for memory in self.memories.values():
            for name in self.names.get(memory.id, ()):
                found.setdefault(name, []).append(memory)
        return {
            name: memories
            for name, memories in sorted(found.items())
            if sum(memory.status == "active" for memory in memories) >= _MIN_MENTIONS
        }


def read_tenant(file: MemoryFile, tenant: str) -> TenantPicture:
    """Read all that the pages of a tenant say. Raises `UnusableFile`."""
    sources: dict[str, list[Edge]] = {}
    derived: dict[str, list[Edge]] = {}
    for edge in read_edges(file, tenant):
        sources.setdefault(edge.derived_id, []).append(edge)
        derived.setdefault(edge.source_id, []).append(edge)
    memories = {memory.id: memory for memory in read_tenant_memories(file, tenant)}
    return TenantPicture(tenant, memories, sources, derived, read_entities(file, tenant))
