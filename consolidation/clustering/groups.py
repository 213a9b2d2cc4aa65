"""Groups of texts that belong together: DBSCAN, average linkage inside its clusters, then guards.

DBSCAN finds what hangs together, but chains: at a distance of 0.30 its largest cluster held 756
of 2,541 real memories. Average linkage cut at the same distance, inside each of its clusters,
equals average linkage over everything and scored best against labelled groups; the conflicts that
the guards find are then kept apart inside each of those. With two as its least cluster, DBSCAN
drops only what has no neighbour at all: it spares average linkage the rows without one. A core of
three for syntheses and of five for rules was measured, too: the three nights and three of the four
lives came out the same, and on life-fresh two memories fewer were folded rightly, 64 of 66.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from slowwave.consolidation.thresholds import CONTESTED_MARGIN, CUTTING_STEP, LARGEST_GROUP

from .linkage import link_groups
from .neighbours import STEP, Neighbours

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

Conflict = Callable[[int, int], bool]


def find_groups(
    vectors: NDArray[np.float32], neighbours: Neighbours, similarity: float
) -> list[list[int]]:
    """Return the groups of two or more rows whose average similarity is at least `similarity`.

    vectors: float32, shape (n, d), unit length; neighbours: their pairs of at least that
    similarity, and maybe others. What DBSCAN calls noise is in none. A group that is too large
    to be split by guards is cut at higher similarities. Sorted, each row at most once.
    """
    near = neighbours.at_least(similarity)
    if not len(near):
        return []
    inside = _clustered(near, similarity)
    group = link_groups(vectors, near.chosen(inside[near.left]), similarity)
    return sorted(
        found.tolist()
        for part in _by_label(group)
        for found in _cut(vectors, near, part, similarity)
    )


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


def _clustered(near: Neighbours, similarity: float) -> NDArray[np.bool_]:
    """Return which rows are in a cluster of DBSCAN's, and not noise, shape (n,).

    With `min_samples=2` two are a cluster, so nothing is noise but what has no neighbour: a pair
    a row tells as much as all pairs, of which a million rows have tens of millions.
    """
    import numpy as np
    from sklearn.cluster import DBSCAN

    firsts = [np.unique(ends, return_index=True)[1] for ends in (near.left, near.right)]
    near = near.chosen(np.union1d(*firsts))
    # Half a step more: what is just near enough must not be lost by rounding.
    scan = DBSCAN(eps=1.0 - similarity + STEP / 2, min_samples=2, metric="precomputed")
    clustered: NDArray[np.bool_] = scan.fit_predict(near.distances()) >= 0
    return clustered


def _cut(
    vectors: NDArray[np.float32],
    near: Neighbours,
    rows: NDArray[np.intp],
    similarity: float,
) -> list[NDArray[np.intp]]:
    """Cut a group that is too large for splitting; those of one row are left out."""
    import numpy as np

    if len(rows) <= LARGEST_GROUP:
        return [rows]
    higher = similarity + CUTTING_STEP
    if higher >= 1.0:  # nearly one text many times over: any cut is as good as another
        return np.array_split(rows, -(-len(rows) // LARGEST_GROUP))
    within = near.among(rows)
    return [
        rows[found]
        for part in _by_label(link_groups(vectors[rows], within, higher))
        for found in _cut(vectors[rows], within, part, higher)
    ]


def _by_label(labels: NDArray[np.int32]) -> list[NDArray[np.intp]]:
    """Return the rows of each label that has several, in the order of labels."""
    import numpy as np

    # Most rows of a file are alone: an array for each of them takes longer than all else here.
    several = np.flatnonzero(np.bincount(labels)[labels] > 1)
    order = several[np.argsort(labels[several], kind="stable")]
    starts = np.flatnonzero(np.diff(labels[order]))
    return np.split(order, starts + 1) if len(order) else []


def _apart(similarities: NDArray[np.float32], conflict: Conflict) -> NDArray[np.bool_]:
    """Return which pairs must not be in one part, shape (k, k).

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
