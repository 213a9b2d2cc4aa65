"""Groups of vectors: what belongs together, and what is kept apart inside a group."""

from __future__ import annotations

from random import Random

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray
from scipy.cluster.hierarchy import fcluster, linkage

from slowwave.consolidation.clustering import groups as clusters
from slowwave.consolidation.clustering.groups import find_groups, split_group
from slowwave.consolidation.clustering.neighbours import similar_pairs
from slowwave.consolidation.thresholds import CONTESTED_MARGIN, LARGEST_GROUP

Vectors = NDArray[np.float32]


def scattered(count: int, seed: int, spread: float = 0.35, dimensions: int = 8) -> Vectors:
    """Return unit vectors scattered around a few middles."""
    random = np.random.default_rng(seed)
    middles = random.normal(size=(max(1, count // 6), dimensions))
    vectors = middles[random.integers(len(middles), size=count)]
    vectors = vectors + spread * random.normal(size=(count, dimensions))
    return (vectors / np.linalg.norm(vectors, axis=1, keepdims=True)).astype(np.float32)


def average_linkage(vectors: Vectors, similarity: float) -> list[list[int]]:
    """Return the groups of average linkage over everything, by scipy alone."""
    tree = linkage(vectors.astype(np.float64), method="average", metric="cosine")
    labels = fcluster(tree, t=1.0 - similarity, criterion="distance")
    groups = [np.flatnonzero(labels == label).tolist() for label in np.unique(labels)]
    return sorted(group for group in groups if len(group) > 1)


@st.composite
def contested(draw: st.DrawFn) -> tuple[Vectors, set[tuple[int, int]]]:
    """Return the similarities of a few vectors, and the pairs of them that are in conflict."""
    count = draw(st.integers(1, 9))
    vectors = scattered(count, draw(st.integers(0, 10_000)), spread=0.5)
    pairs = [(one, other) for other in range(count) for one in range(other)]
    conflicts = draw(st.sets(st.sampled_from(pairs))) if pairs else set()
    return vectors @ vectors.T, conflicts


def groups_of(vectors: Vectors, similarity: float) -> list[list[int]]:
    """Return the groups of some vectors."""
    return find_groups(vectors, similar_pairs(vectors, similarity), similarity)


def test_twins_are_a_group() -> None:
    assert groups_of(np.repeat(scattered(1, seed=1), 3, axis=0), 0.9) == [[0, 1, 2]]


@pytest.mark.parametrize("similarity", [0.5, 0.65, 0.8])
@pytest.mark.parametrize("seed", range(6))
def test_groups_are_those_of_average_linkage_over_everything(seed: int, similarity: float) -> None:
    vectors = scattered(120, seed)
    expected = average_linkage(vectors, similarity)
    assert groups_of(vectors, similarity) == expected
    assert expected


@pytest.mark.parametrize("seed", range(3))
def test_the_order_of_rows_plays_no_part_in_the_groups(seed: int) -> None:
    vectors = scattered(80, seed)
    order = np.random.default_rng(seed).permutation(len(vectors))
    groups = {frozenset(group) for group in groups_of(vectors, 0.65)}
    shuffled = {
        frozenset(int(order[row]) for row in group) for group in groups_of(vectors[order], 0.65)
    }
    assert shuffled == groups


@pytest.mark.parametrize("seed", range(3))
def test_what_is_connected_is_grouped_as_beside_everything_else(seed: int) -> None:
    # Small numbers of dimensions and values make ties, which lots decide.
    numbers = np.random.default_rng(seed).integers(-1, 2, (400, 5)).astype(np.float32)
    vectors = np.unique(numbers[np.any(numbers, axis=1)], axis=0)
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    vectors = np.random.default_rng(seed).permutation(vectors)[: 60 + 20 * seed]
    near = similar_pairs(vectors, 0.85)
    whole = find_groups(vectors, near, 0.85)
    apart = []
    for rows in near.connected():
        some = np.array(rows)
        groups = find_groups(vectors[some], near.among(some), 0.85)
        apart += [[rows[at] for at in group] for group in groups]
    assert sorted(apart) == whole
    assert whole


def test_what_lies_in_pairs_at_the_very_similarity_is_not_lost() -> None:
    pairs = np.array([[1.0, 0.0], [0.6, 0.8], [-1.0, 0.0], [-0.6, -0.8]], np.float32)
    assert groups_of(pairs, 0.6) == [[0, 1], [2, 3]]


@pytest.mark.parametrize("count", [0, 1, 2, 5])
def test_what_has_no_neighbour_is_in_no_group(count: int) -> None:
    assert groups_of(np.eye(5, dtype=np.float32)[:count], 0.5) == []


@pytest.mark.parametrize("spread", [0.0, 0.02, 0.3])
def test_no_group_is_too_large_to_split(spread: float) -> None:
    vectors = scattered(5, seed=2, spread=0.0)
    noise = spread * np.random.default_rng(4).normal(size=(400, vectors.shape[1]))
    crowd = vectors[0] + noise
    crowd = (crowd / np.linalg.norm(crowd, axis=1, keepdims=True)).astype(np.float32)
    groups = groups_of(crowd, 0.65)
    rows = [row for group in groups for row in group]
    assert max(map(len, groups)) <= LARGEST_GROUP
    assert len(rows) == len(set(rows))
    # Nothing that near to everything else is left alone.
    assert spread == 0.3 or len(rows) == 400


@pytest.mark.parametrize("spread", [0.0, 0.1, 0.6])
def test_a_group_that_is_too_large_is_cut_at_higher_similarities(
    spread: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(clusters, "LARGEST_GROUP", 4)
    vectors = scattered(300, seed=5, spread=spread, dimensions=4)
    groups = groups_of(vectors, 0.5)
    rows = [row for group in groups for row in group]
    assert groups == sorted(groups)
    assert max(map(len, groups)) <= 4
    assert len(rows) == len(set(rows)) >= 100
    for group in groups:
        cosines = vectors[group] @ vectors[group].T
        assert cosines[np.triu_indices(len(group), k=1)].mean() >= 0.5 - 1e-6


@given(contested(), st.sampled_from([0.2, 0.5, 0.8]))
def test_no_two_in_conflict_share_a_part_and_each_part_holds_together(
    group: tuple[Vectors, set[tuple[int, int]]], similarity: float
) -> None:
    similarities, conflicts = group
    parts = split_group(similarities, similarity, lambda one, other: (one, other) in conflicts)
    assert sorted(row for part in parts for row in part) == list(range(len(similarities)))
    for part in parts:
        pairs = [(one, other) for one in part for other in part if one < other]
        assert not conflicts.intersection(pairs)
        if pairs:
            mean = np.mean([similarities[pair] for pair in pairs])
            assert mean >= similarity - 1e-6


@given(contested(), st.randoms())
def test_the_order_of_members_plays_no_part_in_the_parts(
    group: tuple[Vectors, set[tuple[int, int]]], chance: Random
) -> None:
    similarities, conflicts = group
    order = chance.sample(range(len(similarities)), len(similarities))
    parts = split_group(similarities, 0.5, lambda one, other: (one, other) in conflicts)
    shuffled = split_group(
        similarities[np.ix_(order, order)],
        0.5,
        lambda one, other: tuple(sorted((order[one], order[other]))) in conflicts,
    )
    assert {frozenset(order[row] for row in part) for part in shuffled} == {
        frozenset(part) for part in parts
    }


def test_a_group_without_conflict_stays_whole() -> None:
    assert split_group(np.full((4, 4), 0.9, np.float32), 0.65, lambda one, other: False) == [
        [0, 1, 2, 3]
    ]


@pytest.mark.parametrize(
    ("nearer", "parts"),
    [(CONTESTED_MARGIN * 2, [[0, 2], [1]]), (CONTESTED_MARGIN / 2, [[0], [1], [2]])],
)
def test_what_fits_two_in_conflict_joins_the_one_it_is_clearly_nearer_to_or_neither(
    nearer: float, parts: list[list[int]]
) -> None:
    similarities = np.ones((3, 3), np.float32)
    similarities[0, 1] = similarities[1, 0] = 0.95
    similarities[0, 2] = similarities[2, 0] = 0.8 + nearer
    similarities[1, 2] = similarities[2, 1] = 0.8
    assert split_group(similarities, 0.65, lambda one, other: (one, other) == (0, 1)) == parts
