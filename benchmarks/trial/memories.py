"""The memories of a trial: part of a life, in tenants that a small model can handle."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import replace
from itertools import chain
from typing import Any

from scipy.cluster.hierarchy import DisjointSet

from benchmarks.quality.bench import Json
from benchmarks.quality.known_answers import PAIRS
from benchmarks.quality.life import Source

# The minimum size of a tenant. SmolLM2-135M has no answer to 3,000 tokens, but one to 20 memories.
_TENANT_SIZE = 20
_GROUPS = ("facts", "rules", "updates")


def first_memories(life: Source, count: int) -> Source:
    """Return the first memories of a life in small tenants, with their gold.

    Memories in the same group or pair of the gold are in the same tenant.
    """
    memories = [json.loads(line) for line in life.lines[:count]]
    gold = _select(life.gold, {memory["id"] for memory in memories})
    tenant_of: dict[str, str] = {}
    for number, ids in enumerate(_tenants(memories, gold), start=1):
        tenant_of |= dict.fromkeys(ids, f"part-{number:02}")
    lines = [json.dumps({**memory, "tenant": tenant_of[memory["id"]]}) for memory in memories]
    return replace(life, lines=lines, gold=gold)


def _tenants(memories: list[Json], gold: Json) -> Iterator[list[str]]:
    """Yield the ids of each tenant, in the order of the memories."""
    together = DisjointSet([memory["id"] for memory in memories])
    groups = [group["ids"] for name in _GROUPS for group in gold[name]]
    for first, *rest in chain(groups, *(gold[name] for name in PAIRS)):
        for memory in rest:
            together.merge(first, memory)
    components: dict[str, list[str]] = defaultdict(list)
    for row in memories:
        components[together[row["id"]]].append(row["id"])
    tenant: list[str] = []
    for ids in components.values():
        tenant += ids
        if len(tenant) >= _TENANT_SIZE:
            yield tenant
            tenant = []
    if tenant:
        yield tenant


def _select(gold: Json, present: set[str]) -> Json:
    """Return the gold of the present memories.

    A fact keeps its details even if a memory is missing: those that nothing states are ignored.
    """
    groups = {name: _groups(gold[name], present) for name in _GROUPS}
    pairs = {
        name: [pair for pair in gold[name] if present.issuperset(pair)]
        for name in (*PAIRS, "two_values")
        if name in gold
    }
    return {**groups, **pairs}


def _groups(groups: list[Json], present: set[str]) -> list[Json]:
    kept = [
        {name: _select_ids(value, present) for name, value in group.items()} for group in groups
    ]
    return [entry for entry in kept if entry["ids"]]


def _select_ids(value: Any, present: set[str]) -> Any:
    """Return the present ids of a list; lists of wordings are unchanged."""
    if not isinstance(value, list) or any(isinstance(entry, list) for entry in value):
        return value
    return [id for id in value if id in present]
