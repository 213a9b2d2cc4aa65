"""Cluster similar texts with DBSCAN; split clusters until each fits into a window.

DBSCAN runs over the sparse graph of near texts. Its eps is wide, since restatements of one fact or
one rule may have a cosine of 0.30. It chains, so a cluster that does not fit is clustered again
with a smaller eps. Noise within a cluster joins its nearest part, so that each member of a wide
cluster is shown. Noise of the wide clustering is not shown.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from itertools import pairwise
from typing import TYPE_CHECKING

from slowwave.consolidation.thresholds import EPS_STEP

from .forest import components, spanning_forest
from .neighbours import Neighbours

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

# Returns the label of each row, given pairs and an eps, as `run_dbscan` does.
Scan = Callable[[Neighbours, float], "NDArray[np.int64]"]


def find_clusters(
    near: Neighbours, eps: float, sizes: Sequence[int], max_size: int, scan: Scan | None = None
) -> list[list[int]]:
    """Return the clusters of DBSCAN, each cut into parts of at most `max_size`.

    near: at least the pairs of rows within `eps`, a cosine distance, or their spanning forest.
    sizes: of each row, shape (n,). scan: finds the clusters; DBSCAN by default. Parts of one
    cluster are consecutive, and rows of a part are sorted. Noise is in no part; a row that is
    larger than `max_size` is a part of its own.
    """
    import numpy as np

    if not len(near):
        return []
    weights = np.asarray(sizes, dtype=np.int64)
    forest = spanning_forest(near)
    parts = _cut(forest, (scan or run_dbscan)(forest, eps), weights, max_size, eps - EPS_STEP)
    return [part.tolist() for part in parts]


def pack(parts: Sequence[Sequence[int]], sizes: Sequence[int], max_size: int) -> list[list[int]]:
    """Put parts into windows of at most `max_size`, by first fit."""
    windows: list[list[int]] = []
    filled: list[int] = []
    for part in parts:
        size = sum(sizes[row] for row in part)
        place = next((place for place, held in enumerate(filled) if held + size <= max_size), None)
        if place is None:
            windows.append(list(part))
            filled.append(size)
        else:
            windows[place] += part
            filled[place] += size
    return windows


def run_dbscan(near: Neighbours, eps: float) -> NDArray[np.int64]:
    """Return the label of each row, -1 for noise. Two texts within eps form a cluster.

    Labels are numbered by their first row. DBSCAN only needs to know which pairs are within eps: if
    these are all equally far, scikit-learn need not sort the pairs of each row.
    """
    import numpy as np
    from sklearn.cluster import DBSCAN

    radius = np.float32(eps)
    scan = DBSCAN(eps=float(radius), min_samples=2, metric="precomputed")
    labels: NDArray[np.int64] = scan.fit_predict(near.at_least(1.0 - eps).as_graph(radius))
    return labels


def join_near(near: Neighbours, eps: float) -> NDArray[np.int64]:
    """Return the labels that `run_dbscan` would, computed without scikit-learn.

    A new text joins the clusters that it is near to (incremental DBSCAN, Ester et al. 1998).
    Importing scikit-learn takes longer than the rest of a night with few new texts.
    """
    import numpy as np

    pairs = near.at_least(1.0 - eps)
    labels = np.full(near.rows, -1, dtype=np.int64)
    inside = np.unique(np.r_[pairs.left, pairs.right])
    _, labels[inside] = np.unique(components(pairs)[inside], return_inverse=True)
    return labels


def _cut(
    near: Neighbours,
    labels: NDArray[np.int64],
    sizes: NDArray[np.int64],
    max_size: int,
    eps: float,
) -> Iterator[NDArray[np.int64]]:
    """Yield the rows of each label; rows that do not fit together are clustered with `eps`."""
    import numpy as np

    for rows in _by_label(labels):
        if len(rows) == 1 or sizes[rows].sum() <= max_size:
            yield rows
            continue
        within = near.among(rows)
        if eps < EPS_STEP / 2:  # DBSCAN cannot cut it further
            parts = _join_groups(within, np.arange(within.rows), sizes[rows], max_size)
        else:
            parts = _assign_noise(within, join_near(within, eps))
        for part in _cut(within, parts, sizes[rows], max_size, eps - EPS_STEP):
            yield rows[part]


def _by_label(labels: NDArray[np.int64]) -> list[NDArray[np.int64]]:
    """Return the sorted rows of each label, in the order of labels, without noise."""
    import numpy as np

    order = np.argsort(labels, kind="stable")
    order = order[labels[order] >= 0]
    ends = np.flatnonzero(np.diff(labels[order], append=-1)) + 1
    # Quicker than `np.split`, which takes 10 µs for each of some ten thousand parts.
    return [order[start:end] for start, end in pairwise([0, *ends.tolist()])]


def _assign_noise(near: Neighbours, labels: NDArray[np.int64]) -> NDArray[np.int64]:
    """Give each noise row the label of its nearest part, nearest rows first.

    Rows that are not connected to any part become parts of their own.
    """
    import numpy as np

    firsts = np.arange(near.rows)
    parts, starts, part_of = np.unique(labels, return_index=True, return_inverse=True)
    inside = labels >= 0
    firsts[inside] = starts[part_of][inside]
    # A part weighs 1 and noise 0, so that at most one part is in each joined group.
    weights = np.zeros(len(labels), dtype=np.int64)
    weights[starts[parts >= 0]] = 1
    return _join_groups(near, firsts, weights, 1)


def _join_groups(
    forest: Neighbours, firsts: NDArray[np.int64], weights: NDArray[np.int64], max_weight: int
) -> NDArray[np.int64]:
    """Join groups of rows along a spanning forest, nearest first, up to a weight; return labels.

    firsts: the first row of each row's group. weights: of each group, at the index of its first
    row.
    """
    import numpy as np

    between = forest.select(firsts[forest.left] != firsts[forest.right])
    order = np.lexsort((between.right, between.left, -between.steps.astype(np.int32)))
    group, weight = firsts.tolist(), weights.tolist()

    def find(row: int) -> int:
        while group[row] != row:
            group[row] = group[group[row]]
            row = group[row]
        return row

    for start, end in zip(between.left[order].tolist(), between.right[order].tolist(), strict=True):
        left, right = sorted((find(start), find(end)))
        if left != right and weight[left] + weight[right] <= max_weight:
            group[right] = left
            weight[left] += weight[right]
    _, labels = np.unique([find(row) for row in range(len(group))], return_inverse=True)
    return np.asarray(labels, dtype=np.int64)
