"""Proposals to merge a memory into another one that covers it: that says all that it says."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import product

from msgspec.json import Decoder

from slowwave.consolidation import thresholds
from slowwave.consolidation.proposals import Proposal

from .composition import already_says, richness
from .merges import propose_covered
from .tenant_planner import TenantPlanner
from .topic_groups import TopicGroups

# What a memory tells, and whether one says all that another says, hangs on their texts alone.
_RICHNESS = Decoder(int)
_COVERS = Decoder(bool)


class CoveredMerges:
    """Merges of covered memories: those that leave because one that stays says all they say.

    Asked of near neighbours, not of groups: who tells a thing in passing may be about another.
    """

    def __init__(self, planner: TenantPlanner, topic_groups: TopicGroups) -> None:
        """Take the planner of the tenant, with what is planned so far."""
        self._planner = planner
        self._view = planner.view
        self._topic_groups = topic_groups

    def propose(self) -> Iterator[Proposal]:
        """Propose merges into what stays.

        From the richest on: each memory leaves for one that was asked before it, or stays. What
        tells one that tells it tells it, too: so it goes where that one went.
        """
        planner = self._planner
        near = self._near()
        into: dict[int, list[int]] = {}
        survivor_of: dict[int, int] = {}
        for row in self._richest_first(near):
            covering = [one for one in near[row] if one in survivor_of]
            survivor = self._survivor(row, covering, survivor_of) if planner.may_leave(row) else row
            survivor_of[row] = survivor
            if survivor != row:
                into.setdefault(survivor, []).append(row)
        for survivor, leaving in into.items():
            for part in _parts(leaving, thresholds.MOST_SOURCES - 1):
                yield from propose_covered(planner, survivor, part)

    def _near(self) -> dict[int, list[int]]:
        """Return the open rows near each open row, the nearest first, as many as are looked at."""
        import numpy as np

        planner, view = self._planner, self._view
        rows = {one for one in planner.readable if planner.is_open(one)} - planner.ruled
        open_rows = [[row for row in of_text if row in rows] for of_text in view.rows_of]
        open_texts = np.array(list(map(bool, open_rows)), dtype=bool)
        pairs = view.neighbours.at_least(thresholds.SYNTHESIZE_SIMILARITY)
        pairs = pairs.chosen(open_texts[pairs.left] & open_texts[pairs.right])
        pairs = pairs.nearest(thresholds.MOST_NEAR)
        near: dict[int, list[tuple[int, int]]] = {}
        columns = (column.tolist() for column in (pairs.left, pairs.right, pairs.steps))
        for left, right, step in zip(*columns, strict=True):
            for one, other in product(open_rows[left], open_rows[right]):
                near.setdefault(one, []).append((-step, other))
                near.setdefault(other, []).append((-step, one))
        return {row: [other for _, other in sorted(found)] for row, found in near.items()}

    def _richest_first(self, near: dict[int, list[int]]) -> list[int]:
        """Return rows in the order in which it is decided whether they stay."""
        planner, view = self._planner, self._view

        def order(row: int) -> tuple[bool, int, str, str]:
            memory = view.memories[row]
            rich = view.cache.get_or_compute(
                "richness",
                [memory.content_hash],
                _RICHNESS,
                lambda: richness(view.source(row)),
            )
            return planner.may_leave(row), -rich, memory.observed_at, memory.id

        return sorted(near, key=order)

    def _survivor(self, row: int, covering: Sequence[int], survivor_of: Mapping[int, int]) -> int:
        """Find what a memory leaves for: where one that tells it went; itself if none does."""
        planner = self._planner
        against = self._topic_groups.opponents.get(planner.id(row), set())
        for one in covering:
            survivor = survivor_of[one]
            # What nothing but their words can keep from telling it.
            may_cover = planner.id(survivor) not in against and planner.may_stand_for(survivor, row)
            if may_cover and self._covers(one, row):
                return survivor
        return row

    def _covers(self, covering: int, row: int) -> bool:
        view = self._view
        return view.cache.get_or_compute(
            "covers",
            [view.memories[one].content_hash for one in (covering, row)],
            _COVERS,
            lambda: already_says(
                view.source(covering), view.source(row), self._planner.coverage.find_covering
            ),
        )


def _parts(rows: list[int], most: int) -> list[list[int]]:
    return [rows[start : start + most] for start in range(0, len(rows), most)]
