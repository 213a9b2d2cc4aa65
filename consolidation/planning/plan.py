"""Tenants to a plan: everything that a run will do, decided before it does anything.

A pure function of what the file holds. What was observed is clustered, whatever became of it
since: superseded memories keep their place, so that the clusters of a second run are those of
the first, and something is proposed only for active memories that are not yet part of anything.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator

from slowwave.consolidation.options import PlanOptions
from slowwave.consolidation.proposals import Conflict, Dense, Plan, Suspicion, TooLong
from slowwave.consolidation.snapshot.tenant_view import TenantView
from slowwave.store.records import Memory

from .conflicts import find_conflicts
from .duplicates import Duplicates
from .tenant_planner import TenantPlanner
from .windows import plan_windows, undecided_of


def plan_tenant(view: TenantView, options: PlanOptions) -> Plan:
    """Plan everything for one tenant, in the order in which it will be done.

    The order of rows plays no part in it.
    """
    planner = TenantPlanner(view, options)
    duplicates = Duplicates(planner)
    found = list(duplicates.propose()) if "merge" in options.only else []
    leaving = {memory for proposal in found for memory in proposal.leaving}
    leaving |= planner.leaving_later
    # A model is shown the same, whatever is left out or waits for a person.
    windows = plan_windows(planner, leaving)
    asks = options.model_key is not None
    return Plan(
        tuple(proposal for proposal in found if proposal.id not in options.excluded),
        tuple(duplicates.refusals()),
        tuple(_conflicts(view, leaving)),
        tuple(_suspicious(view)),
        tuple(TooLong(one.id, view.tenant, one.characters) for one in view.too_long),
        view.damaged,
        tuple(_dense(view)),
        () if asks else tuple(undecided_of(planner, windows)),
        tuple(windows) if asks else (),
    )


def _conflicts(view: TenantView, leaving: Collection[str]) -> list[Conflict]:
    """Return the conflicts among the memories that are active after the duplicates have left."""
    staying = [
        memory
        for memory in (*view.memories, *view.derived)
        if memory.status == "active" and memory.id not in leaving
    ]
    return find_conflicts(staying, (), view.cache)


def _suspicious(view: TenantView) -> Iterator[Suspicion]:
    for memory in (*view.memories, *view.derived):
        if memory.status == "active" and memory.id in view.orders:
            yield Suspicion(*_of(memory), view.orders[memory.id][0])


def _dense(view: TenantView) -> Iterator[Dense]:
    for memory in (*view.memories, *view.derived):
        if memory.status == "active" and memory.id in view.dense:
            density = view.features(memory).density
            yield Dense(*_of(memory), density.score, density.why)


def _of(memory: Memory) -> tuple[str, str]:
    return memory.id, memory.tenant
