"""The minimum spanning forest of near texts, kept between nights: all that clusters depend on.

With `min_samples=2`, the clusters of DBSCAN are those of single linkage, and these are pieces of
the forest (Gower and Ross 1969). A later night only compares the texts that are new, or that were
cut off from their tree when others left.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from .neighbours import STEP, Neighbours, similar_pairs
from .stored_graph import MAX_NEW, pack_part, read_known

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

_MAX_STEPS = round(1 / STEP)
_WIDTH_BYTES = 2
# The number of pairs of each row above which only the nearest are sorted at first.
_PAIRS_A_ROW = 30


def spanning_forest(near: Neighbours, ranks: NDArray[np.int64] | None = None) -> Neighbours:
    """Return the pairs of the minimum spanning forest.

    ranks: of the rows, shape (near.rows,); of equally near pairs those of the lowest ranks count.
    None ranks rows by their numbers.
    """
    import numpy as np

    ranks = near.numbers if ranks is None else ranks
    nearest = _PAIRS_A_ROW * near.rows
    if len(near) <= nearest:
        return _sort_and_join(near, ranks)
    # Filter-Kruskal (Osipov, Sanders and Singler 2009): most pairs lie within the trees of the
    # nearest, and need not be sorted.
    is_nearest = near.steps >= np.partition(near.steps, -nearest)[-nearest]
    trees = _sort_and_join(near.select(is_nearest), ranks)
    labels = components(trees)
    is_between = ~is_nearest & (labels[near.left] != labels[near.right])
    return _sort_and_join(trees.union(near.select(is_between)), ranks)


def _sort_and_join(near: Neighbours, ranks: NDArray[np.int64]) -> Neighbours:
    import numpy as np
    from scipy.sparse import csr_array
    from scipy.sparse.csgraph import minimum_spanning_tree

    rows = near.rows
    ends = ranks[near.left], ranks[near.right]
    # Different for each pair, so that there is only one such forest; exact below 2 ** 53.
    weights = (_MAX_STEPS - near.steps.astype(np.int64)) * rows + np.minimum(*ends)
    weights = weights * rows + np.maximum(*ends) + 1
    starts = np.searchsorted(near.left, np.arange(rows + 1, dtype=np.int32))
    graph = csr_array((weights.astype(np.float64), near.right, starts), shape=(rows, rows))
    tree = minimum_spanning_tree(graph).tocoo()
    steps = _MAX_STEPS - (tree.data.astype(np.int64) - 1) // rows**2
    return Neighbours(rows, tree.row, tree.col, steps.astype(np.uint16))


def components(near: Neighbours) -> NDArray[np.int32]:
    """Return the number of the component of each row, shape (near.rows,)."""
    import numpy as np
    from scipy.sparse import coo_array
    from scipy.sparse.csgraph import connected_components

    graph = coo_array((np.ones(len(near)), (near.left, near.right)), shape=(near.rows,) * 2)
    _, labels = connected_components(graph, directed=False)
    found: NDArray[np.int32] = labels
    return found


class StoredForest:
    """The forest that an earlier night kept."""

    def __init__(self, content: bytes = b"") -> None:
        """Take what the file has."""
        self._content = content
        self._new: bytes | None = None
        # Whether the last forest was made from the kept one.
        self.is_grown = False

    def extend(
        self,
        signs: Sequence[bytes],
        vectors: NDArray[np.float32],
        width: float,
        compare_all: Callable[[], Neighbours],
    ) -> Neighbours:
        """Return the spanning forest of the pairs of these texts within a width.

        signs: of the texts by `sign_of`, shape (n,). vectors: float32, shape (n, d), unit length.
        width: the least similarity. compare_all: returns all such pairs, if most are unknown.
        """
        import numpy as np

        least = round(width / STEP).to_bytes(_WIDTH_BYTES, "little")
        is_of_width = self._content.startswith(least)
        known = read_known([self._content[_WIDTH_BYTES:]] if is_of_width else [])
        numbers = np.array([known.numbers.get(sign, -1) for sign in signs], dtype=np.int32)
        kept = known.among(numbers)
        is_fresh = numbers < 0
        if not is_fresh.all():
            is_fresh |= _is_cut_off(components(known.pairs)[numbers], components(kept))
        self.is_grown = bool(is_fresh.sum() <= MAX_NEW * len(signs))
        if self.is_grown:
            kept = kept.select(~(is_fresh[kept.left] | is_fresh[kept.right]))
            fresh = np.flatnonzero(is_fresh)
            near = kept.union(similar_pairs(vectors, width, fresh)) if len(fresh) else kept
        else:
            near = compare_all()
        ranks = np.empty(len(signs), dtype=np.int64)
        ranks[sorted(range(len(signs)), key=signs.__getitem__)] = np.arange(len(signs))
        forest = spanning_forest(near, ranks)
        content = least + pack_part(signs, forest, near.numbers.astype(np.int32), slice(None))
        self._new = content if content != self._content else None
        return forest

    def taken(self) -> bytes | None:
        """Return the new forest, only once; None if there is none."""
        new, self._new = self._new, None
        return new


def _is_cut_off(trees: NDArray[np.int32], pieces: NDArray[np.int32]) -> NDArray[np.bool_]:
    """Return the rows, shape (n,), that are not in the largest remaining piece of their tree.

    Within that piece, what joins two rows is nearer than they are, as it was in the tree.
    """
    import numpy as np

    order = np.lexsort((pieces, -np.bincount(pieces)[pieces]))
    _, largest = np.unique(trees[order], return_index=True)
    cut_off: NDArray[np.bool_] = ~np.isin(pieces, pieces[order[largest]])
    return cut_off
