"""Cluster near texts by DBSCAN, and cut the clusters until each fits into a window.

DBSCAN runs over the sparse graph of near texts. Its eps is wide, since restatements of one fact or
one rule may have a cosine of 0.30. It chains, so a cluster that does not fit is
clustered again with a smaller eps. Noise within a cluster joins its nearest part, so that each
member of a wide cluster is shown. Noise of the wide clustering is not shown.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from slowwave.consolidation.thresholds import EPS_STEP

from .neighbours import STEP, Neighbours

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray
    from scipy.sparse import csr_array


def find_clusters(near: Neighbours, eps: float, sizes: Sequence[int], most: int) -> list[list[int]]:
    """Return the clusters of DBSCAN, each cut into parts of at most `most` in size.

    near: at least the pairs of rows within `eps`, a cosine distance. sizes: of each row, shape
    (n,). Parts of one cluster are consecutive, and rows of a part are sorted. Noise is in no part;
    a row that is larger than `most` is a part of its own.
    """
    import numpy as np

    if not len(near):
        return []
    distances = near.distances()
    weights = np.asarray(sizes, dtype=np.int64)
    labels = _labels(distances, eps)
    return [
        sorted(part.tolist())
        for cluster in _by_label(np.arange(near.rows), labels)
        for part in _fitting(distances, cluster, weights, most, eps - EPS_STEP)
    ]


def pack(parts: Sequence[Sequence[int]], sizes: Sequence[int], most: int) -> list[list[int]]:
    """Put parts into windows of at most `most` in size, by first fit."""
    windows: list[list[int]] = []
    filled: list[int] = []
    for part in parts:
        size = sum(sizes[row] for row in part)
        place = next((at for at, held in enumerate(filled) if held + size <= most), None)
        if place is None:
            windows.append(list(part))
            filled.append(size)
        else:
            windows[place] += part
            filled[place] += size
    return windows


def _labels(distances: csr_array, eps: float) -> NDArray[np.int64]:
    """Return the DBSCAN label of each row, -1 for noise. Two near texts are a cluster."""
    from sklearn.cluster import DBSCAN

    # Half a step more, so that rounding loses no pair.
    scan = DBSCAN(eps=eps + STEP / 2, min_samples=2, metric="precomputed")
    labels: NDArray[np.int64] = scan.fit_predict(distances)
    return labels


def _by_label(rows: NDArray[np.int64], labels: NDArray[np.int64]) -> list[NDArray[np.int64]]:
    """Return the rows of each label, in the order of labels, without noise."""
    import numpy as np

    order = np.argsort(labels, kind="stable")
    order = order[labels[order] >= 0]
    starts = np.flatnonzero(np.diff(labels[order])) + 1
    return np.split(rows[order], starts) if len(order) else []


def _fitting(
    distances: csr_array,
    rows: NDArray[np.int64],
    sizes: NDArray[np.int64],
    most: int,
    eps: float,
) -> list[NDArray[np.int64]]:
    """Cut a cluster into parts that fit."""
    import numpy as np

    if len(rows) == 1 or sizes[rows].sum() <= most:
        return [rows]
    within = distances[rows][:, rows]
    if eps < EPS_STEP / 2:  # DBSCAN cannot cut it further
        labels = _join_groups(within, np.arange(len(rows)), sizes[rows], most)
        return _by_label(rows, labels)
    labels = _with_nearest(within, _labels(within, eps))
    return [
        fitting
        for part in _by_label(rows, labels)
        for fitting in _fitting(distances, part, sizes, most, eps - EPS_STEP)
    ]


def _with_nearest(distances: csr_array, labels: NDArray[np.int64]) -> NDArray[np.int64]:
    """Give each noise row the label of its nearest part, nearest rows first.

    distances: shape (n, n). Rows that are not connected to any part become parts of their own.
    """
    import numpy as np

    firsts = np.arange(len(labels))
    parts, starts, part_of = np.unique(labels, return_index=True, return_inverse=True)
    inside = labels >= 0
    firsts[inside] = starts[part_of][inside]
    # A part weighs 1 and noise 0, so that at most one part is in each joined group.
    weights = np.zeros(len(labels), dtype=np.int64)
    weights[starts[parts >= 0]] = 1
    return _join_groups(distances, firsts, weights, 1)


def _join_groups(
    distances: csr_array, firsts: NDArray[np.int64], weights: NDArray[np.int64], most: int
) -> NDArray[np.int64]:
    """Join groups of rows along the minimum spanning tree, up to a weight; return labels.

    distances: shape (n, n). firsts: the first row of each row's group. weights: of each group, at
    the index of its first row.
    """
    import numpy as np
    from scipy.sparse.csgraph import minimum_spanning_tree

    group, weight = firsts.tolist(), weights.tolist()

    def find(row: int) -> int:
        while group[row] != row:
            group[row] = group[group[row]]
            row = group[row]
        return row

    tree = minimum_spanning_tree(distances).tocoo()
    order = np.lexsort((tree.col, tree.row, tree.data))
    for start, end in zip(tree.row[order].tolist(), tree.col[order].tolist(), strict=True):
        left, right = sorted((find(start), find(end)))
        if left != right and weight[left] + weight[right] <= most:
            group[right] = left
            weight[left] += weight[right]
    _, labels = np.unique([find(row) for row in range(len(group))], return_inverse=True)
    return np.asarray(labels, dtype=np.int64)
