"""Groups of memories about one thing, as syntheses and updates are made of them."""

from __future__ import annotations

from functools import cached_property
from itertools import permutations

from msgspec.json import Decoder

from slowwave.consolidation import thresholds
from slowwave.consolidation.comparison.coverage_guards import first_blocking_conflict
from slowwave.consolidation.updates.replacements import Updates, find_updates
from slowwave.consolidation.updates.search import NOTHING, Search

from .dated_memories import dated_memories
from .tenant_planner import TenantPlanner

_SEARCH = Decoder(Search)


class TopicGroups:
    """What is about one thing, and what of it stands against each other.

    Asked for when merges and rules are planned: what became part of those is out of it.
    """

    def __init__(self, planner: TenantPlanner) -> None:
        """Take the planner of the tenant, with what is planned so far."""
        self._planner = planner

    @cached_property
    def groups(self) -> list[list[int]]:
        """Groups of rows about one thing, rules aside."""
        planner = self._planner
        rows = [row for row in planner.readable if row not in planner.ruled]
        return list(planner.groups(rows, thresholds.SYNTHESIZE_SIMILARITY, first_blocking_conflict))

    @cached_property
    def group_of(self) -> dict[int | None, int]:
        """The number of the group that each row is in."""
        return {row: number for number, group in enumerate(self.groups) for row in group}

    @cached_property
    def found(self) -> Updates:
        """What replaces what, and what stands against each other, as far as texts tell."""
        planner, view = self._planner, self._planner.view
        dated = dated_memories(
            view,
            lambda row: planner.is_open(row) and row not in planner.ruled,
            lambda memory: view.features(memory).sentences,
        )
        # Of two memories that were compared in an earlier night it is known.
        earlier = view.cache.last("search", view.tenant, _SEARCH) or NOTHING
        found = find_updates(dated, planner.may_be_replaced, earlier)
        view.cache.note("search", view.tenant, found.search)
        return found

    @cached_property
    def opponents(self) -> dict[str, set[str]]:
        """The memories that each one stands against, by their ids."""
        opponents: dict[str, set[str]] = {}
        for conflict in self.found.conflicts:
            for one, other in permutations(conflict.sources):
                opponents.setdefault(one, set()).add(other)
        return opponents
