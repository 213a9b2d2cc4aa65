"""The findings that a night saves for the next, and the marks of idle tenants.

A tenant is idle if nothing has changed since a run left nothing to do. A later run repeats the
report, and only reads memories to count tokens. Triggers count the changes that a plan depends on
(schema version 3); a mark with another count is invalid.

A plan without a model is complete: once it is applied, the next run would find what this one left.
"""

from __future__ import annotations

import zlib
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from msgspec import DecodeError
from msgspec.json import Decoder, encode

from slowwave.consolidation.options import PlanOptions
from slowwave.consolidation.proposals import Plan
from slowwave.store.cache import (
    cache_findings,
    cache_forest,
    cache_idle_report,
    delete_findings,
    read_idle_report,
)
from slowwave.store.file import MemoryFile, open_reading, open_writing
from slowwave.store.intake import count_queued
from slowwave.store.memories import select_consolidated_tenants
from slowwave.store.records import content_hash, json_text

from .cache import Cache, code_version
from .snapshot import Snapshot, basis_of

if TYPE_CHECKING:
    from .tenant_view import TenantView


@dataclass(frozen=True)
class Rest:
    """What is left in a tenant once proposals were applied."""

    tenant: str
    plan: Plan
    # The ids of the proposals.
    applied: frozenset[str]
    # The change count before.
    changes: int
    # When something expires.
    until: str | None


@dataclass(frozen=True)
class Findings:
    """The findings of a survey; they are small compared with its memories."""

    # Of tenants in which nothing would be left to do.
    rests: tuple[Rest, ...]
    # The new spanning forest of each tenant that was surveyed; None if it has not changed.
    forests: Mapping[str, bytes | None]
    cache: Cache
    # Whether the survey covered the whole file: findings that it did not use are deleted.
    whole: bool


class IdleMarks:
    """Reads and writes the marks of idle tenants and the findings."""

    def __init__(self, path: Path, model: str, options: PlanOptions, now: str) -> None:
        self._path = path
        self._basis = basis_of(model)
        self._now = now
        depends = [code_version(), model, *options.basis]
        # The hash of what a report depends on besides the file: options, models, code.
        self.key = content_hash(json_text(depends))
        self._asks_a_model = options.model_key is not None

    def until(self, file: MemoryFile) -> tuple[str | None] | None:
        """Return the time until which all tenants are idle, in a tuple of one.

        None if a tenant is not idle, or a conversation is queued for the model. (None,) if they are
        idle as long as nothing changes.
        """
        if self._asks_a_model and count_queued(file):
            return None
        ends = []
        for tenant in select_consolidated_tenants(file, ()):
            idle = read_idle_report(file, tenant, self.key, self._now)
            if idle is None:
                return None
            ends += [idle[0]] if idle[0] is not None else []
        return (min(ends, default=None),)

    def look_up(self, chosen: Sequence[str]) -> dict[str, Plan | None]:
        """Return the plan of each chosen tenant, or of all; None for those that are not idle."""
        with open_reading(self._path) as file:
            return {
                tenant: _read(read_idle_report(file, tenant, self.key, self._now))
                for tenant in select_consolidated_tenants(file, chosen)
            }

    def collect_findings(
        self, snapshot: Snapshot, plans: Mapping[str, Plan], whole: bool
    ) -> Findings:
        """Return the findings of a survey."""
        rests = []
        for view in snapshot.views:
            plan = plans.get(view.tenant)
            if plan is not None and (plan.is_empty or _is_complete(view, plan)):
                ends = [memory.expires_at for memory in (*view.memories, *view.derived)]
                ends += [memory.expires_at for memory in view.too_long]
                until = min((end for end in ends if end and end > self._now), default=None)
                applied = frozenset(proposal.id for proposal in plan.proposals)
                rests.append(Rest(view.tenant, _rest_of(plan), applied, view.changes, until))
        forests = {view.tenant: view.forest.taken() for view in snapshot.views}
        return Findings(tuple(rests), forests, snapshot.cache, whole)

    def save(self, findings: Findings) -> None:
        """Keep the forests and the cache."""
        with open_writing(self._path) as file:
            for tenant, forest in findings.forests.items():
                if forest is not None:
                    cache_forest(file, tenant, self._basis, forest)
            cache_findings(file, findings.cache.take_new())

    def save_idle_marks(
        self, findings: Findings, applied: Collection[str], changes_made: Mapping[str, int]
    ) -> None:
        """Mark tenants as idle, and delete findings that a survey of the whole file did not use.

        applied: the ids of the proposals that the run applied since. changes_made: its changes
        to each tenant; if anybody else made any, the tenant is not marked.
        """
        with open_writing(self._path) as file:
            for rest in findings.rests:
                if rest.applied.issubset(applied):
                    changes = rest.changes + changes_made.get(rest.tenant, 0)
                    report = zlib.compress(encode(rest.plan), level=1)
                    cache_idle_report(file, rest.tenant, self.key, changes, rest.until, report)
            if findings.whole:
                delete_findings(file, findings.cache.sweep())


def _is_complete(view: TenantView, plan: Plan) -> bool:
    """Whether it is known what is left once the plan's proposals were applied.

    What a model writes and what a person decides may change that, and a survivor that takes a
    higher layer is not shown to a model.
    """
    sources = {source for proposal in plan.proposals for source in proposal.sources}
    separated = {memory_id for pair in view.user_separated for memory_id in pair}
    return (
        not plan.windows
        and not plan.held_back
        and sources.isdisjoint(separated)
        and all(
            len({view.memory(source).layer for source in proposal.sources}) == 1
            for proposal in plan.proposals
        )
    )


def _rest_of(plan: Plan) -> Plan:
    """Return what is left of a plan once its proposals were applied."""
    leaving = {memory for proposal in plan.proposals for memory in proposal.leaving}
    return replace(
        plan,
        proposals=(),
        refused=tuple(pair for pair in plan.refused if leaving.isdisjoint(pair.sources)),
        suspicious=tuple(order for order in plan.suspicious if order.memory not in leaving),
        dense=tuple(text for text in plan.dense if text.memory not in leaving),
    )


_PLAN = Decoder(Plan)


def _read(idle: tuple[str | None, bytes] | None) -> Plan | None:
    try:
        return None if idle is None else _PLAN.decode(zlib.decompress(idle[1]))
    except (zlib.error, DecodeError, UnicodeDecodeError):
        # A damaged mark is invalid: the tenant is surveyed again.
        return None
