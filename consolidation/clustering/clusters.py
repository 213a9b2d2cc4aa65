"""What a model sees together: clusters by DBSCAN, cut until each fits into a window.

DBSCAN over the sparse graph of near texts decides. It is wide, since tellings of one fact may lie
at a cosine of 0.42 and those of one rule at 0.30; it chains, so a cluster that does not fit is
clustered again with a smaller eps until it does. What becomes noise inside a cluster joins its
nearest part: each member of a wide cluster is shown somewhere. Noise of the wide clustering, which
nothing lies near, is shown to nobody.
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

    near: the pairs of rows within `eps`, a cosine distance, and maybe others; sizes: of each row,
    shape (n,). Parts of one cluster follow each other; rows of a part are sorted; a row that is
    noise is in none. A row that is larger than `most` is a part of its own.
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
    """Put parts into windows of at most `most` in size, each into the first that has room."""
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
    """Return the label of each row by DBSCAN, -1 for noise. Two near texts are a cluster."""
    from sklearn.cluster import DBSCAN

    # Half a step more: what is just near enough must not be lost by rounding.
    scan = DBSCAN(eps=eps + STEP / 2, min_samples=2, metric="precomputed")
    labels: NDArray[np.int64] = scan.fit_predict(distances)
    return labels


def _by_label(rows: NDArray[np.int64], labels: NDArray[np.int64]) -> list[NDArray[np.int64]]:
    """Return the rows of each label, in the order of labels; those of no label are left out."""
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
    """Cut rows that hang together into parts that fit."""
    import numpy as np

    if len(rows) == 1 or sizes[rows].sum() <= most:
        return [rows]
    if eps < EPS_STEP / 2:  # nearly one text many times over: any cut is as good as another
        return [
            part
            for half in np.array_split(rows, 2)
            for part in _fitting(distances, half, sizes, most, eps)
        ]
    within = distances[rows][:, rows]
    labels = _with_nearest(within, _labels(within, eps))
    return [
        fitting
        for part in _by_label(rows, labels)
        for fitting in _fitting(distances, part, sizes, most, eps - EPS_STEP)
    ]


def _with_nearest(distances: csr_array, labels: NDArray[np.int64]) -> NDArray[np.int64]:
    """Give each row that is noise the label of the nearest part, nearest rows first.

    distances: shape (n, n). Rows that reach no part by any way become parts of their own.
    """
    import numpy as np
    from scipy.sparse.csgraph import minimum_spanning_tree

    labels = labels.copy()
    noise = np.flatnonzero(labels < 0)
    if not len(noise):
        return labels
    tree = minimum_spanning_tree(distances).tocoo()
    order = np.lexsort((tree.col, tree.row, tree.data))
    group = np.arange(len(labels))

    def find(row: int) -> int:
        while group[row] != row:
            group[row] = group[group[row]]
            row = int(group[row])
        return row

    # The parts first, then the edges of noise by length: a group that has a part takes no other.
    owner: dict[int, int] = {}
    for row in np.flatnonzero(labels >= 0).tolist():
        first = owner.setdefault(int(labels[row]), row)
        group[row] = first
    has_part = set(owner.values())
    for at in order.tolist():
        left, right = find(int(tree.row[at])), find(int(tree.col[at]))
        if left == right or (left in has_part and right in has_part):
            continue
        if left not in has_part:
            left, right = right, left
        group[right] = left
    part_of = {first: label for label, first in owner.items()}
    new = len(owner)
    for row in noise.tolist():
        first = find(row)
        if first not in part_of:
            part_of[first] = new
            new += 1
        labels[row] = part_of[first]
    return labels
