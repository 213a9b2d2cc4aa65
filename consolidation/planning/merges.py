"""Proposals to merge: what says the same, and near pairs of which only a model can tell."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from slowwave.consolidation.proposals import Proposal

from .estimates import shared_by_each
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


def propose_judgements(planning: Planning, pairs: Sequence[NearPair]) -> Iterator[Proposal]:
    """Propose near pairs that only a model can call the same, where there is one."""
    if planning.options.extractive:
        return
    proposals = list(_undecided(planning, pairs))
    asked = sum(one.id not in planning.options.remembered for one in proposals)
    for one in proposals:
        yield replace(one, estimated_tokens=one.estimated_tokens + shared_by_each(asked))


def _undecided(planning: Planning, pairs: Sequence[NearPair]) -> Iterator[Proposal]:
    for pair in pairs:
        rows = [pair.left, pair.right]
        open_rows = all(planning.is_open(row) and row not in planning.ruled for row in rows)
        if pair.different or not open_rows or not all(map(planning.may_leave, rows)):
            continue
        planning.used.update(rows)
        ids = planning.ids(rows)
        yield planning.proposal("merge", ids, ids, "2 memories may say the same")
