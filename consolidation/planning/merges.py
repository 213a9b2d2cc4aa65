"""Proposals to merge: what says the same, for certain."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from slowwave.consolidation.proposals import Proposal

from .near_pairs import NearPair, Rank, groups_of_same
from .state import Planning


def propose_merges(planning: Planning, pairs: Sequence[NearPair], rank: Rank) -> Iterator[Proposal]:
    """Propose what says the same."""
    for survivor, *others in groups_of_same(planning.population, pairs, rank):
        leaving = [row for row in others if planning.may_leave(row)]
        if leaving:
            planning.used.update(leaving)
            yield planning.proposal(
                "merge",
                planning.ids([survivor, *leaving]),
                planning.ids(leaving),
                f"{len(leaving) + 1} memories say the same",
                survivor=planning.id(survivor),
            )
