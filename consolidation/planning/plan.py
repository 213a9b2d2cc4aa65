"""Plan everything that a run will do with a tenant, before it does anything.

A plan is a pure function of the file. Observed memories are clustered even if they are superseded
by now, so that the clusters of a second run are those of the first; proposals are only about active
memories that are not part of anything yet.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator

from slowwave.consolidation.options import PlanOptions
from slowwave.consolidation.proposals import Conflict, Dense, Plan, Suspicion, TooLong
from slowwave.consolidation.snapshot.tenant_view import TenantView
from slowwave.store.records import Memory

from .conflicts import find_conflicts
from .duplicates import find_duplicates
from .merge_proposals import propose_merges
from .windows import find_undecided, plan_windows


def plan_tenant(view: TenantView, options: PlanOptions) -> Plan:
    """Plan everything for one tenant, in the order in which it will be done.

    The order of rows does not matter.
    """
    merges, refused = find_duplicates(view, options.include_protected)
    proposals, held_back, leaving_later = propose_merges(
        view, options, merges if "merge" in options.only else ()
    )
    leaving = leaving_later.union(*(proposal.leaving for proposal in proposals))
    asks = options.model_key is not None
    return Plan(
        tuple(proposals),
        tuple(refused),
        tuple(_conflicts(view, leaving)),
        tuple(_suspicious(view)),
        tuple(TooLong(long.id, view.tenant, long.characters) for long in view.too_long),
        view.damaged,
        tuple(_dense(view)),
        # A model is shown the same, whether or not proposals are pending.
        () if asks else tuple(find_undecided(view, options, leaving)),
        tuple(plan_windows(view, options, leaving)) if asks else (),
        tuple(held_back),
    )


def _active(view: TenantView) -> Iterator[Memory]:
    return (memory for memory in (*view.memories, *view.derived) if memory.status == "active")


def _conflicts(view: TenantView, leaving: Collection[str]) -> list[Conflict]:
    """Return the conflicts among the memories that are active after the duplicates have left."""
    staying = [memory for memory in _active(view) if memory.id not in leaving]
    return find_conflicts(staying, (), view.settled, view.cache)


def _suspicious(view: TenantView) -> Iterator[Suspicion]:
    for memory in _active(view):
        if memory.id in view.orders:
            yield Suspicion(memory.id, memory.tenant, view.orders[memory.id][0])


def _dense(view: TenantView) -> Iterator[Dense]:
    for memory in _active(view):
        if memory.id in view.dense:
            density = view.features(memory).density
            yield Dense(memory.id, memory.tenant, density.score, density.why)
