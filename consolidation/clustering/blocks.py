"""Choose which rows are compared: all pairs, pairs with new rows, or pairs in near cells."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from slowwave.consolidation.runtime.threads import in_threads

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

# Rows of one block of a matrix product: 1,024 x 1,024 float32 are 4 MB, which fit into the cache.
# The fastest of 1,024, 2,048 and 4,096 with one block per core (measured at 20,000 rows).
BLOCK = 1_024

# The average number of rows per cell, and the number of cells that a row is compared with: chosen
# for a recall of 0.999 (benchmarks/speed).
CELL = 500
PROBES = 64

Block = tuple["NDArray[np.int32]", "NDArray[np.int32]"]


@dataclass(frozen=True)
class Comparison:
    """The blocks to compare, and which pairs of each count, so that each counts once."""

    # Pairs of row arrays, the first compared with the second.
    blocks: Sequence[Block]
    # Returns whether pairs of (row, second row) found in a block count there.
    counts: Callable[[NDArray[np.int32], NDArray[np.int32]], NDArray[np.bool_]]


def all_pairs(rows: int) -> Comparison:
    """Compare all rows with each other."""
    parts = _parts(_numbers(rows))
    blocks = [(upper, lower) for number, upper in enumerate(parts) for lower in parts[number:]]
    return Comparison(blocks, lambda left, right: left < right)


def pairs_with(fresh: NDArray[np.intp], rows: int) -> Comparison:
    """Compare fresh rows with all rows."""
    import numpy as np

    is_fresh = np.zeros(rows, dtype=bool)
    is_fresh[fresh] = True
    all_parts = _parts(_numbers(rows))
    blocks = [(part, target) for part in _parts(fresh.astype(np.int32)) for target in all_parts]
    # Two fresh rows meet twice.
    return Comparison(blocks, lambda left, right: (left < right) | ~is_fresh[right])


def likely_pairs(vectors: NDArray[np.float32]) -> Comparison:
    """Compare each row with the rows in the cells nearest to it.

    vectors: float32, shape (n, d), unit length. An inverted file (Sivic and Zisserman 2003) joined
    with itself: a pair is missed only if neither row probes the other's cell.
    """
    import numpy as np

    home, probes = _cells(vectors)
    order = np.argsort(home, kind="stable").astype(np.int32)
    members = np.split(order, np.flatnonzero(np.diff(home[order])) + 1)
    flat = probes.ravel()
    by_cell = np.argsort(flat, kind="stable")
    starts = np.searchsorted(flat[by_cell], np.arange(int(home.max()) + 2))
    blocks: list[Block] = []
    for part in members:
        cell = int(home[part[0]])
        probing_rows = (by_cell[starts[cell] : starts[cell + 1]] // probes.shape[1]).astype(
            np.int32
        )
        blocks += [
            (visitors, cell_rows) for visitors in _parts(probing_rows) for cell_rows in _parts(part)
        ]

    def counts(left: NDArray[np.int32], right: NDArray[np.int32]) -> NDArray[np.bool_]:
        # If each probes the other's cell, the pair is found twice.
        mutual: NDArray[np.bool_] = (probes[right] == home[left][:, None]).any(axis=1)
        return (left < right) | ~mutual

    return Comparison(blocks, counts)


def _cells(vectors: NDArray[np.float32]) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
    """Return each row's cell, shape (n,), and the cells it probes, shape (n, p), its own first."""
    import numpy as np
    from sklearn.cluster import MiniBatchKMeans

    count = max(2, len(vectors) // CELL)
    probing = min(PROBES, count)
    # Enough rows to find centers, evenly spread, so that the result is deterministic.
    sample = vectors[:: max(1, len(vectors) // (64 * count))]
    means = MiniBatchKMeans(count, init="random", n_init=1, batch_size=8 * BLOCK, random_state=0)
    centres = means.fit(sample).cluster_centers_
    centres = (centres / np.linalg.norm(centres, axis=1, keepdims=True)).astype(np.float32)

    def nearest(rows: NDArray[np.int32]) -> NDArray[np.int32]:
        near = vectors[rows[0] : rows[-1] + 1] @ centres.T
        nearest_few = np.argpartition(-near, probing - 1, axis=1)[:, :probing]
        best = np.argsort(-np.take_along_axis(near, nearest_few, axis=1), axis=1, kind="stable")
        return np.take_along_axis(nearest_few, best, axis=1).astype(np.int32)

    probes = np.concatenate(list(in_threads(nearest, _parts(_numbers(len(vectors))))))
    return probes[:, 0], probes


def _numbers(rows: int) -> NDArray[np.int32]:
    import numpy as np

    return np.arange(rows, dtype=np.int32)


def _parts(rows: NDArray[np.int32]) -> list[NDArray[np.int32]]:
    return [rows[start : start + BLOCK] for start in range(0, len(rows), BLOCK)]
