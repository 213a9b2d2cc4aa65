"""What a night leaves to the next: what it found out, and whether anything is left to do.

A tenant in which nothing has changed since a run found nothing to do is at rest: a later run gives
the same report, and reads no memory but to count tokens. Triggers count what changes that a plan
depends on, in the transaction that changes it (schema version 3): what was said at another count is
void.
"""

from __future__ import annotations

import zlib
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING

from msgspec import DecodeError, Struct
from msgspec.json import Decoder, encode

from slowwave.consolidation.options import PlanOptions
from slowwave.consolidation.proposals import (
    Conflict,
    Dense,
    Plan,
    Refusal,
    Suspicion,
    TooLong,
    Undecided,
)
from slowwave.store.cache import (
    forget_cached,
    keep_cached,
    keep_idle_report,
    keep_parts,
    read_idle_report,
    read_idle_until,
)
from slowwave.store.file import MemoryFile, open_reading, open_writing
from slowwave.store.intake import count_waiting
from slowwave.store.memories import select_consolidated_tenants
from slowwave.store.records import json_text

from .cache import Cache, code_version
from .snapshot import Snapshot, basis_of

if TYPE_CHECKING:
    from .tenant_view import TenantView


@dataclass(frozen=True)
class IdleMark:
    """What a run says of a tenant in which nothing is left to do.

    It stands until the count of changes is another, or up to a moment.
    """

    tenant: str
    plan: Plan
    changes: int
    until: str | None


@dataclass(frozen=True)
class Findings:
    """What a look leaves to later ones; it is small compared with what was looked at."""

    idle_marks: IdleMarks
    idle: tuple[IdleMark, ...]
    # Per tenant, how many parts of its graph stay, and what comes behind them.
    graphs: tuple[tuple[str, int, tuple[bytes, ...]], ...]
    cache: Cache
    # Whether all there is was looked at: nobody else needs what this look did not.
    whole: bool


class IdleMarks:
    """Where a run looks up, and writes down, what other runs need not find out again."""

    def __init__(self, path: Path, model: str, options: PlanOptions, now: str) -> None:
        """Take what a report depends on besides the file."""
        self._path = path
        self._basis = basis_of(model)
        self._now = now
        self._key = _key(model, options)
        self._asks_a_model = options.model_key is not None

    @property
    def key(self) -> str:
        """What all that it says depends on, besides the file: options, model, our own rules."""
        return self._key

    def until(self, file: MemoryFile) -> tuple[str | None] | None:
        """Return until when all tenants of the file are at rest, alone in a tuple.

        None if one is not, or a conversation waits for the model; until None: as long as nothing
        changes.
        """
        if self._asks_a_model and count_waiting(file):
            return None
        rests = [
            read_idle_until(file, tenant, self._key, self._now)
            for tenant in select_consolidated_tenants(file, ())
        ]
        ends = [rest[0] for rest in rests if rest is not None]
        if len(ends) < len(rests):
            return None
        return (min((one for one in ends if one is not None), default=None),)

    def look_up(self, chosen: Sequence[str]) -> dict[str, Plan | None]:
        """Return what stands of each tenant named, or of all; None of one that is not at rest."""
        with open_reading(self._path) as file:
            return {
                tenant: _read(read_idle_report(file, tenant, self._key, self._now))
                for tenant in select_consolidated_tenants(file, chosen)
            }

    def found(
        self,
        snapshot: Snapshot,
        views: Sequence[TenantView],
        plans: Mapping[str, Plan],
        whole: bool,
    ) -> Findings:
        """Return what is to be kept of a look."""
        idle = []
        for tenant_rows in snapshot.tenants_rows:
            plan = plans.get(tenant_rows.tenant)
            if plan is not None and plan.is_empty:
                ends = [memory.expires_at for memory in tenant_rows.observed]
                ends += [memory.expires_at for memory in tenant_rows.too_long]
                until = min((one for one in ends if one and one > self._now), default=None)
                idle.append(IdleMark(tenant_rows.tenant, plan, tenant_rows.changes, until))
        graphs = tuple((one.tenant, *one.graph.taken()) for one in views)
        return Findings(self, tuple(idle), graphs, snapshot.cache, whole)

    def keep(self, found: Findings) -> None:
        """Keep what was found out about texts."""
        with open_writing(self._path) as file:
            for tenant, staying, parts in found.graphs:
                if parts:
                    keep_parts(file, tenant, self._basis, staying, parts)
            keep_cached(file, found.cache.taken())

    def keep_idle_marks(self, found: Findings) -> None:
        """Mark the tenants as idle in which nothing is left to do, and nothing has changed.

        What nobody asked for in the whole look is forgotten.
        """
        with open_writing(self._path) as file:
            for mark in found.idle:
                report = _written(mark.plan)
                keep_idle_report(file, mark.tenant, self._key, mark.changes, mark.until, report)
            if found.whole:
                added, outdated = found.cache.swept()
                keep_cached(file, added)
                forget_cached(file, outdated)


def _key(model: str, options: PlanOptions) -> str:
    nothing: frozenset[str] = frozenset()
    known = replace(options, remembered=nothing, waiting=nothing, asked=frozenset(), answered=())
    depends = asdict(known) | {"only": sorted(options.only)}
    depends |= {"remembered": None, "waiting": None, "asked": None}
    depends |= {"excluded": sorted(options.excluded)}
    return sha256(json_text([code_version(), model, depends]).encode()).hexdigest()


class _Report(Struct, array_like=True):
    """What a plan without a proposal says."""

    refused: tuple[Refusal, ...]
    conflicts: tuple[Conflict, ...]
    suspicious: tuple[Suspicion, ...]
    too_long: tuple[TooLong, ...]
    damaged: tuple[str, ...]
    undecided: tuple[Undecided, ...]
    dense: tuple[Dense, ...]


_REPORT = Decoder(_Report)


def _written(plan: Plan) -> bytes:
    report = _Report(
        plan.refused,
        plan.conflicts,
        plan.suspicious,
        plan.too_long,
        plan.damaged,
        plan.undecided,
        plan.dense,
    )
    return zlib.compress(encode(report), level=1)


def _read(report: bytes | None) -> Plan | None:
    try:
        found = _REPORT.decode(zlib.decompress(report or b""))
    except (zlib.error, DecodeError, UnicodeDecodeError):
        # What is damaged does not stand: it is looked at again.
        return None
    return Plan(
        proposals=(),
        refused=found.refused,
        conflicts=found.conflicts,
        suspicious=found.suspicious,
        too_long=found.too_long,
        damaged=found.damaged,
        undecided=found.undecided,
        dense=found.dense,
    )
