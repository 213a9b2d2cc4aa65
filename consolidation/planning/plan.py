"""Populations to a plan: everything that a run will do, decided before it does anything.

A pure function of what the file holds. What was observed is clustered, whatever became of it
since: superseded memories keep their place, so that the clusters of a second run are those of
the first, and something is proposed only for active memories that are not yet part of anything.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from slowwave.consolidation.options import PlanOptions
from slowwave.consolidation.proposals import Plan, Proposal, Suspicion, TooLong, joined
from slowwave.consolidation.snapshot.population import Population
from slowwave.store.records import Memory

from .covered_merges import CoveredMerges
from .merges import propose_merges
from .near_pairs import by_rank, near_pairs, refusals
from .rules import Rules
from .syntheses import Syntheses
from .tenant_planner import TenantPlanner
from .topic_groups import TopicGroups
from .update_proposals import UpdateProposals
from .windows import Windows


def make_plan(populations: Iterable[Population], options: PlanOptions) -> Plan:
    """Decide all that is to be done, tenant by tenant, in the order in which it is to be done.

    The order of rows plays no part in it.
    """
    return joined(plan_tenant(population, options) for population in populations)


def plan_tenant(population: Population, options: PlanOptions) -> Plan:
    """Decide all that is to be done in one tenant, in the order in which it is to be done."""
    planner = TenantPlanner(population, options)
    rank = by_rank(population, planner.may_leave)
    pairs = near_pairs(population, rank)
    topic_groups = TopicGroups(planner)
    syntheses = Syntheses(planner, topic_groups)
    rules = Rules(planner)
    found = [
        *propose_merges(planner, pairs, rank),
        *rules.propose(),
        *UpdateProposals(planner, topic_groups).propose(),
        *syntheses.propose(),
        *CoveredMerges(planner, topic_groups).propose(),
    ]
    unique = {one.id: one for one in found if one.operation in options.only}
    proposals = tuple(one for key, one in unique.items() if key not in options.remembered)
    windows = Windows(planner, topic_groups, rules.groups, _settled(proposals))
    return Plan(
        proposals,
        tuple(refusals(population, pairs)),
        topic_groups.found.conflicts,
        tuple(_suspicious(population)),
        tuple(TooLong(*_of(one), len(one.content)) for one in population.too_long),
        population.damaged,
        tuple(syntheses.undecided()),
        tuple(windows.plan()) if options.model_key is not None else (),
    )


def _settled(proposals: Iterable[Proposal]) -> set[str]:
    """Return the memories that are superseded whatever a model says."""
    return {one for each in proposals if not each.waits for one in each.leaving}


def _suspicious(population: Population) -> Iterator[Suspicion]:
    for memory in (*population.memories, *population.derived):
        if memory.status == "active" and memory.id in population.orders:
            yield Suspicion(*_of(memory), population.orders[memory.id][0])


def _of(memory: Memory) -> tuple[str, str]:
    return memory.id, memory.tenant
