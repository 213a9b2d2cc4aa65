"""Vectors to parcels of a bounded size, in which near vectors are together."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import TYPE_CHECKING

from slowwave.consolidation.thresholds import DEMANDING_TOGETHER

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray
    from scipy.sparse import csr_array

# Memory for distances at one time, in MB.
_WORKING_MEMORY = 64


def make_parcels(
    vectors: NDArray[np.float32],
    new: Sequence[int],
    together: Sequence[Sequence[int]],
    sizes: Sequence[int],
    nearest: int,
    similarity: float,
    most: int,
) -> list[list[int]]:
    """Distribute rows over parcels of at most `most` in size, near rows together.

    vectors: float32, shape (n, d), unit length. Each of the rows `new` is laid with its `nearest`
    rows of at least `similarity`, by cosine; so are the rows of each list in `together`. DBSCAN on
    that graph finds what hangs together, and single linkage, from the nearest pair on and no
    further than a parcel holds, cuts what is too large; a row that this leaves alone joins its
    nearest all the same, unless that is beyond `most` already. Small parts share a parcel. A row
    that nothing lies near is in none.
    """
    graph = _graph(vectors, new, together, nearest, similarity)
    parts = [part for part in _parts(graph, sizes, most) if not set(part).isdisjoint(new)]
    return _packed(parts, sizes, most)


def _graph(
    vectors: NDArray[np.float32],
    new: Sequence[int],
    together: Sequence[Sequence[int]],
    nearest: int,
    similarity: float,
) -> csr_array:
    """Return the distances of near rows, both ways, shape (n, n)."""
    import numpy as np
    from scipy.sparse import csr_array
    from sklearn import config_context
    from sklearn.neighbors import NearestNeighbors

    count = min(nearest + 1, len(vectors))
    with config_context(working_memory=_WORKING_MEMORY):
        search = NearestNeighbors(n_neighbors=count, metric="cosine", algorithm="brute")
        found, rows = search.fit(vectors).kneighbors(vectors[new])
    left = np.repeat(np.asarray(new), count)
    right, distances = rows.ravel(), found.ravel()
    near = (left != right) & (distances <= 1.0 - similarity)
    pairs = {
        (min(one, other), max(one, other)): distance
        for one, other, distance in zip(
            left[near].tolist(), right[near].tolist(), distances[near].tolist(), strict=True
        )
    }
    for group in together:
        for one, other in pairwise(group):
            pairs.setdefault((min(one, other), max(one, other)), 1.0 - DEMANDING_TOGETHER)
    ends = np.array(sorted(pairs), dtype=np.int32).reshape(-1, 2)
    # A distance of nothing would be no edge in a sparse matrix.
    weights = np.array([max(pairs[one, other], 1e-6) for one, other in ends.tolist()])
    upper = csr_array((weights, (ends[:, 0], ends[:, 1])), shape=(len(vectors),) * 2)
    return csr_array(upper + upper.T)


def _parts(graph: csr_array, sizes: Sequence[int], most: int) -> list[list[int]]:
    """Return the rows that hang together, no part larger than a parcel, rows alone left out."""
    import numpy as np
    from scipy.sparse.csgraph import minimum_spanning_tree
    from sklearn.cluster import DBSCAN

    if not graph.nnz:
        return []
    scan = DBSCAN(eps=1.0, min_samples=2, metric="precomputed")
    labels = scan.fit(graph).labels_
    inside = np.flatnonzero(labels >= 0)
    part_of = {row: [row] for row in inside.tolist()}
    held = {row: sizes[row] for row in part_of}
    tree = minimum_spanning_tree(graph).tocoo()
    for at in np.argsort(tree.data, kind="stable").tolist():
        one, other = part_of[int(tree.row[at])], part_of[int(tree.col[at])]
        if one is not other and held[one[0]] + held[other[0]] <= most:
            held[one[0]] += held[other[0]]
            one += other
            for row in other:
                part_of[row] = one
    for row in part_of:
        if len(part_of[row]) == 1:
            near = graph[[row], :].tocoo()
            nearest = part_of[int(near.col[np.argmin(near.data)])]
            # One of them may be too much, not all that have the same nearest.
            if held[nearest[0]] <= most:
                held[nearest[0]] += sizes[row]
                nearest.append(row)
                part_of[row] = nearest
    unique = {id(part): part for part in part_of.values() if len(part) > 1}
    # Parts of one cluster stand side by side.
    return sorted(unique.values(), key=lambda part: (labels[part[0]], part))


def _packed(parts: Sequence[list[int]], sizes: Sequence[int], most: int) -> list[list[int]]:
    """Put each part into the first parcel that has room for it."""
    filled: list[tuple[int, list[int]]] = []
    for part in parts:
        size = sum(sizes[row] for row in part)
        for at, (held, rows) in enumerate(filled):
            if held + size <= most:
                filled[at] = (held + size, [*rows, *part])
                break
        else:
            filled.append((size, part))
    return [rows for _, rows in filled]
