"""Decay scores, and the memories that a phase expires or archives, and why. Nothing is written.

Scores halve with time and rise with use. They are computed on demand and not stored, so they cannot
be out of date.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field

from slowwave.consolidation.thresholds import (
    ACCESS_WEIGHT,
    EPHEMERAL_HALF_LIFE_H,
    MAX_FOR_ACCESS,
    STABLE_HALF_LIFE_H,
    WORKING_HALF_LIFE_H,
)
from slowwave.store.ageing import MemoryAge
from slowwave.store.records import LAYERS

from .retention import Retention

# In hours; None does not decay.
HALF_LIVES: dict[str, float | None] = {
    "ephemeral": EPHEMERAL_HALF_LIFE_H,
    "working": WORKING_HALF_LIFE_H,
    "stable": STABLE_HALF_LIFE_H,
    "core": None,
}
_HOUR_S = 3_600


@dataclass(frozen=True)
class LayerScores:
    """The scores of a layer's active memories."""

    layer: str
    memories: int
    lowest: float
    mean: float
    # The number of scores below one half: unused for more than a half-life, and rarely used.
    faded: int


def score(memory: MemoryAge, now: int) -> float:
    """Return 2^(-hours since the last use / half-life) + min(0.02 x accesses, 0.3).

    now: seconds since 1970. Being stored or restated counts as a use.
    """
    half_life = HALF_LIVES[memory.layer]
    hours = max(0, now - memory.last_used) / _HOUR_S
    decayed = 1.0 if half_life is None else 2 ** (-hours / half_life)
    return decayed + min(ACCESS_WEIGHT * memory.access_count, MAX_FOR_ACCESS)


def scores_by_layer(memories: Iterable[MemoryAge], now: int) -> tuple[LayerScores, ...]:
    """Return the scores of each layer, from `ephemeral` to `core`."""
    scores: dict[str, list[float]] = {layer: [] for layer in LAYERS}
    for memory in memories:
        scores[memory.layer].append(score(memory, now))
    return tuple(
        LayerScores(
            layer,
            memories=len(of_layer),
            lowest=round(min(of_layer), 4),
            mean=round(sum(of_layer) / len(of_layer), 4),
            faded=sum(value < 1 / 2 for value in of_layer),
        )
        for layer, of_layer in scores.items()
        if of_layer
    )


@dataclass(frozen=True)
class LeavingMemory:
    """A memory that expires or is archived."""

    memory: MemoryAge
    why: str
    # Its score; None if it expires.
    score: float | None = None

    @property
    def id(self) -> str:
        """The memory's id."""
        return self.memory.id


@dataclass(frozen=True)
class AgeingChoice:
    """The memories that leave, and how many are kept by each reason.

    above: by how many memories a tenant stays above its limit.
    """

    leaving: tuple[LeavingMemory, ...] = ()
    kept_by_reason: Mapping[str, int] = field(default_factory=dict)
    above: Mapping[str, int] = field(default_factory=dict)


def choose_expired(
    memories: Iterable[MemoryAge], retention: Retention, now: int, include_protected: bool
) -> AgeingChoice:
    """Return the memories past their `expires_at` or a retention rule.

    now: seconds since 1970. `include_protected` only concerns rules: a memory's own `expires_at`
    always counts.
    """
    leaving: list[LeavingMemory] = []
    protected = 0
    for memory in memories:
        if memory.expires is not None and memory.expires <= now:
            leaving.append(LeavingMemory(memory, "expires_at"))
            continue
        rule = retention.rule_for(memory.tenant, memory.kind, memory.layer)
        if (
            rule is None
            or rule.keep is None
            or now - memory.last_stated < rule.keep.total_seconds()
        ):
            continue
        if memory.is_protected and not include_protected:
            protected += 1
        else:
            leaving.append(LeavingMemory(memory, rule.text))
    return AgeingChoice(tuple(leaving), {"protected": protected} if protected else {})


def choose_excess(
    memories: Iterable[MemoryAge],
    limit: int,
    now: int,
    needed: Collection[str] = (),
    coming: Mapping[str, int] | None = None,
) -> AgeingChoice:
    """Return the memories above the limit of their tenants, the lowest score first.

    Protected memories and those that others depend on are kept. needed: ids that a plan depends
    on. coming: the number of memories that the plan adds, by tenant.
    """
    by_tenant: dict[str, list[MemoryAge]] = {}
    for memory in memories:
        by_tenant.setdefault(memory.tenant, []).append(memory)
    leaving: list[LeavingMemory] = []
    kept_by_reason: Counter[str] = Counter()
    above: dict[str, int] = {}
    for tenant, owned in by_tenant.items():
        excess = len(owned) + (coming or {}).get(tenant, 0) - limit
        if excess <= 0:
            continue
        blockers = [_find_blocker(memory, needed) for memory in owned]
        free = sorted(
            (score(memory, now), memory.importance, memory.last_stated, memory.id, memory)
            for memory, blocker in zip(owned, blockers, strict=True)
            if blocker is None
        )
        for value, *_, memory in free[:excess]:
            why = f"{excess} above the limit, score {value:.4f}"
            leaving.append(LeavingMemory(memory, why, round(value, 4)))
        if len(free) < excess:
            above[tenant] = excess - len(free)
            kept_by_reason.update(blocker for blocker in blockers if blocker is not None)
    return AgeingChoice(tuple(leaving), dict(kept_by_reason), above)


def _find_blocker(memory: MemoryAge, needed: Collection[str]) -> str | None:
    """Return why a memory is never archived; None if it may be."""
    if memory.is_protected:
        return "protected"
    if memory.is_under_review:
        return "review"
    return "lineage" if memory.has_dependents or memory.id in needed else None
