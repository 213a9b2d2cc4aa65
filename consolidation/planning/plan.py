"""Plan everything that a run will do with a tenant, before it does anything.

A plan is a pure function of the file. It is about active memories that are not part of anything
yet; superseded ones only show what a person separated.
"""

from __future__ import annotations

from dataclasses import replace

from slowwave.consolidation.options import PlanOptions
from slowwave.consolidation.proposals import Dense, Plan, Suspicion, TooLong
from slowwave.consolidation.snapshot.tenant_view import TenantView

from .conflicts import find_conflicts
from .duplicates import find_duplicates
from .merge_proposals import propose_merges
from .windows import find_undecided, plan_windows


def plan_tenant(view: TenantView, options: PlanOptions) -> Plan:
    """Plan everything for one tenant, in the order in which it will be done.

    The order of rows does not matter.
    """
    asks = options.model_key is not None
    merges, refused = find_duplicates(view, options.include_protected)
    proposals, held_back, leaving_later = propose_merges(
        view, options, merges if "merge" in options.only else ()
    )
    # A model does not repeat them either.
    options = replace(options, apart=tuple(map(frozenset, held_back.values())))
    leaving = leaving_later.union(*(proposal.leaving for proposal in proposals))
    active = [memory for memory in (*view.memories, *view.derived) if memory.status == "active"]
    staying = [memory for memory in active if memory.id not in leaving]
    dense = [memory for memory in active if memory.id in view.dense]
    return Plan(
        tuple(proposals),
        tuple(refused),
        tuple(find_conflicts(staying, view.disputes, view.settled, view.cache, view.text_features)),
        tuple(
            Suspicion(memory.id, view.tenant, view.orders[memory.id][0])
            for memory in active
            if memory.id in view.orders
        ),
        tuple(TooLong(long.id, view.tenant, long.characters) for long in view.too_long),
        view.damaged,
        tuple(
            Dense(memory.id, view.tenant, density.score, density.why)
            for memory, density in ((memory, view.features(memory).density) for memory in dense)
        ),
        # A model is shown the same, whether or not proposals are pending.
        () if asks else tuple(find_undecided(view, options, leaving)),
        tuple(plan_windows(view, options, leaving)) if asks else (),
        tuple(held_back),
    )
