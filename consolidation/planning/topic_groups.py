"""Groups of memories about one thing, as syntheses and updates are made of them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cached_property, partial
from itertools import permutations

from msgspec.json import Decoder

from slowwave.consolidation.clustering.groups import find_groups, split_group
from slowwave.consolidation.clustering.neighbours import Neighbours
from slowwave.consolidation.comparison.coverage_guards import first_blocking_conflict
from slowwave.consolidation.snapshot.tenant_view import TenantView
from slowwave.consolidation.text.reading import Reading
from slowwave.consolidation.thresholds import SYNTHESIZE_SIMILARITY
from slowwave.consolidation.updates.replacements import Updates, find_updates
from slowwave.consolidation.updates.search import NOTHING, Search

from .dated_memories import dated_memories
from .tenant_planner import TenantPlanner

# The groups within a connected set of texts, or the parts of a group, by places in it.
_PLACES = Decoder(list[list[int]])
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
        return list(_groups_of(planner.view, rows))

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


def _groups_of(view: TenantView, rows: Sequence[int]) -> Iterator[list[int]]:
    """Yield groups of rows about one thing, those with one text side by side.

    What hangs together is known by its texts and their vectors: only where something of it is new,
    or has gone, is it clustered again.
    """
    import numpy as np

    chosen = np.zeros(len(view.rows_of), dtype=bool)
    chosen[view.text_of[list(rows)]] = True
    near = view.neighbours.at_least(SYNTHESIZE_SIMILARITY)
    near = near.chosen(chosen[near.left] & chosen[near.right])
    connected = near.connected()

    def work_out(places: Sequence[int]) -> list[list[list[int]]]:
        return list(_clustered(view, near, [connected[place] for place in places]))

    known = view.cache.compute_unknown(
        "groups", [_signs(view, texts) for texts in connected], _PLACES, work_out
    )
    for texts, groups in zip(connected, known, strict=True):
        for group in groups:
            for part in _split(view, [texts[at] for at in group]):
                yield sorted(row for text in part for row in view.rows_of[text])


def _clustered(
    view: TenantView, near: Neighbours, connected: Sequence[Sequence[int]]
) -> Iterator[list[list[int]]]:
    """Yield the groups within each of some connected sets of texts, by places in that set."""
    import numpy as np

    inside = np.zeros(near.rows, dtype=bool)
    inside[[text for texts in connected for text in texts]] = True
    groups = find_groups(view.text_vectors, near.chosen(inside[near.left]), SYNTHESIZE_SIMILARITY)
    by_text = {group[0]: group for group in groups}
    for texts in connected:
        place_of = {text: place for place, text in enumerate(texts)}
        found = (by_text[text] for text in texts if text in by_text)
        yield [[place_of[text] for text in group] for group in found]


def _split(view: TenantView, group: list[int]) -> Iterator[list[int]]:
    """Split a group of texts where a guard finds a conflict."""

    def work_out() -> list[list[int]]:
        readings = [view.reading(view.rows_of[text][0]) for text in group]
        vectors = view.text_vectors[group]
        return split_group(
            vectors @ vectors.T, SYNTHESIZE_SIMILARITY, partial(_in_conflict, readings)
        )

    for part in view.cache.get_or_compute("split", _signs(view, group), _PLACES, work_out):
        yield [group[at] for at in part]


def _signs(view: TenantView, texts: Sequence[int]) -> list[str]:
    """Return what the cache knows some texts by: where they lie counts, too."""
    return [view.text_signs[text].hex() for text in texts]


def _in_conflict(readings: Sequence[Reading], one: int, other: int) -> bool:
    return first_blocking_conflict(readings[one], readings[other]) is not None
