"""Which vectors lie near each other: a sparse graph of the pairs above a similarity."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray
    from scipy.sparse import csr_array

# Rows of one block of the product: 2,048 x 2,048 float32 are 16 MB, which stays near the
# processor and far from the memory that the whole matrix would take.
BLOCK = 2_048


def similar_pairs(vectors: NDArray[np.float32], similarity: float) -> csr_array:
    """Give the graph of the pairs whose cosine is at least `similarity`.

    vectors: float32, shape (n, d), unit length. Gives a symmetric sparse matrix of cosine
    *distances*, shape (n, n), with an explicit zero nowhere and no diagonal, as scikit-learn's
    DBSCAN reads it. Exact: blocks of a float32 matrix product, each pair once; a block is
    dropped as soon as its pairs are taken, so memory grows with the pairs and not with n * n.
    """
    import numpy as np
    from scipy.sparse import coo_array

    n = len(vectors)
    rows, columns, distances = [], [], []
    for top in range(0, n, BLOCK):
        upper = vectors[top : top + BLOCK]
        for left in range(top, n, BLOCK):
            product = upper @ vectors[left : left + BLOCK].T
            near = np.nonzero(product >= similarity)
            i, j = near[0] + top, near[1] + left
            once = i < j
            rows.append(i[once])
            columns.append(j[once])
            # Twins may come out a hair above 1: a distance is never below the smallest step,
            # since a sparse zero would mean "no edge".
            distances.append(np.maximum(1.0 - product[near][once], np.float32(1e-7)))
    i, j = (np.concatenate(part) if part else np.empty(0, int) for part in (rows, columns))
    d = np.concatenate(distances) if distances else np.empty(0, np.float32)
    graph = coo_array((np.r_[d, d], (np.r_[i, j], np.r_[j, i])), shape=(n, n)).tocsr()
    graph.sort_indices()
    return graph
