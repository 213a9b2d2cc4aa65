"""The graph of near texts, kept between nights: only new texts are compared with all.

Every text has a number while the graph is kept, and each run adds a part: its new texts and
their pairs. A text is identified by its hash and its vector. A deleted text keeps its number, and
its pairs are ignored.
"""

from __future__ import annotations

import zlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from hashlib import blake2b
from typing import TYPE_CHECKING

from .neighbours import Neighbours, similar_pairs

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

_SIGN_BYTES = 16
_COUNT_BYTES = 4
# The maximum number of pairs in a part: some megabytes.
_PAIRS = 1_000_000
# The share of new texts above which all are compared: pairs of new texts are computed twice.
MAX_NEW = 0.5
# The share of numbers with existing texts below which all texts are renumbered.
_MIN_EXISTING = 0.5


class StoredGraph:
    """The graph that earlier runs kept, extended by new texts."""

    def __init__(
        self, parts: Sequence[bytes] = (), report: Callable[[int, int], None] | None = None
    ) -> None:
        """Take the parts of the file. report: called with the number of compared blocks."""
        self._parts = tuple(parts)
        self.report = report
        # How many parts stay, and the new parts.
        self._staying = len(self._parts)
        self._added: tuple[bytes, ...] = ()

    def extend(
        self,
        signs: list[bytes],
        vectors: NDArray[np.float32],
        reach: NDArray[np.float64],
        compare_all: Callable[[], Neighbours] | None = None,
    ) -> Neighbours:
        """Return the near pairs of these texts; only unknown texts are compared.

        signs: of the texts by `sign_of`, shape (n,). vectors: float32, shape (n, d), unit length.
        reach: as in `similar_pairs`. compare_all: returns all near pairs, if most are unknown.
        """
        import numpy as np

        known = read_known(self._parts)
        numbers = np.array([known.numbers.get(sign, -1) for sign in signs], dtype=np.int32)
        fresh = np.flatnonzero(numbers < 0)
        if len(fresh) > MAX_NEW * len(signs):
            return self._rebuild(
                signs,
                compare_all() if compare_all else similar_pairs(vectors, reach, report=self.report),
            )
        old = known.among(numbers)
        new = similar_pairs(vectors, reach, fresh=fresh, report=self.report)
        if len(signs) < _MIN_EXISTING * (len(known.numbers) + len(fresh)):
            return self._rebuild(signs, old.union(new))
        if len(fresh):
            numbers[fresh] = len(known.numbers) + np.arange(len(fresh), dtype=np.int32)
            self._added = _as_parts([signs[row] for row in fresh], new, numbers)
        return old.union(new)

    def taken(self) -> tuple[int, tuple[bytes, ...]]:
        """Return how many parts stay, and the new parts, only once."""
        added, self._added = self._added, ()
        return self._staying, added

    def _rebuild(self, signs: Sequence[bytes], neighbours: Neighbours) -> Neighbours:
        import numpy as np

        self._staying = 0
        self._added = _as_parts(signs, neighbours, np.arange(len(signs), dtype=np.int32))
        return neighbours


@dataclass(frozen=True)
class KnownTexts:
    """Texts that were compared before: their numbers by sign, and their pairs by numbers."""

    numbers: dict[bytes, int]
    pairs: Neighbours

    def among(self, numbers: NDArray[np.int32]) -> Neighbours:
        """Return the pairs of the texts with these numbers, -1 for new texts."""
        import numpy as np

        text = np.full(len(self.numbers), -1, dtype=np.int32)
        there = np.flatnonzero(numbers >= 0)
        text[numbers[there]] = there
        return self.pairs.renumbered(text, len(numbers))


def read_known(parts: Sequence[bytes]) -> KnownTexts:
    """Return the texts and pairs of parts; none if a part is damaged."""
    import numpy as np

    try:
        unpacked = [_unpacked(part) for part in parts]
    except (zlib.error, ValueError, TypeError):
        # A damaged graph is computed again: it only saves time.
        unpacked = []
    signs = [sign for part_signs, *_ in unpacked for sign in part_signs]
    left, right, steps = (
        np.concatenate([np.empty(0, kind), *(columns[at] for columns in unpacked)])
        for at, kind in enumerate((np.int32, np.int32, np.uint16), start=1)
    )
    numbers = {sign: number for number, sign in enumerate(signs)}
    return KnownTexts(numbers, Neighbours(len(signs), left, right, steps))


def _as_parts(
    signs: Sequence[bytes], pairs: Neighbours, numbers: NDArray[np.int32]
) -> tuple[bytes, ...]:
    """Return new texts and their pairs as parts, all texts in the first."""
    starts = range(0, max(1, len(pairs)), _PAIRS)
    return tuple(
        pack_part([] if start else signs, pairs, numbers, slice(start, start + _PAIRS))
        for start in starts
    )


def pack_part(
    signs: Sequence[bytes], pairs: Neighbours, numbers: NDArray[np.int32], part: slice
) -> bytes:
    """Return texts and pairs as bytes, with zlib's checksum.

    Differences of sorted numbers and bytewise transposed numbers compress well.
    """
    import numpy as np

    left, right, steps = numbers[pairs.left[part]], numbers[pairs.right[part]], pairs.steps[part]
    columns = (np.diff(left, prepend=np.int32(0)), "<i4"), (right, "<i4"), (steps, "<u2")
    planes = [
        column.astype(kind).view(np.uint8).reshape(len(column), np.dtype(kind).itemsize).T.tobytes()
        for column, kind in columns
    ]
    head = len(signs).to_bytes(_COUNT_BYTES, "little")
    return zlib.compress(b"".join([head, *signs, *planes]), level=1)


def _unpacked(
    part: bytes,
) -> tuple[list[bytes], NDArray[np.int32], NDArray[np.int32], NDArray[np.uint16]]:
    import numpy as np

    whole = zlib.decompress(part)
    texts = _COUNT_BYTES + _SIGN_BYTES * int.from_bytes(whole[:_COUNT_BYTES], "little")
    signs = [whole[at : at + _SIGN_BYTES] for at in range(_COUNT_BYTES, texts, _SIGN_BYTES)]
    planes = np.frombuffer(whole, np.uint8, offset=texts).reshape(10, -1)
    left, right, steps = (
        np.ascontiguousarray(planes[rows].T).view(kind).ravel()
        for rows, kind in ((slice(0, 4), "<i4"), (slice(4, 8), "<i4"), (slice(8, 10), "<u2"))
    )
    return signs, np.cumsum(left, dtype=np.int32), right, steps


def sign_of(text_hash: str, vector: NDArray[np.float32]) -> bytes:
    """Return the identity of a text: a hash of its hash and its float32 vector, shape (d,)."""
    return blake2b(text_hash.encode() + vector.tobytes(), digest_size=_SIGN_BYTES).digest()
