"""Audit the contents of a file: which memories are junk, doubtful, unused, or about to leave.

Only what the file records counts. Nothing is written, and no vector or model is needed.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from pathlib import Path
from typing import Literal, get_args

from slowwave.consolidation.ageing.retention import Retention
from slowwave.consolidation.ageing.selection import choose_excess, choose_expired
from slowwave.consolidation.snapshot.cache import Cache
from slowwave.consolidation.snapshot.features import TextFeatures, features_of
from slowwave.consolidation.thresholds import TRUST_LOSS
from slowwave.store.ageing import MemoryAge, read_ages, to_epoch_seconds
from slowwave.store.cache import read_findings
from slowwave.store.file import MemoryFile, open_reading
from slowwave.store.lineage import Support, read_support, read_written_trusts
from slowwave.store.memories import read_active, read_too_long, select_tenants
from slowwave.store.records import Memory, timestamp

FindingKind = Literal[
    "orders",
    "secret",
    "blank",
    "verbatim",
    "too long",
    "distrusted",
    "doubtful source",
    "expired",
    "expiring",
    "limit",
    "faded",
]
_KINDS: tuple[FindingKind, ...] = get_args(FindingKind)
# The trust of a new memory that no feedback and no writer has lowered, with room for rounding.
_INITIAL_TRUST = 0.5 - 1e-6
# A score below it: neither restated nor accessed for more than the half-life of its layer.
_HALF_LIFE_SCORE = 0.5
# The share of `max_active` from which on a tenant is near its limit.
_SHARE_NEAR_LIMIT = 0.9
_DAY_S = 86_400


@dataclass(frozen=True)
class Finding:
    """What is wrong with memories of a tenant, for one reason."""

    kind: FindingKind
    tenant: str
    # () if it concerns the whole tenant.
    memories: tuple[str, ...]
    why: str
    # The proposal whose undo removes the derived memory; None if none can.
    proposal: str | None = None


@dataclass(frozen=True)
class Audit:
    """What was found, ordered as in `FindingKind`, and what the file does not record."""

    findings: tuple[Finding, ...]
    # The number of active memories by tenant.
    active: Mapping[str, int]
    # Whether any agent has recorded that it accessed a memory; recall records nothing.
    accesses_recorded: bool


@dataclass(frozen=True)
class AuditOptions:
    """What counts as a secret, and as near its end."""

    # () means all.
    tenants: tuple[str, ...]
    retention: Retention
    # The limit of each tenant; None: no limit.
    max_active: int | None
    within: timedelta
    # Returns the kinds of secret in a text.
    kinds_of_secrets: Callable[[str], tuple[str, ...]]


def audit(path: Path, options: AuditOptions, now: datetime) -> Audit:
    """Return the findings about the tenants of a file. Raises `StoreError`."""
    moment = timestamp(now)
    with open_reading(path) as file:
        tenants = select_tenants(file, options.tenants)
        ages = list(read_ages(file, tenants))
        seconds = to_epoch_seconds(file, moment)
        written = read_written_trusts(file)
        findings = [
            *_find_in_texts(file, tenants, moment, written, options),
            *_find_doubtful(read_support(file, tenants), written),
            *_find_leaving(ages, options, seconds),
            *_find_faded(ages, seconds),
        ]
    findings.sort(key=lambda finding: _KINDS.index(finding.kind))
    return Audit(tuple(findings), _count_by_tenant(ages), any(map(_was_accessed, ages)))


def _count_by_tenant(ages: Iterable[MemoryAge]) -> Counter[str]:
    return Counter(age.tenant for age in ages)


def _find_in_texts(
    file: MemoryFile,
    tenants: Sequence[str],
    now: str,
    written: Mapping[str, float],
    options: AuditOptions,
) -> Iterator[Finding]:
    """Yield what is wrong with single texts."""
    cache = Cache(read_findings(file))
    for tenant in tenants:
        memories = read_active(file, tenant, now)
        features = features_of(memories, cache)
        for memory in memories:
            yield from _find_in_text(memory, features[memory.content_hash])
            if secrets := options.kinds_of_secrets(memory.content):
                yield Finding("secret", tenant, (memory.id,), ", ".join(secrets))
            if _is_distrusted(written, memory.id, memory.trust, memory.generation):
                why = f"trust {memory.trust:g}"
                yield Finding("distrusted", tenant, (memory.id,), why)
        for long in read_too_long(file, tenant, now):
            yield Finding("too long", tenant, (long.id,), f"{long.characters:,} characters")


def _find_in_text(memory: Memory, features: TextFeatures) -> Iterator[Finding]:
    if features.orders:
        yield Finding("orders", memory.tenant, (memory.id,), features.orders[0])
    elif features.density.is_dense:
        yield Finding("verbatim", memory.tenant, (memory.id,), features.density.why)
    elif not any(map(str.isalnum, memory.content)):
        yield Finding("blank", memory.tenant, (memory.id,), "it has neither letters nor digits")


def _find_doubtful(support: Iterable[Support], written: Mapping[str, float]) -> Iterator[Finding]:
    """Yield the derived memories with a source that no longer supports them."""
    for source in support:
        if (why := _explain_doubt(source, written)) is not None:
            ids = source.derived_id, source.source_id
            # No undo brings back what an agent deleted.
            proposal = None if source.status is None else source.proposal
            yield Finding("doubtful source", source.tenant, ids, why, proposal)


def _explain_doubt(source: Support, written: Mapping[str, float]) -> str | None:
    if source.status is None or source.trust is None or source.generation is None:
        return "a source was deleted"
    if source.content_hash != source.source_hash:
        return "a source was changed since"
    if source.status in ("expired", "archived"):
        return f"a source is {source.status}"
    if _is_distrusted(written, source.source_id, source.trust, source.generation):
        return f"a source has trust {source.trust:g}"
    return None


def _is_distrusted(
    written: Mapping[str, float], memory_id: str, trust: float, generation: int
) -> bool:
    """Whether the trust is lower than derivations, or an agent's correction, would make it.

    written: the trust that runs gave to the observed memories they wrote, by id.
    """
    expected = _INITIAL_TRUST - TRUST_LOSS * generation
    return trust < min(expected, written.get(memory_id, expected))


def _find_leaving(ages: Sequence[MemoryAge], options: AuditOptions, now: int) -> Iterator[Finding]:
    """Yield the memories that have expired or soon will, and the tenants near their limit."""
    soon = now + round(options.within.total_seconds())
    expired: set[str] = set()
    moments: tuple[tuple[FindingKind, int], ...] = (("expired", now), ("expiring", soon))
    for kind, moment in moments:
        choice = choose_expired(ages, options.retention, moment, include_protected=False)
        for leaving in choice.leaving:
            if leaving.id not in expired:
                expired.add(leaving.id)
                yield Finding(kind, leaving.memory.tenant, (leaving.id,), leaving.why)
    limit = options.max_active
    for tenant, count in sorted(_count_by_tenant(ages).items()):
        if limit is not None and count >= _SHARE_NEAR_LIMIT * limit:
            yield Finding("limit", tenant, (), f"{count:,} of {limit:,} active memories")


def _find_faded(ages: Sequence[MemoryAge], now: int) -> Iterator[Finding]:
    """Yield what the phase `limit` may archive and has outlived its half-life, the oldest first."""
    free = choose_excess(ages, 0, now).leaving
    are_recorded = any(map(_was_accessed, ages))
    for leaving in free:
        memory = leaving.memory
        if leaving.score is not None and leaving.score < _HALF_LIFE_SCORE:
            days = f"not confirmed for {(now - memory.last_stated) // _DAY_S} days"
            never = ", never recalled" if are_recorded and not _was_accessed(memory) else ""
            yield Finding("faded", memory.tenant, (memory.id,), f"{days}{never}")


def _was_accessed(memory: MemoryAge) -> bool:
    return memory.access_count > 0 or memory.last_used > memory.last_stated
