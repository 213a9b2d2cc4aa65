"""Proposals to merge: what says the same, and near pairs of which only a model can tell."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from slowwave.consolidation.proposals import Proposal

from .estimates import shared_by_each
from .near_pairs import NearPair, Rank, groups_of_same
from .tenant_planner import TenantPlanner


def propose_merges(
    planner: TenantPlanner, pairs: Sequence[NearPair], rank: Rank
) -> Iterator[Proposal]:
    """Propose what says the same."""
    for survivor, *others in groups_of_same(planner.population, pairs, rank):
        leaving = [row for row in others if planner.may_leave(row)]
        if leaving:
            planner.used.update(leaving)
            yield planner.proposal(
                "merge",
                planner.ids([survivor, *leaving]),
                planner.ids(leaving),
                f"{len(leaving) + 1} memories say the same",
                survivor=planner.id(survivor),
            )


def propose_judgements(planner: TenantPlanner, pairs: Sequence[NearPair]) -> Iterator[Proposal]:
    """Propose near pairs that only a model can call the same, where there is one."""
    if planner.options.extractive:
        return
    proposals = list(_undecided(planner, pairs))
    asked = sum(one.id not in planner.options.remembered for one in proposals)
    for one in proposals:
        yield replace(one, estimated_tokens=one.estimated_tokens + shared_by_each(asked))


def _undecided(planner: TenantPlanner, pairs: Sequence[NearPair]) -> Iterator[Proposal]:
    for pair in pairs:
        rows = [pair.left, pair.right]
        open_rows = all(planner.is_open(row) and row not in planner.ruled for row in rows)
        if pair.different or not open_rows or not all(map(planner.may_leave, rows)):
            continue
        planner.used.update(rows)
        ids = planner.ids(rows)
        yield planner.proposal("merge", ids, ids, "2 memories may say the same")
