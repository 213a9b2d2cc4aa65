"""Proposals to merge: what says the same, for certain."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from slowwave.consolidation.proposals import Proposal

from .near_pairs import NearPair, Rank
from .same_groups import groups_of_same
from .tenant_planner import TenantPlanner


def propose_merges(
    planner: TenantPlanner, pairs: Sequence[NearPair], rank: Rank
) -> Iterator[Proposal]:
    """Propose what says the same."""
    for survivor, *others in groups_of_same(planner.view, pairs, rank):
        leaving = [row for row in others if planner.may_leave(row)]
        if leaving:
            planner.used.update(leaving)
            yield from planner.propose(
                "merge",
                planner.ids([survivor, *leaving]),
                planner.ids(leaving),
                f"{len(leaving) + 1} memories say the same",
                survivor=planner.id(survivor),
            )
