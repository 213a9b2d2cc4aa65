"""Which rows are compared with which: all with all, some with all, or those in near cells."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from functools import cache
from itertools import islice
from typing import TYPE_CHECKING, TypeVar

from slowwave.consolidation.runtime.threads import cores

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray
    from threadpoolctl import ThreadpoolController

# Rows of one block of a product: 1,024 x 1,024 float32 are 4 MB, which stay near the processor.
# Of 1,024, 2,048 and 4,096 the fastest with a block a core (measured at 20,000 rows).
BLOCK = 1_024

# Rows of a cell on average, and how many cells a row looks into: chosen for a recall of 0.999
# (benchmarks/speed).
CELL = 500
PROBES = 64

T = TypeVar("T")
U = TypeVar("U")
Block = tuple["NDArray[np.int32]", "NDArray[np.int32]"]


@dataclass(frozen=True)
class Comparison:
    """What is compared with what, so that each pair counts once."""

    # Each: two arrays of rows, the first to be compared with the second.
    blocks: Sequence[Block]
    # Of pairs found in a block, (row, other row), whether they count there.
    counts: Callable[[NDArray[np.int32], NDArray[np.int32]], NDArray[np.bool_]]


def all_pairs(rows: int) -> Comparison:
    """Compare all with all."""
    parts = _parts(_numbers(rows))
    blocks = [(one, other) for at, one in enumerate(parts) for other in parts[at:]]
    return Comparison(blocks, lambda left, right: left < right)


def pairs_with(fresh: NDArray[np.intp], rows: int) -> Comparison:
    """Compare some rows with all."""
    import numpy as np

    is_fresh = np.zeros(rows, dtype=bool)
    is_fresh[fresh] = True
    everyone = _parts(_numbers(rows))
    blocks = [(part, other) for part in _parts(fresh.astype(np.int32)) for other in everyone]
    # Two fresh ones meet twice.
    return Comparison(blocks, lambda left, right: (left < right) | ~is_fresh[right])


def in_threads(function: Callable[[T], U], items: Sequence[T]) -> Iterator[U]:
    """Yield the function of each item, in order, as many at once as there are processors.

    Matrix products within take one thread each: that is faster than one after the other with
    all. No more is begun than is asked for, so that a caller who stops need not wait.
    """
    if len(items) < 2:
        yield from map(function, items)
        return
    workers = cores()
    waiting = iter(items)
    with _blas().limit(limits=1, user_api="blas"), ThreadPoolExecutor(workers) as pool:
        begun: deque[Future[U]] = deque(
            pool.submit(function, item) for item in islice(waiting, 2 * workers)
        )
        while begun:
            done = begun.popleft().result()
            begun.extend(pool.submit(function, item) for item in islice(waiting, 1))
            yield done


def likely_pairs(vectors: NDArray[np.float32]) -> Comparison:
    """Compare each row with those of the cells whose centres lie nearest to it.

    vectors: float32, shape (n, d), unit length. An inverted file as in Sivic and Zisserman 2003,
    joined with itself: a pair is missed only if neither looks into the other's cell.
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
        lookers = (by_cell[starts[cell] : starts[cell + 1]] // probes.shape[1]).astype(np.int32)
        blocks += [(one, other) for one in _parts(lookers) for other in _parts(part)]

    def counts(left: NDArray[np.int32], right: NDArray[np.int32]) -> NDArray[np.bool_]:
        # Where each looks into the other's cell the pair is found twice.
        mutual: NDArray[np.bool_] = (probes[right] == home[left][:, None]).any(axis=1)
        return (left < right) | ~mutual

    return Comparison(blocks, counts)


def _cells(vectors: NDArray[np.float32]) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
    """Return each row's cell, shape (n,), and those it looks into, its own first, shape (n, p)."""
    import numpy as np
    from sklearn.cluster import MiniBatchKMeans

    count = max(2, len(vectors) // CELL)
    probing = min(PROBES, count)
    # Enough rows to find centres with; evenly spread, so that nothing is left to chance.
    sample = vectors[:: max(1, len(vectors) // (64 * count))]
    means = MiniBatchKMeans(count, init="random", n_init=1, batch_size=8 * BLOCK, random_state=0)
    centres = means.fit(sample).cluster_centers_
    centres = (centres / np.linalg.norm(centres, axis=1, keepdims=True)).astype(np.float32)

    def nearest(rows: NDArray[np.int32]) -> NDArray[np.int32]:
        near = vectors[rows[0] : rows[-1] + 1] @ centres.T
        some = np.argpartition(-near, probing - 1, axis=1)[:, :probing]
        best = np.argsort(-np.take_along_axis(near, some, axis=1), axis=1, kind="stable")
        return np.take_along_axis(some, best, axis=1).astype(np.int32)

    probes = np.concatenate(list(in_threads(nearest, _parts(_numbers(len(vectors))))))
    return probes[:, 0], probes


def _numbers(rows: int) -> NDArray[np.int32]:
    import numpy as np

    return np.arange(rows, dtype=np.int32)


def _parts(rows: NDArray[np.int32]) -> list[NDArray[np.int32]]:
    return [rows[start : start + BLOCK] for start in range(0, len(rows), BLOCK)]


@cache
def _blas() -> ThreadpoolController:
    """Find the library that multiplies matrices; numpy has loaded it by now."""
    import numpy  # noqa: F401 - what is not loaded is not found
    from threadpoolctl import ThreadpoolController

    return ThreadpoolController()
