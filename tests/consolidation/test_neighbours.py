"""Which vectors are near each other: every pair once, by every method."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from slowwave.consolidation.clustering import blocks as comparing
from slowwave.consolidation.clustering import neighbours
from slowwave.consolidation.clustering.clusters import join_near, run_dbscan
from slowwave.consolidation.clustering.forest import StoredForest, sign_of, spanning_forest
from slowwave.consolidation.clustering.neighbours import STEP, Neighbours, similar_pairs
from slowwave.consolidation.runtime.threads import in_threads

Vectors = NDArray[np.float32]
Pairs = dict[tuple[int, int], int]


def scattered(count: int, seed: int, spread: float = 0.35, dimensions: int = 8) -> Vectors:
    """Return unit vectors scattered around a few centers."""
    random = np.random.default_rng(seed)
    centers = random.normal(size=(max(1, count // 6), dimensions))
    vectors = centers[random.integers(len(centers), size=count)]
    vectors = vectors + spread * random.normal(size=(count, dimensions))
    return (vectors / np.linalg.norm(vectors, axis=1, keepdims=True)).astype(np.float32)


def coarse(count: int, seed: int = 8, dimensions: int = 8) -> Vectors:
    """Return unit vectors many of which are equally near."""
    vectors = np.rint(3 * scattered(count, seed, dimensions=dimensions)).astype(np.float32) + 0.25
    return np.asarray(vectors / np.linalg.norm(vectors, axis=1, keepdims=True))


def pairs_of(graph: Neighbours) -> Pairs:
    """Return the pairs of a graph with their similarity in steps."""
    ends = zip(graph.left.tolist(), graph.right.tolist(), strict=True)
    return dict(zip(ends, graph.steps.tolist(), strict=True))


def true_pairs(vectors: Vectors, similarity: float) -> Pairs:
    """Return the same pairs, computed by one product in double precision."""
    exact = vectors.astype(np.float64)
    steps = np.rint(exact @ exact.T / STEP).astype(int)
    pairs = np.argwhere(np.triu(steps >= round(similarity / STEP), k=1))
    return {(first, second): int(steps[first, second]) for first, second in pairs.tolist()}


@pytest.fixture
def small_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    """Shrink blocks, so that a few rows fill many."""
    monkeypatch.setattr(comparing, "BLOCK", 16)


@pytest.mark.usefixtures("small_blocks")
@pytest.mark.parametrize("count", [0, 1, 15, 16, 17, 33, 48, 64])
def test_the_graph_has_exactly_the_pairs_above_the_similarity(count: int) -> None:
    vectors = scattered(count, seed=count)
    graph = similar_pairs(vectors, 0.6)
    assert pairs_of(graph) == true_pairs(vectors, 0.6)


def test_the_order_of_rows_changes_no_similarity() -> None:
    vectors = scattered(2_000, seed=9, dimensions=384)
    order = np.random.default_rng(9).permutation(len(vectors))
    graph, shuffled = similar_pairs(vectors, 0.3), similar_pairs(vectors[order], 0.3)
    ends = np.sort(np.stack([order[shuffled.left], order[shuffled.right]]), axis=0)
    pairs = zip(ends[0].tolist(), ends[1].tolist(), strict=True)
    assert dict(zip(pairs, shuffled.steps.tolist(), strict=True)) == pairs_of(graph)
    assert len(graph) > 1_000


@pytest.mark.usefixtures("small_blocks")
@pytest.mark.parametrize("fresh", [[], [0], [59], [3, 4, 17, 40], list(range(60))])
def test_only_pairs_with_fresh_rows_are_compared(fresh: list[int]) -> None:
    vectors = scattered(60, seed=1)
    graph = similar_pairs(vectors, 0.5, fresh=np.array(fresh, dtype=np.intp))
    expected = {
        pair: steps
        for pair, steps in true_pairs(vectors, 0.5).items()
        if not set(fresh).isdisjoint(pair)
    }
    assert pairs_of(graph) == expected


@pytest.mark.slow
@pytest.mark.parametrize("similarity", [0.6, 0.8])
def test_cells_find_nearly_all_pairs_and_no_wrong_one(
    similarity: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(neighbours, "CELLS_FROM", 0)
    monkeypatch.setattr(comparing, "CELL", 40)
    monkeypatch.setattr(comparing, "PROBES", 8)
    vectors = scattered(2_000, seed=2, dimensions=32, spread=0.1)
    pairs, true = pairs_of(similar_pairs(vectors, similarity)), true_pairs(vectors, similarity)
    assert pairs.items() <= true.items()
    assert len(pairs) >= 0.999 * len(true) > 1_000


def test_rows_of_a_part_are_renumbered() -> None:
    vectors = scattered(50, seed=6)
    chosen = np.array([2, 3, 11, 30, 31, 49], dtype=np.intp)
    forest = spanning_forest(similar_pairs(vectors, 0.2))
    assert pairs_of(forest.among(chosen)) == {
        (chosen.tolist().index(left), chosen.tolist().index(right)): steps
        for (left, right), steps in pairs_of(forest).items()
        if {left, right} <= set(chosen.tolist())
    }


def test_threads_start_no_work_that_is_not_consumed() -> None:
    begun: list[int] = []

    def work(item: int) -> int:
        begun.append(item)
        return item

    answers = in_threads(work, range(1_000))
    assert [next(answers) for _ in range(3)] == [0, 1, 2]
    answers.close()  # type: ignore[attr-defined]  # it is a generator
    assert len(begun) < 100


# What a forest is asked for: texts by number, the same number being the same text and vector.
Nights = Sequence[Sequence[int]]


def forest_of(texts: Sequence[int], vectors: Vectors, stored: StoredForest) -> Neighbours:
    """Return the neighbors of texts, found by extending a stored forest."""
    chosen = vectors[np.array(texts, dtype=np.intp)]
    signs = [sign_of(f"text {text}", vectors[text]) for text in texts]
    return stored.extend(signs, chosen, 0.3, lambda: similar_pairs(chosen, 0.3))


@given(st.lists(st.permutations(range(40)), min_size=1, max_size=6), st.data())
def test_a_grown_forest_has_the_clusters_of_dbscan(orders: Nights, data: st.DataObject) -> None:
    vectors = coarse(40, dimensions=4)
    content = b""
    for order in orders:
        # Hardly any text comes or goes, or half of them do.
        texts = order[: data.draw(st.sampled_from([1, 20, 36, 39, 40]))]
        stored = StoredForest(content)
        grown = forest_of(texts, vectors, stored)
        assert pairs_of(grown) == pairs_of(forest_of(texts, vectors, StoredForest()))
        near = similar_pairs(vectors[np.array(texts)], 0.3)
        for eps in (0.1, 0.4, 0.7):
            scanned = run_dbscan(near, eps).tolist()
            assert join_near(grown, eps).tolist() == scanned
            assert run_dbscan(spanning_forest(near), eps).tolist() == scanned
        content = stored.taken() or content
        assert stored.taken() is None


def test_the_forest_of_many_pairs_joins_nearest_rows_first() -> None:
    pairs = pairs_of(near := similar_pairs(coarse(150, seed=4), 0.0))
    tree = list(range(150))
    expected: Pairs = {}
    for pair in sorted(pairs, key=lambda pair: (-pairs[pair], pair)):
        left, right = (tree[row] for row in pair)
        if left != right:
            expected[pair] = pairs[pair]
            tree = [left if label == right else label for label in tree]
    assert len(near) > 40 * len(tree)
    assert pairs_of(spanning_forest(near)) == expected


def test_a_stored_forest_is_extended_or_rebuilt_if_damaged() -> None:
    # Four texts in a chain, and four far from them.
    angles = np.radians([0, 20, 40, 60, 180, 185, 190, 195])
    vectors = np.stack([np.cos(angles), np.sin(angles)], axis=1).astype(np.float32)
    stored = StoredForest()
    forest_of(range(8), vectors, stored)
    assert not stored.is_grown
    content = stored.taken() or b""
    pairs = pairs_of(forest_of([0, 2, 3, 4, 5, 6, 7], vectors, grown := StoredForest(content)))
    assert pairs == {(0, 1): 7660, (1, 2): 9397} | dict.fromkeys([(3, 4), (4, 5), (5, 6)], 9962)
    assert grown.is_grown
    for damaged in (content[:-9], content[2:], b"\x00" + content[1:], b"x"):
        again = StoredForest(damaged)
        assert pairs_of(forest_of(range(8), vectors, again)) == pairs_of(
            forest_of(range(8), vectors, StoredForest(content))
        )
        assert not again.is_grown
