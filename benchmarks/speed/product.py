"""The neighbor stage by itself: its floating-point rate against that of the bare product."""

from __future__ import annotations

import time
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from benchmarks.quality.bench import Json
from slowwave.consolidation.clustering.blocks import Block, all_pairs
from slowwave.consolidation.clustering.clusters import find_clusters
from slowwave.consolidation.clustering.neighbours import CELLS_FROM, Neighbours, similar_pairs
from slowwave.consolidation.runtime.threads import in_threads

from .clock import Clock

# Enough blocks of the bare product to measure its rate; all of them would take as long again.
_BLOCKS = 400
# Rows whose true neighbors are all looked up, to see how many of them were found.
_ASKED = 2_000


def neighbour_stage(vectors: NDArray[np.float32], similarity: float) -> tuple[Json, Neighbours]:
    """Time the search for neighbors, with the bare product measured before and after it."""
    blocks = all_pairs(len(vectors)).blocks
    some = blocks[:: max(1, len(blocks) // _BLOCKS)]
    bare = [_bare(vectors, some[::2])]
    clock = Clock()
    found = similar_pairs(vectors, similarity)
    figures = clock.total() | {"pairs found": len(found)}
    bare.append(_bare(vectors, some[1::2] or some))
    operations, seconds, processor = (sum(part) for part in zip(*bare, strict=True))
    figures["bare GFLOP/s"] = operations / seconds / 1e9
    if len(vectors) < CELLS_FROM:
        # Each pair once: what is computed twice in the blocks on the diagonal does not count.
        needed = vectors.shape[1] * len(vectors) * (len(vectors) - 1.0)
        figures["GFLOP/s"] = needed / figures["seconds"] / 1e9
        figures["share of bare"] = figures["GFLOP/s"] / figures["bare GFLOP/s"]
        by_processor = (needed / figures["processor"]) / (operations / processor)
        figures["share of bare, by processor time"] = by_processor
    else:
        figures["recall"] = _recall(vectors, similarity, found)
    return figures, found


def both_stages(vectors: NDArray[np.float32], similarity: float) -> Json:
    """Time the search for neighbors and the grouping after it."""
    figures, found = neighbour_stage(vectors, similarity)
    clock = Clock()
    sizes = [1] * len(vectors)
    groups = find_clusters(found, 1.0 - similarity, sizes, len(vectors))
    return {"neighbours": figures, "grouping": clock.total() | {"groups": len(groups)}}


def _bare(vectors: NDArray[np.float32], blocks: Sequence[Block]) -> tuple[float, float, float]:
    """Return the operations of the products alone, as many at once, and the time they take."""

    def product(block: Block) -> int:
        one, other = (vectors[part[0] : part[-1] + 1] for part in block)
        found: NDArray[np.float32] = one @ other.T
        return 2 * int(vectors.shape[1]) * int(found.size)

    began = time.perf_counter(), time.process_time()
    operations = sum(in_threads(product, blocks))
    return operations, time.perf_counter() - began[0], time.process_time() - began[1]


def _recall(vectors: NDArray[np.float32], similarity: float, found: Neighbours) -> float:
    """Return the share of the true neighbors of some rows that are among those found."""
    asked = np.sort(np.random.default_rng(3).choice(len(vectors), _ASKED, replace=False))
    true = similar_pairs(vectors, similarity, fresh=asked)
    count = len(vectors)
    keys = found.left.astype(np.int64) * count + found.right
    wanted = true.left.astype(np.int64) * count + true.right
    return float(np.isin(wanted, keys).mean()) if len(wanted) else 1.0
