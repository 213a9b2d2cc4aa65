"""Tenants to a plan: everything that a run will do, decided before it does anything.

A pure function of what the file holds. What was observed is clustered, whatever became of it
since: superseded memories keep their place, so that the clusters of a second run are those of
the first, and something is proposed only for active memories that are not yet part of anything.
"""

from __future__ import annotations

from collections.abc import Iterator

from slowwave.consolidation.options import PlanOptions
from slowwave.consolidation.proposals import Dense, Plan, Suspicion, TooLong
from slowwave.consolidation.snapshot.tenant_view import TenantView
from slowwave.store.records import Memory

from .merges import by_rank, propose_same
from .near_pairs import near_pairs, refusals
from .tenant_planner import TenantPlanner
from .windows import plan_windows, undecided_of


def plan_tenant(view: TenantView, options: PlanOptions) -> Plan:
    """Plan everything for one tenant, in the order in which it will be done.

    The order of rows plays no part in it.
    """
    planner = TenantPlanner(view, options)
    rank = by_rank(view, planner.may_leave)
    pairs = near_pairs(view, rank)
    found = [*propose_same(planner, pairs, rank)]
    wanted = list({one.id: one for one in found if one.operation in options.only}.values())
    # A model is shown the same, whatever is left out.
    windows = plan_windows(planner, {one for each in wanted for one in each.leaving})
    asks = options.model_key is not None
    proposals = tuple(one for one in wanted if one.id not in options.excluded)
    return Plan(
        proposals,
        tuple(refusals(view, pairs)),
        (),
        tuple(_suspicious(view)),
        tuple(TooLong(one.id, view.tenant, one.characters) for one in view.too_long),
        view.damaged,
        tuple(_dense(view)),
        () if asks else tuple(undecided_of(planner, windows)),
        tuple(windows) if asks else (),
    )


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
