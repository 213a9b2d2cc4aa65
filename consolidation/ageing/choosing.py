"""Which memories a phase takes out of the active ones, and why; nothing here writes."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from slowwave.store.ageing import MemoryAge

from .decay import score
from .retention import Retention


@dataclass(frozen=True)
class LeavingMemory:
    """A memory that is to leave the active ones."""

    memory: MemoryAge
    why: str
    # How much was left of it; None where that plays no part.
    score: float | None = None

    @property
    def id(self) -> str:
        """The memory's id."""
        return self.memory.id


@dataclass(frozen=True)
class AgeingChoice:
    """What a phase would take out, and how many stay that it would have taken, by what keeps them.

    above: per tenant, by how many it stays above its limit.
    """

    leaving: tuple[LeavingMemory, ...] = ()
    kept: Mapping[str, int] = field(default_factory=dict)
    above: Mapping[str, int] = field(default_factory=dict)


def choose_expired(
    memories: Iterable[MemoryAge], retention: Retention, now: int, include_protected: bool
) -> AgeingChoice:
    """Return what has come to its end: its own, or the one that a rule gives it.

    now: seconds since 1970. A rule takes no protected memory unless told so; an end of a memory's
    own always counts, since whoever wrote it wanted that.
    """
    leaving: list[LeavingMemory] = []
    protected = 0
    for one in memories:
        if one.expires is not None and one.expires <= now:
            leaving.append(LeavingMemory(one, "its own end"))
            continue
        rule = retention.rule_for(one.tenant, one.kind, one.layer)
        if rule is None or rule.keep is None or now - one.last_stated < rule.keep.total_seconds():
            continue
        if one.protected and not include_protected:
            protected += 1
        else:
            leaving.append(LeavingMemory(one, rule.text))
    return AgeingChoice(tuple(leaving), {"protected": protected} if protected else {})


def choose_excess(
    memories: Iterable[MemoryAge],
    most: int,
    now: int,
    needed: Collection[str] = (),
    coming: Mapping[str, int] | None = None,
) -> AgeingChoice:
    """Return what is above `most` a tenant, the lowest score first.

    Never what is protected, or what others lean on. needed: of a plan, what will be leaned on, or
    waits for a person. coming: how many memories the plan will add, per tenant.
    """
    by_tenant: dict[str, list[MemoryAge]] = {}
    for one in memories:
        by_tenant.setdefault(one.tenant, []).append(one)
    leaving: list[LeavingMemory] = []
    kept: Counter[str] = Counter()
    above: dict[str, int] = {}
    for tenant, several in by_tenant.items():
        excess = len(several) + (coming or {}).get(tenant, 0) - most
        if excess <= 0:
            continue
        going, staying = _lowest(several, excess, now, needed)
        leaving += going
        if len(going) < excess:
            # Only then does it matter what kept the others.
            above[tenant] = excess - len(going)
            kept.update(staying)
    return AgeingChoice(tuple(leaving), dict(kept), above)


def _lowest(
    memories: Sequence[MemoryAge], excess: int, now: int, needed: Collection[str]
) -> tuple[list[LeavingMemory], list[str]]:
    free: list[tuple[float, MemoryAge]] = []
    staying: list[str] = []
    for one in memories:
        reason = _kept_by(one, needed)
        if reason is None:
            free.append((score(one, now), one))
        else:
            staying.append(reason)
    free.sort(key=lambda each: (each[0], each[1].importance, each[1].last_stated, each[1].id))
    going = [
        LeavingMemory(one, f"{excess} above the limit, score {left:.4f}", round(left, 4))
        for left, one in free[:excess]
    ]
    return going, staying


def _kept_by(memory: MemoryAge, needed: Collection[str]) -> str | None:
    """Return why a memory is not archived, whatever its score."""
    if memory.protected:
        return "protected"
    if memory.under_review:
        return "review"
    return "lineage" if memory.has_dependents or memory.id in needed else None
