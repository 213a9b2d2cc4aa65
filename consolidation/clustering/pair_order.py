"""Order pairs so that those with a common text are near each other.

Readings of texts are cached for a while; in the order of rows, a large file would have each text
read again for each of its pairs.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


def order_pairs_by_text(
    left: NDArray[np.int32], right: NDArray[np.int32], count: int
) -> NDArray[np.intp]:
    """Return the order of pairs of `count` texts, shape (pairs,).

    The texts are numbered by reverse Cuthill-McKee (1969, "Reducing the bandwidth of sparse
    symmetric matrices"), which keeps the numbers of a pair close.
    """
    import numpy as np
    from scipy.sparse import coo_array
    from scipy.sparse.csgraph import reverse_cuthill_mckee

    if not len(left):
        return np.empty(0, dtype=np.intp)
    graph = coo_array((np.ones(len(left), np.int8), (left, right)), shape=(count, count))
    order = reverse_cuthill_mckee((graph + graph.T).tocsr(), symmetric_mode=True)
    number = np.empty(count, dtype=np.int32)
    number[order] = np.arange(count, dtype=np.int32)
    ends = np.sort(np.stack([number[left], number[right]]), axis=0)
    return np.lexsort((ends[1], ends[0]))
