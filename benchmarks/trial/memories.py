"""The memories of a trial: some of a life's, in tenants so small that a small model copes."""

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

# SmolLM2-135M says nothing about a page of 3,000 tokens, and something about 20 memories.
_TENANT = 20
_GROUPS = ("facts", "rules", "updates")


def some_of(life: Source, count: int) -> Source:
    """Return the first memories of a life in small tenants, with the gold that is about them.

    What the gold names together, as one thing or as two that look alike, is in one tenant.
    """
    told = [json.loads(line) for line in life.lines[:count]]
    gold = _among(life.gold, {text["id"] for text in told})
    tenant_of: dict[str, str] = {}
    for number, ids in enumerate(_tenants(told, gold), start=1):
        tenant_of |= dict.fromkeys(ids, f"part-{number:02}")
    lines = [json.dumps({**text, "tenant": tenant_of[text["id"]]}) for text in told]
    return replace(life, lines=lines, gold=gold)


def _tenants(told: list[Json], gold: Json) -> Iterator[list[str]]:
    """Pack what belongs together, in the order in which it was first told."""
    together = DisjointSet([text["id"] for text in told])
    groups = [item["ids"] for name in _GROUPS for item in gold[name]]
    for first, *others in chain(groups, *(gold[name] for name in PAIRS)):
        for item in others:
            together.merge(first, item)
    components: dict[str, list[str]] = defaultdict(list)
    for text in told:
        components[together[text["id"]]].append(text["id"])
    packed: list[str] = []
    for ids in components.values():
        packed += ids
        if len(packed) >= _TENANT:
            yield packed
            packed = []
    if packed:
        yield packed


def _among(gold: Json, there: set[str]) -> Json:
    """Leave out the memories that are not there, and the groups of which none is.

    A fact whose tellings are not all there keeps its details: those that nobody told count nowhere.
    """
    groups = {name: _groups(gold[name], there) for name in _GROUPS}
    pairs = {
        name: [pair for pair in gold[name] if there.issuperset(pair)]
        for name in (*PAIRS, "two_values")
        if name in gold
    }
    return {**groups, **pairs}


def _groups(groups: list[Json], there: set[str]) -> list[Json]:
    kept = [{name: _kept(value, there) for name, value in group.items()} for group in groups]
    return [entry for entry in kept if entry["ids"]]


def _kept(value: Any, there: set[str]) -> Any:
    """Leave out ids that are not there; lists of wordings stay as they are."""
    if not isinstance(value, list) or any(isinstance(item, list) for item in value):
        return value
    return [item for item in value if item in there]
