"""An order of pairs in which those that have a text in common stand near each other.

What was read of a text is remembered for a while. Pairs in the order of rows would have each text
of a large file read again for each of its pairs.
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

    By the numbers that Cuthill and McKee give the texts (1969, "Reducing the bandwidth of sparse
    symmetric matrices"): those of a pair differ as little as may be.
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
