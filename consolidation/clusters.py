"""Groups of vectors that belong together: DBSCAN, then splitting until each is cohesive.

DBSCAN finds what hangs together, but chains: at a distance of 0.30 its largest cluster held 756
of 2,541 real memories. Average linkage at the same distance, inside each of its clusters, equals
average linkage over everything (18 of 18 trials) and scored best against labelled groups; the
conflicts that the guards find are then kept apart inside each of those.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from .neighbours import similar_pairs
from .thresholds import CONTESTED_MARGIN, LARGEST_GROUP

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

Conflict = Callable[[int, int], bool]
Grouping = Callable[["NDArray[np.float32]", float], list[list[int]]]


def find_groups(vectors: NDArray[np.float32], similarity: float) -> list[list[int]]:
    """Give the groups of two or more rows whose average similarity is at least `similarity`.

    vectors: float32, shape (n, d), unit length. DBSCAN on the neighbour graph, then average
    linkage cut at the same distance inside each of its clusters; what is still too large is cut
    at higher similarities. Sorted, each row at most once.
    """
    from sklearn.cluster import DBSCAN

    if len(vectors) < 2:
        return []
    graph = similar_pairs(vectors, similarity)
    scan = DBSCAN(eps=1.0 - similarity, min_samples=2, metric="precomputed")
    labels = scan.fit_predict(graph)
    groups: list[list[int]] = []
    for members in _by_label(labels):
        group = _cut if len(members) > LARGEST_GROUP else _linked
        groups += _inside([members.tolist()], vectors, similarity, group)
    return sorted(groups)


def split_group(
    similarities: NDArray[np.float32], similarity: float, conflict: Conflict
) -> list[list[int]]:
    """Split a group until no two members conflict and each part is still cohesive.

    similarities: float32, shape (k, k). Joins the parts of highest average similarity, as long
    as that is at least `similarity` and no pair across them is apart. The order of the members
    plays no part but for exact ties, which go to the first.
    """
    import numpy as np

    size = len(similarities)
    parts: list[list[int]] = [[index] for index in range(size)]
    # Between the parts: how many pairs, the sum of their similarities, and whether to stay two.
    counts = np.ones(size)
    sums = similarities.astype(np.float64)
    apart = _apart(similarities, conflict) | np.eye(size, dtype=bool)
    while size:
        means = np.where(apart, -np.inf, sums / np.outer(counts, counts))
        one, other = sorted(divmod(int(means.argmax()), size))
        if means[one, other] < similarity:
            break
        parts[one] += parts[other]
        parts[other] = []
        counts[one] += counts[other]
        sums[one] += sums[other]
        sums[:, one] += sums[:, other]
        apart[one] |= apart[other]
        apart[:, one] |= apart[:, other]
        apart[other] = apart[:, other] = True
    return [sorted(part) for part in parts if part]


def _cut(vectors: NDArray[np.float32], similarity: float) -> list[list[int]]:
    """Cut a cluster that is too large for linkage over all its pairs, or for splitting."""
    higher = similarity + 0.05
    if higher >= 1.0:  # nearly one text many times over: any cut is as good as another
        rows = list(range(len(vectors)))
        cuts = [rows[at : at + LARGEST_GROUP] for at in range(0, len(rows), LARGEST_GROUP)]
        return _inside(cuts, vectors, similarity, _linked)
    if len(vectors) <= 20 * LARGEST_GROUP:
        parts = _linked(vectors, similarity)
    else:
        parts = find_groups(vectors, higher)
    small = [part for part in parts if len(part) <= LARGEST_GROUP]
    large = [part for part in parts if len(part) > LARGEST_GROUP]
    return small + _inside(large, vectors, higher, _cut)


def _inside(
    parts: list[list[int]],
    vectors: NDArray[np.float32],
    similarity: float,
    group: Grouping,
) -> list[list[int]]:
    """Group the rows of each part by themselves."""
    grouped = ((part, group(vectors[part], similarity)) for part in parts)
    return [[part[row] for row in inner] for part, inners in grouped for inner in inners]


def _linked(vectors: NDArray[np.float32], similarity: float) -> list[list[int]]:
    import numpy as np
    from scipy.cluster.hierarchy import fcluster, linkage
    from scipy.spatial.distance import squareform

    if len(vectors) < 2:
        return []
    distances = 1.0 - np.clip(vectors @ vectors.T, -1.0, 1.0)
    np.fill_diagonal(distances, 0.0)
    tree = linkage(squareform(distances, checks=False), method="average")
    labels = fcluster(tree, t=1.0 - similarity, criterion="distance")
    return [part.tolist() for part in _by_label(labels) if len(part) > 1]


def _by_label(labels: NDArray[np.int_]) -> list[NDArray[np.int_]]:
    """Give the rows of each label, in the order of labels; negative labels are noise."""
    import numpy as np

    order = np.argsort(labels, kind="stable")
    starts = np.flatnonzero(np.diff(labels[order], prepend=labels[order[0]] - 1))
    parts = np.split(order, starts[1:])
    return [part for part in parts if labels[part[0]] >= 0]


def _apart(similarities: NDArray[np.float32], conflict: Conflict) -> NDArray[np.bool_]:
    """Give which pairs must not be in one part, shape (k, k).

    Those in conflict; and, for each such pair, third members whose words fit both: they are
    kept away from the one that they are not clearly nearer to. "The bill went up by 5" and "the
    bill went down by 5" lie so near each other that "the bill changed" must join neither by
    chance.
    """
    import numpy as np

    size = len(similarities)
    direct = np.zeros((size, size), dtype=bool)
    for later in range(1, size):
        for earlier in range(later):
            direct[earlier, later] = direct[later, earlier] = conflict(earlier, later)
    apart = direct.copy()
    for one, other in np.argwhere(direct):
        undecided = ~direct[one] & ~direct[other]
        undecided[[one, other]] = False
        away = undecided & (similarities[other] > similarities[one] - CONTESTED_MARGIN)
        apart[one, away] = apart[away, one] = True
    return apart
