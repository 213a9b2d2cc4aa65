"""Candidates for a merge: memories that say the same, and the near pairs that do not."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import datetime

from .entities import names_in
from .guards import Objection, certain_conflict, first_conflict, first_difference
from .neighbours import similar_pairs
from .population import Population
from .proposals import Refusal
from .thresholds import PAIR_SIMILARITY, TWIN_SIMILARITY


@dataclass(frozen=True)
class NearPair:
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
    def different(self) -> bool:
        """Whether the two must stay two, whatever a model says."""
        return self.conflicting and self.objection is not None and not self.objection.doubtful

    @property
    def conflicting(self) -> bool:
        """Whether the two must stay two as long as nobody knows better."""
        return self.objection is not None and self.objection.conflict


def near_pairs(population: Population) -> list[NearPair]:
    """Give the near pairs of active memories, most similar first."""
    import numpy as np
    from scipy.sparse import triu

    active = [at for at, one in enumerate(population.memories) if one.status == "active"]
    if len(active) < 2:
        return []
    graph = triu(similar_pairs(population.vectors[np.array(active)], PAIR_SIMILARITY)).tocoo()
    pairs = [
        _pair(population, active[left], active[right], 1.0 - float(distance))
        for left, right, distance in zip(graph.row, graph.col, graph.data, strict=True)
    ]
    return sorted(pairs, key=lambda pair: (-round(pair.similarity, 6), pair.left, pair.right))


def groups_of_same(
    population: Population, pairs: list[NearPair], may_leave: Callable[[int], bool]
) -> Iterator[list[int]]:
    """Give groups in which every two memories say the same, each with its survivor first.

    The survivor is one that may not leave, else the most trusted one; of equals a human's, then
    one that already stands for others, so that lineage does not grow by a step a night; then the
    newest.
    """
    same = {(pair.left, pair.right) for pair in pairs if pair.same}
    same |= {(right, left) for left, right in same}
    standing = {edge.derived_id for edge in population.edges if edge.operation == "merge"}

    def rank(row: int) -> tuple[bool, float, bool, bool, float, str]:
        memory = population.memories[row]
        newest = -datetime.fromisoformat(memory.observed_at).timestamp()
        return (
            may_leave(row),
            -memory.trust,
            memory.origin != "human",
            memory.id not in standing,
            newest,
            memory.id,
        )

    waiting = sorted({row for pair in same for row in pair}, key=rank)
    while waiting:
        group = [waiting.pop(0)]
        for row in waiting[:]:
            if all((row, member) in same for member in group):
                group.append(row)
                waiting.remove(row)
        if len(group) > 1:
            yield group


def refusals(population: Population, pairs: list[NearPair]) -> list[Refusal]:
    """Give the near pairs that a guard keeps apart, most similar first, for the report.

    A mere addition counts where the two would have been merged without it.
    """
    return [
        Refusal(
            "merge",
            (population.memories[pair.left].id, population.memories[pair.right].id),
            pair.objection.guard,
            pair.objection.why,
        )
        for pair in pairs
        if pair.objection is not None and (pair.conflicting or pair.similarity >= TWIN_SIMILARITY)
    ]


def _pair(population: Population, left: int, right: int, similarity: float) -> NearPair:
    return NearPair(left, right, similarity, _objection(population, left, right))


def _objection(population: Population, left: int, right: int) -> Objection | None:
    one, other = population.reading(left), population.reading(right)
    objection = (
        certain_conflict(one, other) or first_conflict(one, other) or first_difference(one, other)
    )
    if objection is not None:
        return objection
    here, there = (population.memories[row].id for row in (left, right))
    if (here, there) in population.taken_apart:
        return Objection("restored", "restored by hand", "the memory that replaced it")
    names, others = (_told_besides(population, row) for row in (left, right))
    if names == others:
        return None
    left_only, right_only = (", ".join(sorted(part)) for part in (names - others, others - names))
    return Objection("entity", left_only, right_only, conflict=False)


def _told_besides(population: Population, row: int) -> set[str]:
    """Give the entities that whoever stored a memory named, and its text does not.

    What the text names is compared with the text: "k8s" and "Kubernetes" are one.
    """
    memory = population.memories[row]
    named = {name.casefold() for name in names_in(memory.content)}
    return {name.casefold() for name in population.entities.get(memory.id, ())} - named
