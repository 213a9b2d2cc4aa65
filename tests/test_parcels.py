"""Rows are laid into parcels of a bounded size, what lies near together."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from slowwave.consolidation.clustering.parcels import make_parcels

NEAR = 0.4


def unit(rows: list[list[float]]) -> NDArray[np.float32]:
    """Return vectors of unit length."""
    found = np.asarray(rows, dtype=np.float32)
    return found / np.linalg.norm(found, axis=1, keepdims=True)


def around(middle: int, count: int) -> list[list[float]]:
    """Return rows close to one axis, each a little further away than the one before."""
    return [
        [float(at == middle) + 0.01 * step * (at == 7) for at in range(8)] for step in range(count)
    ]


def test_what_lies_near_is_together_and_what_nothing_lies_near_is_in_none() -> None:
    vectors = unit([*around(0, 3), *around(1, 3), *around(2, 1)])
    found = make_parcels(vectors, range(7), [], [1] * 7, 6, NEAR, 3)
    assert sorted(map(sorted, found)) == [[0, 1, 2], [3, 4, 5]]


def test_small_parts_share_a_parcel() -> None:
    vectors = unit([*around(0, 2), *around(1, 2)])
    assert [sorted(one) for one in make_parcels(vectors, range(4), [], [1] * 4, 6, NEAR, 4)] == [
        [0, 1, 2, 3]
    ]


def test_rows_that_belong_together_are_laid_together_however_far_apart_they_lie() -> None:
    vectors = unit([*around(0, 1), *around(1, 1)])
    assert make_parcels(vectors, range(2), [], [1, 1], 6, NEAR, 4) == []
    assert [
        sorted(one) for one in make_parcels(vectors, range(2), [[0, 1]], [1, 1], 6, NEAR, 4)
    ] == [[0, 1]]


def test_what_was_shown_before_is_laid_beside_something_new_only() -> None:
    vectors = unit([*around(0, 2), *around(1, 2)])
    assert [sorted(one) for one in make_parcels(vectors, [0], [], [1] * 4, 6, NEAR, 9)] == [[0, 1]]


def test_a_row_that_no_parcel_has_room_for_joins_its_nearest_all_the_same() -> None:
    found = make_parcels(unit(around(0, 3)), range(3), [], [1] * 3, 6, NEAR, 2)
    assert [sorted(one) for one in found] == [[0, 1, 2]]


def test_no_parcel_takes_in_more_than_one_row_beyond_its_size() -> None:
    found = make_parcels(unit(around(0, 12)), range(12), [], [3] * 12, 11, NEAR, 5)
    assert max(3 * len(one) for one in found) <= 5 + 3


@given(
    st.lists(
        st.lists(
            st.floats(-1, 1, allow_nan=False).map(lambda one: one + 1.5), min_size=3, max_size=3
        ),
        min_size=2,
        max_size=20,
    ),
    st.integers(2, 8),
)
def test_a_row_is_in_one_parcel_at_the_most_and_no_parcel_is_much_too_large(
    rows: list[list[float]], most: int
) -> None:
    vectors = unit(rows)
    found = make_parcels(vectors, range(len(rows)), [], [1] * len(rows), 6, NEAR, most)
    laid = [row for parcel in found for row in parcel]
    assert len(set(laid)) == len(laid)
    assert all(len(parcel) <= most + 1 for parcel in found)
    # All of these point into one corner: each has a row near it, and two fit into each parcel.
    assert laid
