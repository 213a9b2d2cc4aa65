"""Find all pairs of vectors above a similarity."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from slowwave.consolidation.runtime.threads import in_threads

from .blocks import Comparison, all_pairs, likely_pairs, pairs_with

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray
    from scipy.sparse import csr_array

# From this many rows on, only pairs in near cells are compared.
CELLS_FROM = 150_000

# Similarities are rounded to steps of this. Matrix products of different shapes differ in the last
# bits; rounded, they do not depend on the order and the blocks in which rows are compared.
STEP = 1e-4
# The error of a float32 product: ten times what was measured at 384 dimensions.
_ROUNDING = 2e-6
# The number of pairs whose cosines are computed together: 8,192 take twice as long for each.
_BATCH = 1_024

_Pairs = tuple["NDArray[np.int32]", "NDArray[np.int32]", "NDArray[np.uint16]"]


@dataclass(frozen=True)
class Neighbours:
    """The pairs of near rows, each once; those of a forest are sorted.

    left, right: int32, shape (pairs,), with left < right. steps: uint16, the cosine in steps of
    `STEP`.
    """

    rows: int
    left: NDArray[np.int32]
    right: NDArray[np.int32]
    steps: NDArray[np.uint16]

    def __len__(self) -> int:
        """Return the number of pairs."""
        return len(self.left)

    @property
    def similarities(self) -> NDArray[np.float32]:
        """The cosines, shape (pairs,)."""
        import numpy as np

        cosines: NDArray[np.float32] = self.steps * np.float32(STEP)
        return cosines

    def at_least(self, similarity: float) -> Neighbours:
        """Return the pairs whose cosine, rounded to steps, is at least `similarity`."""
        return self.select(self.steps >= round(similarity / STEP))

    def among(self, rows: NDArray[np.intp]) -> Neighbours:
        """Return the pairs of a forest within sorted rows, which are renumbered."""
        import numpy as np

        starts, ends = (
            np.searchsorted(self.left, rows.astype(np.int32), side) for side in ("left", "right")
        )
        counts = ends - starts
        pairs = np.arange(counts.sum()) + np.repeat(ends - counts.cumsum(), counts)
        number = np.full(self.rows, -1, dtype=np.int32)
        number[rows] = np.arange(len(rows), dtype=np.int32)
        left, right = number[self.left[pairs]], number[self.right[pairs]]
        within = right >= 0
        return Neighbours(len(rows), left[within], right[within], self.steps[pairs[within]])

    def renumbered(self, numbers: NDArray[np.int32], rows: int) -> Neighbours:
        """Return the pairs of those rows that have a new number below `rows`.

        numbers: the new number of each row, or -1, shape (self.rows,).
        """
        import numpy as np

        left, right = numbers[self.left], numbers[self.right]
        both = (left >= 0) & (right >= 0)
        left, right = left[both], right[both]
        ends = np.minimum(left, right), np.maximum(left, right)
        return Neighbours(rows, *ends, self.steps[both])

    def select(self, mask: NDArray[np.bool_]) -> Neighbours:
        """Return the pairs of a mask."""
        if mask.all():
            return self  # a copy of a million rows takes half a gigabyte
        return Neighbours(self.rows, self.left[mask], self.right[mask], self.steps[mask])

    def union(self, more: Neighbours) -> Neighbours:
        """Return the pairs of both, which must be disjoint."""
        return _joined(self.rows, [(near.left, near.right, near.steps) for near in (self, more)])

    def as_graph(self, distance: np.float32) -> csr_array:
        """Return a symmetric graph, shape (rows, rows): each pair and each row with itself.

        distance: of each of them.
        """
        import numpy as np
        from scipy.sparse import coo_array

        # In this order, the columns of each row of a forest are sorted.
        rows = np.arange(self.rows)
        ends = np.r_[self.right, rows, self.left], np.r_[self.left, rows, self.right]
        equal = np.full(len(ends[0]), distance)
        return coo_array((equal, ends), shape=(self.rows, self.rows)).tocsr()


def similar_pairs(
    vectors: NDArray[np.float32],
    similarity: float,
    fresh: NDArray[np.intp] | None = None,
    report: Callable[[int, int], None] | None = None,
) -> Neighbours:
    """Return the pairs of rows whose cosine is at least `similarity`.

    vectors: float32, shape (n, d), unit length. fresh: sorted rows; only pairs with one of them are
    returned. report: called with the number of completed blocks and of all. Exact with fewer than
    `CELLS_FROM` rows, and with `fresh`. Computed in blocks of a matrix product, so that memory
    grows with the pairs and not with n * n.
    """
    if fresh is not None:
        comparison = pairs_with(fresh, len(vectors))
    elif len(vectors) < CELLS_FROM:
        comparison = all_pairs(len(vectors))
    else:
        comparison = likely_pairs(vectors)

    def near(block: tuple[NDArray[np.int32], NDArray[np.int32]]) -> _Pairs:
        return _near(vectors, round(similarity / STEP), comparison, *block)

    pairs_by_block = []
    for pairs in in_threads(near, comparison.blocks):
        pairs_by_block.append(pairs)
        if report is not None:
            report(len(pairs_by_block), len(comparison.blocks))
    return _joined(len(vectors), pairs_by_block)


def _near(
    vectors: NDArray[np.float32],
    least: int,
    comparison: Comparison,
    left_rows: NDArray[np.int32],
    right_rows: NDArray[np.int32],
) -> _Pairs:
    """Return the pairs of a block, at least `least` steps near, the lower row of each first."""
    import numpy as np

    product = (vectors[_view(left_rows)] @ vectors[_view(right_rows)].T).ravel()
    places = np.flatnonzero(product >= np.float32((least - 1) * STEP))
    row, column = np.divmod(places, len(right_rows))
    left, right = left_rows[row], right_rows[column]
    kept = comparison.counts(left, right)
    left, right = left[kept], right[kept]
    scaled = product[places[kept]].astype(np.float64) / STEP
    steps = np.rint(scaled).astype(np.int32)
    ties = np.abs(scaled - np.floor(scaled) - 0.5) <= _ROUNDING / STEP
    steps[ties] = np.rint(cosines(vectors, left[ties], right[ties]) / STEP)
    near = steps >= least
    left, right = np.minimum(left, right)[near], np.maximum(left, right)[near]
    return left, right, steps[near].clip(0, round(1 / STEP)).astype(np.uint16)


def cosines(
    vectors: NDArray[np.float32], left: NDArray[np.int32], right: NDArray[np.int32]
) -> NDArray[np.float64]:
    """Return the cosine of each pair of rows in float64, shape (pairs,)."""
    import numpy as np

    similarities = np.empty(len(left))
    for start in range(0, len(left), _BATCH):
        part = slice(start, start + _BATCH)
        first, second = (vectors[rows[part]].astype(np.float64) for rows in (left, right))
        similarities[part] = np.einsum("ij,ij->i", first, second)
    return similarities


def _view(rows: NDArray[np.int32]) -> NDArray[np.int32] | slice:
    """Return consecutive rows as a slice, which copies nothing."""
    if rows[-1] - rows[0] == len(rows) - 1:
        return slice(int(rows[0]), int(rows[-1]) + 1)
    return rows


def _joined(rows: int, groups: list[_Pairs]) -> Neighbours:
    import numpy as np

    left, right, steps = (
        np.concatenate([pairs[part] for pairs in groups]) if groups else np.empty(0, kind)
        for part, kind in enumerate((np.int32, np.int32, np.uint16))
    )
    return Neighbours(rows, left, right, steps)
