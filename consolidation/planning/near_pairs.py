"""Candidates for a merge: memories that say the same, and the near pairs that do not."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import combinations, zip_longest
from typing import Any

from msgspec import Struct
from msgspec.json import Decoder

from slowwave.consolidation.clustering.pair_order import order_pairs_by_text
from slowwave.consolidation.comparison.guards import gravest_objection
from slowwave.consolidation.comparison.objections import Objection
from slowwave.consolidation.proposals import Refusal
from slowwave.consolidation.snapshot.tenant_view import TenantView
from slowwave.consolidation.thresholds import MOST_NEAR, PAIR_SIMILARITY, TWIN_SIMILARITY

# The order in which rows survive: lower first.
Rank = Callable[[int], Any]

_OBJECTION: Decoder[Objection | None] = Decoder(Objection | None)


class NearPair(Struct, frozen=True, gc=False):
    """Two rows with a similarity of at least `PAIR_SIMILARITY`, and the gravest objection."""

    left: int
    right: int
    similarity: float
    objection: Objection | None

    @property
    def same(self) -> bool:
        """Whether the two say the same for certain."""
        return self.objection is None

    @property
    def conflicting(self) -> bool:
        """Whether the two must stay two until a model or a person knows better."""
        return self.objection is not None and self.objection.conflict


def near_pairs(view: TenantView, rank: Rank) -> list[NearPair]:
    """Return the near pairs of active memories, most similar first.

    Of memories with one text the first by rank stands for all; those that were stored with other
    names make pairs of their own.
    """
    import numpy as np

    classes = text_classes(view, rank)
    active = np.zeros(len(view.rows_of), dtype=bool)
    active[list(classes)] = True
    near = view.neighbours.at_least(PAIR_SIMILARITY)
    near = near.chosen(active[near.left] & active[near.right]).nearest(MOST_NEAR)
    found = [
        (similarity, *sorted((classes[left][0][0], classes[right][0][0])))
        for left, right, similarity in zip(
            near.left.tolist(), near.right.tolist(), near.similarities.tolist(), strict=True
        )
    ]
    for twins in classes.values():
        if len(twins) > 1:
            firsts = sorted(rows[0] for rows in twins)
            found += [(1.0, *pair) for pair in combinations(firsts, 2)]
    found.sort(key=lambda one: (-round(one[0], 6), one[1], one[2]))
    objections = _objections_of_texts(view, [(left, right) for _, left, right in found])
    return [
        NearPair(left, right, similarity, objection or _objection_beside(view, left, right))
        for (similarity, left, right), objection in zip(found, objections, strict=True)
    ]


def text_classes(view: TenantView, rank: Rank) -> dict[int, list[list[int]]]:
    """Return the active rows of each text by rank, those with the same other names together."""
    twins: dict[int, list[list[int]]] = {}
    for text, rows in enumerate(view.rows_of):
        active = [row for row in rows if view.memories[row].status == "active"]
        if len(active) == 1:
            twins[text] = [active]
        elif active:
            classes: dict[frozenset[str], list[int]] = {}
            for row in sorted(active, key=rank):
                classes.setdefault(frozenset(_names_beyond_text(view, row)), []).append(row)
            twins[text] = list(classes.values())
    return twins


def refusals(view: TenantView, pairs: Sequence[NearPair]) -> list[Refusal]:
    """Return the near pairs that a guard keeps apart, most similar first, for the report.

    A mere addition counts where the two would have been merged without it.
    """
    return [
        Refusal(
            "merge",
            (view.memories[pair.left].id, view.memories[pair.right].id),
            pair.objection.guard,
            pair.objection.why,
            view.tenant,
        )
        for pair in pairs
        if pair.objection is not None and (pair.conflicting or pair.similarity >= TWIN_SIMILARITY)
    ]


def _objections_of_texts(
    view: TenantView, pairs: Sequence[tuple[int, int]]
) -> list[Objection | None]:
    """Return what the texts of each pair of rows have against being one."""

    def work_out(places: Sequence[int]) -> list[Objection | None]:
        # A text is read once for all of its pairs.
        left, right = (view.text_of[[pairs[at][end] for at in places]] for end in (0, 1))
        order = order_pairs_by_text(left, right, len(view.rows_of)).tolist()
        made = {at: _objection_of_texts(view, *pairs[places[at]]) for at in order}
        return [made[at] for at in range(len(places))]

    hashes = [[view.memories[row].content_hash for row in pair] for pair in pairs]
    return view.cache.compute_unknown("pair", hashes, _OBJECTION, work_out)


def _objection_beside(view: TenantView, left: int, right: int) -> Objection | None:
    """Return what else speaks against two rows being one: what a person did, and other names."""
    if was_taken_apart(view, left, right):
        return Objection("restored", "restored by hand", "the memory that replaced it")
    names, others_names = (_names_beyond_text(view, row) for row in (left, right))
    if names == others_names:
        return None
    left_only, right_only = (
        ", ".join(sorted(part)) for part in (names - others_names, others_names - names)
    )
    return Objection("entity", left_only, right_only, conflict=False)


def _objection_of_texts(view: TenantView, left: int, right: int) -> Objection | None:
    here, there = view.memories[left], view.memories[right]
    if here.id in view.dense or there.id in view.dense:
        return _differing_line(here.content, there.content)
    one, other = view.reading(left), view.reading(right)
    return gravest_objection(one, other)


def _differing_line(one: str, other: str) -> Objection | None:
    """Object to any two texts that are not the same to the letter, but for blanks at ends of lines.

    An order, a capital or a blank in front of a line means nothing in a sentence, and much in code.
    """
    lines, others = (
        [line.rstrip() for line in text.strip("\n").splitlines()] for text in (one, other)
    )
    pairs = zip_longest(lines, others, fillvalue="")
    return next((Objection("letter", *pair) for pair in pairs if pair[0] != pair[1]), None)


def was_taken_apart(view: TenantView, left: int, right: int) -> bool:
    """Whether a person restored one of two rows from a memory made of the other."""
    here, there = (view.memories[row].id for row in (left, right))
    return (here, there) in view.taken_apart


def _names_beyond_text(view: TenantView, row: int) -> set[str]:
    """Return the entities that a memory was stored with, and that its text does not mention.

    What the text names is compared with the text: "k8s" and "Kubernetes" are one.
    """
    memory = view.memories[row]
    named = {name.casefold() for name in view.features(memory).names}
    return {name.casefold() for name in view.entities.get(memory.id, ())} - named
