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


def find_groups(vectors: NDArray[np.float32], similarity: float) -> list[list[int]]:
    """Give the groups of two or more rows whose average similarity is at least `similarity`.

    vectors: float32, shape (n, d), unit length. DBSCAN on the neighbour graph, then average
    linkage cut at the same distance inside each of its clusters; what is still too large is cut
    at higher similarities. Sorted, each row at most once.
    """
    import numpy as np
    from sklearn.cluster import DBSCAN

    if len(vectors) < 2:
        return []
    graph = similar_pairs(vectors, similarity)
    scan = DBSCAN(eps=1.0 - similarity, min_samples=2, metric="precomputed")
    labels = scan.fit_predict(graph)
    groups = []
    for members in _by_label(labels):
        if len(members) > LARGEST_GROUP:
            parts = _cut(vectors[members], similarity)
        else:
            parts = _linked(vectors[members], similarity)
        groups += [members[np.array(part)].tolist() for part in parts]
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

    apart = _apart(similarities, conflict)
    parts: list[list[int]] = [[index] for index in range(len(similarities))]
    while True:
        best: tuple[float, int, int] | None = None
        for later in range(1, len(parts)):
            for earlier in range(later):
                across = np.ix_(parts[earlier], parts[later])
                if apart[across].any():
                    continue
                mean = float(similarities[across].mean())
                if mean >= similarity and (best is None or mean > best[0]):
                    best = (mean, earlier, later)
        if best is None:
            return [sorted(part) for part in parts]
        _, earlier, later = best
        parts[earlier] += parts.pop(later)


def _cut(vectors: NDArray[np.float32], similarity: float) -> list[list[int]]:
    """Cut a cluster that is too large for linkage over all its pairs, or for splitting."""
    import numpy as np

    higher = similarity + 0.05
    if higher >= 1.0:  # nearly one text many times over: any cut is as good as another
        rows = list(range(len(vectors)))
        return [rows[at : at + LARGEST_GROUP] for at in range(0, len(rows), LARGEST_GROUP)]
    if len(vectors) <= 20 * LARGEST_GROUP:
        parts = _linked(vectors, similarity)
    else:
        parts = find_groups(vectors, higher)
    cut = []
    for part in parts:
        if len(part) <= LARGEST_GROUP:
            cut.append(part)
        else:
            rows_of = np.array(part)
            cut += [rows_of[inner].tolist() for inner in _cut(vectors[rows_of], higher)]
    return cut


def _linked(vectors: NDArray[np.float32], similarity: float) -> list[list[int]]:
    import numpy as np
    from scipy.cluster.hierarchy import fcluster, linkage
    from scipy.spatial.distance import squareform

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
