"""Average linkage over a sparse graph: groups whose average similarity is high enough.

The average similarity of two groups of unit vectors is the product of their sums over their sizes,
so no matrix of all pairs is needed; and only groups with a near pair between them can be similar
enough on average, so only edges of the graph are looked at. Pairs of groups of which each is the
other's most similar are joined all at once: average linkage being reducible, that leads to the
same groups as one join after the other (Murtagh 1983, "A survey of recent advances in
hierarchical clustering algorithms").
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from .blocks import in_threads
from .neighbours import Neighbours

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

# Pairs of groups whose average is computed at once: 25 MB at 384 dimensions.
_PORTION = 8_192
# Large primes: remainders of their multiples have no order.
_LOTS = 2_654_435_761, 2_246_822_519, 4_294_967_291


def link_groups(
    vectors: NDArray[np.float32], neighbours: Neighbours, similarity: float
) -> NDArray[np.int32]:
    """Return the group of each row, as its lowest row, shape (n,).

    vectors: float32, shape (n, d), unit length; neighbours: all their pairs of at least
    `similarity`. The groups are those of average linkage over all pairs, cut at `similarity`;
    ties are decided as if by lot, but always the same, whichever other rows there are.
    """
    import numpy as np

    near = neighbours.at_least(similarity)
    group = np.arange(len(vectors), dtype=np.int32)
    if not len(near):
        return group
    # Only rows with a neighbour can be joined to anything.
    rows = np.unique(np.concatenate([near.left, near.right]))
    clusters = _Clusters(vectors[rows], near.among(rows.astype(np.intp)), similarity)
    while clusters.join():
        pass
    group[rows] = rows[clusters.roots()]
    return group


class _Clusters:
    """Groups on the way, each called by its lowest row, and the pairs of them that are near."""

    def __init__(self, sums: NDArray[np.float32], near: Neighbours, similarity: float) -> None:
        import numpy as np

        self._similarity = similarity
        # A number of each row's own, to draw lots with.
        self._lots = sums.view(np.uint32).sum(axis=1, dtype=np.uint64)
        self._sums = sums
        self._sizes = np.ones(len(sums), dtype=np.int32)
        self._joined = np.arange(len(sums), dtype=np.int32)
        self._left, self._right = near.left, near.right
        self._mean = self._means(near.left, near.right)
        self._keep(self._mean >= similarity)

    def roots(self) -> NDArray[np.int32]:
        """Return the group of each row."""
        import numpy as np

        roots = self._joined
        while not np.array_equal(roots, roots[roots]):
            roots = roots[roots]
        return roots

    def _keep(self, near: NDArray[np.bool_]) -> None:
        self._left, self._right = self._left[near], self._right[near]
        self._mean = self._mean[near]

    def join(self) -> bool:
        """Join each two groups that are most similar to each other; False if none is left."""
        import numpy as np

        one, other = self._mutual()
        if not len(one):
            return False
        self._sums[one] += self._sums[other]
        self._sizes[one] += self._sizes[other]
        self._joined[other] = one
        changed = np.zeros(len(self._joined), dtype=bool)
        changed[one] = changed[other] = True
        touched = changed[self._left] | changed[self._right]
        # Of the groups as they are now, each pair once.
        ends = self._joined[self._left[touched]], self._joined[self._right[touched]]
        left, right = _distinct(*ends, len(self._joined))
        mean = self._means(left, right)
        near = mean >= self._similarity
        self._left = np.concatenate([self._left[~touched], left[near]])
        self._right = np.concatenate([self._right[~touched], right[near]])
        self._mean = np.concatenate([self._mean[~touched], mean[near]])
        return True

    def _mutual(self) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
        """Return the pairs of groups of which each is the other's most similar one."""
        import numpy as np

        best = np.full(len(self._joined), -np.inf, dtype=np.float32)
        for ends in (self._left, self._right):
            np.maximum.at(best, ends, self._mean)
        top = (self._mean == best[self._left]) & (self._mean == best[self._right])
        left, right = self._left[top], self._right[top]
        # Of equally similar ones at random, so that of many twins many find a partner at once.
        order = np.argsort(
            (self._lots[left] * _LOTS[0] + self._lots[right] * _LOTS[1]) % _LOTS[2],
            kind="stable",
        )
        left, right = left[order], right[order]
        numbers = np.arange(len(left))
        place = np.full(len(self._joined), -1, dtype=np.int64)
        for ends in (left, right):
            np.maximum.at(place, ends, numbers)
        chosen = (place[left] == numbers) & (place[right] == numbers)
        return left[chosen], right[chosen]

    def _means(self, left: NDArray[np.int32], right: NDArray[np.int32]) -> NDArray[np.float32]:
        """Return the average similarity of pairs of groups, shape (pairs,)."""
        import numpy as np

        def portion(part: slice) -> NDArray[np.float32]:
            one, other = left[part], right[part]
            total = np.einsum("ij,ij->i", self._sums[one], self._sums[other])
            mean: NDArray[np.float32] = total / (self._sizes[one] * self._sizes[other])
            return mean.astype(np.float32)

        parts = [slice(start, start + _PORTION) for start in range(0, len(left), _PORTION)]
        means: NDArray[np.float32] = np.concatenate(
            [np.empty(0, np.float32), *in_threads(portion, parts)]
        )
        return means


def _distinct(
    left: NDArray[np.int32], right: NDArray[np.int32], count: int
) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
    """Return each pair of two different ends once, the lower end first, sorted."""
    import numpy as np

    key = np.unique(np.minimum(left, right).astype(np.int64) * count + np.maximum(left, right))
    low, high = np.divmod(key, count)
    apart = low != high
    return low[apart].astype(np.int32), high[apart].astype(np.int32)
