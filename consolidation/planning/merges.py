"""Proposals to merge: what says the same or is covered leaves, and one memory stays as it is."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from datetime import datetime

from slowwave.consolidation.proposals import Proposal
from slowwave.consolidation.snapshot.tenant_view import TenantView

from .near_pairs import NearPair, Rank, text_classes, was_taken_apart
from .tenant_planner import TenantPlanner


def propose_same(
    planner: TenantPlanner, pairs: Sequence[NearPair], rank: Rank
) -> Iterator[Proposal]:
    """Propose to merge what says the same, for certain."""
    for survivor, *others in _groups_of_same(planner.view, pairs, rank):
        leaving = [row for row in others if planner.may_leave(row)]
        if leaving:
            yield from _merge(planner, survivor, leaving, "memories say the same")


def propose_covered(
    planner: TenantPlanner, survivor: int, leaving: Sequence[int]
) -> Iterator[Proposal]:
    """Propose that some rows leave for one that says all that they say."""
    reason = "memories, of which one says all that the others say"
    yield from _merge(planner, survivor, leaving, reason)


def by_rank(view: TenantView, may_leave: Callable[[int], bool]) -> Rank:
    """Return the order in which memories survive those that say the same.

    First one that may not leave, else the most trusted one; of equals a human's, then one that
    already stands for others, so that lineage does not grow by a step a night; then one that says
    it plainly, without "User said that" in front; then the newest.
    """
    survivors = {edge.derived_id for edge in view.edges if edge.operation == "merge"}

    def rank(row: int) -> tuple[bool, float, bool, bool, bool, float, str]:
        memory = view.memories[row]
        newest = -datetime.fromisoformat(memory.observed_at).timestamp()
        return (
            may_leave(row),
            -memory.trust,
            memory.origin != "human",
            memory.id not in survivors,
            view.reading(row).announced,
            newest,
            memory.id,
        )

    return rank


def _merge(
    planner: TenantPlanner, survivor: int, leaving: Sequence[int], reason: str
) -> Iterator[Proposal]:
    planner.used.update(leaving)
    first, *others = planner.ids([survivor, *leaving])
    counted = f"{len(leaving) + 1} {reason}"
    yield from planner.propose("merge", [first, *others], others, counted, survivor=first)


def _groups_of_same(view: TenantView, pairs: Sequence[NearPair], rank: Rank) -> Iterator[list[int]]:
    """Yield groups in which every two memories say the same, each with its survivor first."""
    classes = {rows[0]: rows for twins in text_classes(view, rank).values() for rows in twins}
    same: dict[int, set[int]] = {}
    for pair in pairs:
        if pair.same:
            same.setdefault(pair.left, set()).add(pair.right)
            same.setdefault(pair.right, set()).add(pair.left)
    several = (first for first, rows in classes.items() if len(rows) > 1)
    grouped: set[int] = set()
    for first in sorted({*same, *several}, key=rank):
        if first in grouped:
            continue
        members = [first]
        for other in sorted(same.get(first, set()) - grouped, key=rank):
            if all(other in same[member] for member in members):
                members.append(other)
        grouped.update(members)
        group: list[int] = []
        for row in sorted((row for member in members for row in classes[member]), key=rank):
            if not any(was_taken_apart(view, row, member) for member in group):
                group.append(row)
        if len(group) > 1:
            yield group
