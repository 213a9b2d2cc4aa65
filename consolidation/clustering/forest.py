"""The minimum spanning forest of near texts, kept between nights: all that clusters depend on.

With `min_samples=2`, the clusters of DBSCAN are those of single linkage, and these are pieces of
the forest (Gower and Ross 1969). A later night only compares the texts that are new, or that were
cut off from their tree when others left. A text is identified by its hash and its vector.
"""

from __future__ import annotations

import zlib
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from hashlib import blake2b
from typing import TYPE_CHECKING

from .neighbours import STEP, Neighbours, similar_pairs

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

_MAX_STEPS = round(1 / STEP)
_SIGN_BYTES = 16
# Before the signs: their number, and the width in steps.
_COUNT_BYTES = 4
_WIDTH_BYTES = 2
# Two numbers and a similarity.
_PAIR_BYTES = 10
# The share of new texts above which all are compared: pairs of new texts are computed twice.
_MAX_NEW = 0.5
# The number of pairs of each row above which only the nearest are sorted at first.
_PAIRS_A_ROW = 30


def spanning_forest(near: Neighbours, ranks: NDArray[np.int64] | None = None) -> Neighbours:
    """Return the pairs of the minimum spanning forest.

    ranks: of the rows, shape (near.rows,); of equally near pairs those of the lowest ranks count.
    None ranks rows by their numbers.
    """
    import numpy as np

    ranks = np.arange(near.rows) if ranks is None else ranks
    nearest = _PAIRS_A_ROW * near.rows
    if len(near) <= nearest:
        return _join_nearest(near, ranks)
    # As Filter-Kruskal (Osipov, Sanders and Singler 2009): most pairs lie within the trees of the
    # nearest.
    is_nearest = near.steps >= np.partition(near.steps, -nearest)[-nearest]
    trees = _join_nearest(near.select(is_nearest), ranks)
    labels = components(trees)
    is_between = ~is_nearest & (labels[near.left] != labels[near.right])
    return _join_nearest(trees.union(near.select(is_between)), ranks)


def _join_nearest(near: Neighbours, ranks: NDArray[np.int64]) -> Neighbours:
    """Return the spanning forest (Boruvka 1926), sorted: each tree is joined to its nearest."""
    import numpy as np

    rows = near.rows
    ends = ranks[near.left], ranks[near.right]
    # Different for each pair, so that there is only one such forest.
    weights = (_MAX_STEPS - near.steps.astype(np.int64)) * rows + np.minimum(*ends)
    weights = weights * rows + np.maximum(*ends)
    labels = np.arange(near.rows)
    in_forest = np.zeros(len(near), dtype=bool)
    between = np.arange(len(near))
    while len(between):
        left, right = labels[near.left[between]], labels[near.right[between]]
        nearest = np.full(rows, np.iinfo(np.int64).max)
        np.minimum.at(nearest, left, weights[between])
        np.minimum.at(nearest, right, weights[between])
        joins = weights[between] == np.maximum(nearest[left], nearest[right])
        in_forest[between[joins]] = True
        labels = _lowest_of(rows, left[joins], right[joins])[labels]
        between = between[labels[near.left[between]] != labels[near.right[between]]]
    forest = near.select(in_forest)
    order = np.lexsort((forest.right, forest.left))
    return Neighbours(rows, forest.left[order], forest.right[order], forest.steps[order])


def components(near: Neighbours) -> NDArray[np.intp]:
    """Return the first row of the component of each row, shape (near.rows,)."""
    return _lowest_of(near.rows, near.left, near.right)


def _lowest_of(
    rows: int, left: NDArray[np.integer], right: NDArray[np.integer]
) -> NDArray[np.intp]:
    """Return the lowest row that pairs of rows connect each row with, shape (rows,)."""
    import numpy as np

    lowest = np.arange(rows)
    while len(left):
        ends = lowest[left], lowest[right]
        for end in ends:
            np.minimum.at(lowest, end, np.minimum(*ends))
        while not np.array_equal(lowest, lower := lowest[lowest]):
            lowest = lower
        apart = lowest[left] != lowest[right]
        left, right = left[apart], right[apart]
    return lowest


class StoredForest:
    """The forest that an earlier night kept."""

    def __init__(self, content: bytes = b"") -> None:
        self._content = content
        self._new: bytes | None = None
        # Whether the last forest was made from the kept one.
        self.is_grown = False

    @property
    def is_kept(self) -> bool:
        """Whether the file has one."""
        return bool(self._content)

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

        earlier = _unpack(self._content, width)
        numbers = np.array([earlier.numbers.get(sign, -1) for sign in signs], dtype=np.int32)
        kept = earlier.among(numbers)
        is_fresh = numbers < 0
        if not is_fresh.all():
            is_fresh |= _is_cut_off(components(earlier.pairs)[numbers], components(kept))
        self.is_grown = bool(is_fresh.sum() <= _MAX_NEW * len(signs))
        if self.is_grown:
            kept = kept.select(~(is_fresh[kept.left] | is_fresh[kept.right]))
            fresh = np.flatnonzero(is_fresh)
            near = kept.union(similar_pairs(vectors, width, fresh)) if len(fresh) else kept
        else:
            near = compare_all()
        ranks = np.empty(len(signs), dtype=np.int64)
        ranks[sorted(range(len(signs)), key=signs.__getitem__)] = np.arange(len(signs))
        forest = spanning_forest(near, ranks)
        content = _pack(signs, forest, width)
        self._new = content if content != self._content else None
        return forest

    def taken(self) -> bytes | None:
        """Return the new forest, only once; None if there is none."""
        new, self._new = self._new, None
        return new


def sign_of(text_hash: str, vector: NDArray[np.float32]) -> bytes:
    """Return the identity of a text: a hash of its hash and its float32 vector, shape (d,)."""
    return blake2b(text_hash.encode() + vector.tobytes(), digest_size=_SIGN_BYTES).digest()


@dataclass(frozen=True)
class _KnownTexts:
    """The texts of an earlier night: their numbers by sign, and their forest by numbers."""

    numbers: dict[bytes, int]
    pairs: Neighbours

    def among(self, numbers: NDArray[np.int32]) -> Neighbours:
        """Return the pairs of the texts with these numbers, -1 for new texts."""
        import numpy as np

        text = np.full(len(self.numbers), -1, dtype=np.int32)
        there = np.flatnonzero(numbers >= 0)
        text[numbers[there]] = there
        return self.pairs.renumbered(text, len(numbers))


def _is_cut_off(trees: NDArray[np.intp], pieces: NDArray[np.intp]) -> NDArray[np.bool_]:
    """Return the rows, shape (n,), that are not in the largest remaining piece of their tree.

    Within that piece, what joins two rows is nearer than they are, as it was in the tree.
    """
    import numpy as np

    order = np.lexsort((pieces, -np.bincount(pieces)[pieces]))
    _, largest = np.unique(trees[order], return_index=True)
    cut_off: NDArray[np.bool_] = ~np.isin(pieces, pieces[order[largest]])
    return cut_off


def _pack(signs: Sequence[bytes], forest: Neighbours, width: float) -> bytes:
    """Return a forest as bytes, with zlib's checksum.

    Differences of sorted numbers and bytewise transposed numbers compress well.
    """
    import numpy as np

    left = np.diff(forest.left, prepend=np.int32(0))
    columns = (left, "<i4"), (forest.right, "<i4"), (forest.steps, "<u2")
    planes = [
        column.astype(kind).view(np.uint8).reshape(len(column), np.dtype(kind).itemsize).T.tobytes()
        for column, kind in columns
    ]
    sizes = (len(signs), _COUNT_BYTES), (round(width / STEP), _WIDTH_BYTES)
    head = [number.to_bytes(size, "little") for number, size in sizes]
    return zlib.compress(b"".join([*head, *signs, *planes]), level=1)


def _unpack(content: bytes, width: float) -> _KnownTexts:
    """Return the kept texts and their forest within a width.

    There are none if the kept forest is narrower or damaged: it is computed again.
    """
    import numpy as np

    numbers: dict[bytes, int] = {}
    planes = np.empty((_PAIR_BYTES, 0), dtype=np.uint8)
    with suppress(zlib.error, ValueError):
        whole = zlib.decompress(content)
        start = _COUNT_BYTES + _WIDTH_BYTES
        if int.from_bytes(whole[_COUNT_BYTES:start], "little") <= round(width / STEP):
            end = start + _SIGN_BYTES * int.from_bytes(whole[:_COUNT_BYTES], "little")
            planes = np.frombuffer(whole, np.uint8, offset=end).reshape(_PAIR_BYTES, -1)
            signs = (
                whole[offset : offset + _SIGN_BYTES] for offset in range(start, end, _SIGN_BYTES)
            )
            numbers = {sign: number for number, sign in enumerate(signs)}
    left, right, steps = (
        np.ascontiguousarray(planes[rows].T).view(kind).ravel()
        for rows, kind in ((slice(0, 4), "<i4"), (slice(4, 8), "<i4"), (slice(8, 10), "<u2"))
    )
    pairs = Neighbours(len(numbers), np.cumsum(left, dtype=np.int32), right, steps)
    # Within a narrower width, the forest is what is left of the wider one.
    return _KnownTexts(numbers, pairs.at_least(width))
