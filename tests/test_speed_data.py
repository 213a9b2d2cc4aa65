"""The data of the speed benchmark: made memories stay what their originals are to each other."""

from __future__ import annotations

import importlib
import re
import sys
from itertools import islice

import numpy as np
import pytest

from benchmarks.speed.base import Base
from benchmarks.speed.clock import REST, Clock
from benchmarks.speed.data import Copy, Maker
from benchmarks.speed.processes import run
from benchmarks.speed.renaming import Renaming
from benchmarks.speed.steps import STAGES, VECTORS
from fixtures.night import FLAVOURS, load


@pytest.fixture(scope="module")
def base() -> Base:
    """The texts of the fixtures; where they lie plays no part here, so they lie anywhere."""
    pairs = [(flavour, told) for flavour in FLAVOURS for told in load(flavour).told]
    vectors = np.random.default_rng(1).standard_normal((len(pairs), 64)).astype(np.float32)
    # Not alike in all directions, as real vectors are not.
    vectors *= np.linspace(2.0, 0.5, 64, dtype=np.float32)
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    flavours, told = zip(*pairs, strict=True)
    return Base(told, flavours, vectors, "any")


@pytest.fixture(scope="module")
def copies(base: Base) -> list[Copy]:
    return list(islice(Maker(base).copies(), 4))


def test_what_differs_in_the_base_differs_in_every_copy(base: Base) -> None:
    renaming = Renaming(base)
    texts = {told.text for told in base.told}
    for copy in (0, 1, 7):
        assert len({renaming.told_anew(text, copy) for text in texts}) == len(texts)


def test_a_copy_tells_of_other_names_and_the_first_one_does_not(base: Base) -> None:
    renaming = Renaming(base)
    text = next(told.text for told in base.told if "Corvadin" in told.text)
    assert renaming.told_anew(text, 0) == text
    anew = [renaming.told_anew(text, copy) for copy in (1, 2)]
    assert "Corvadin" not in anew[0] + anew[1]
    assert anew[0] != anew[1]


def test_what_has_nothing_to_be_renamed_says_what_it_belongs_to(base: Base) -> None:
    renaming = Renaming(base)
    text = "Always show the discount as a separate line in an offer."
    assert text in {told.text for told in base.told}
    anew = [renaming.told_anew(text, copy) for copy in (1, 2)]
    assert all(re.fullmatch(rf"{re.escape(text[:-1])} \([A-Z][a-z]+\)\.", one) for one in anew), (
        anew
    )
    assert anew[0] != anew[1]


def test_a_number_becomes_one_of_as_many_digits_and_a_year_stays(base: Base) -> None:
    renaming = Renaming(base)
    for number in ("4620", "4260", "101"):
        anew = renaming.told_anew(f"It is {number} now.", 3)
        assert re.fullmatch(rf"It is \d{{{len(number)}}} now\.", anew), anew
        assert number not in anew
    assert renaming.told_anew("It was so in 2024.", 3) == "It was so in 2024."


def test_times_shares_and_small_numbers_stay_as_they_may_be_told_in_words(base: Base) -> None:
    renaming = Renaming(base)
    for part in ("at 14:00", "by 120%", "for 90 minutes", "on 2026-02-03", "3,000 of them"):
        assert part in renaming.told_anew(f"It runs {part}, always.", 5)


def test_within_a_copy_memories_lie_as_they_did_and_across_copies_they_do_not(
    base: Base, copies: list[Copy]
) -> None:
    rows = np.array(copies[0].rows)
    # Those about one person lie nearer to each other on purpose.
    flavours = np.array(base.flavours)[rows]
    moved = np.abs(
        copies[0].vectors @ copies[0].vectors.T - base.vectors[rows] @ base.vectors[rows].T
    )
    kept = [float(np.quantile(moved[np.ix_(f, f)], 0.9)) < 0.05 for f in _masks(flavours)]
    assert kept.count(True) >= len(FLAVOURS) - 1
    shared = sorted(set(copies[0].rows) & set(copies[1].rows))
    here = copies[0].vectors[np.searchsorted(rows, shared)]
    there = copies[1].vectors[np.searchsorted(np.array(copies[1].rows), shared)]
    assert float(np.median(np.einsum("ij,ij->i", here, there))) < 0.9


def test_the_same_copies_come_every_time(base: Base, copies: list[Copy]) -> None:
    for copy, again in zip(copies, Maker(base).copies(), strict=False):
        assert copy.rows == again.rows
        assert copy.vectors.tobytes() == again.vectors.tobytes()


def test_most_facts_are_told_once_in_a_copy_and_some_in_full(
    base: Base, copies: list[Copy]
) -> None:
    large = [set(group) for group in base.groups if len(group) > 3]
    told = [len(group & set(copy.rows)) / len(group) for copy in copies for group in large]
    once = sum(share < 0.2 for share in told) / len(told)
    full = sum(share == 1 for share in told) / len(told)
    assert 0.6 < once < 0.9
    assert 0.05 < full < 0.2


@pytest.mark.parametrize("place", [*STAGES.values(), VECTORS])
def test_every_stage_that_the_clock_watches_is_there(place: str) -> None:
    module, name = place.split(":")
    assert callable(getattr(importlib.import_module(module), name))


def test_a_stage_is_not_counted_for_the_one_around_it() -> None:
    clock = Clock()
    with clock.stage("outer"), clock.stage("inner"):
        sum(range(1_000_000))
    figures = clock.total()
    assert set(figures["stages"]) == {REST, "outer", "inner"}
    parts = [one["processor"] for one in figures["stages"].values()]
    assert figures["processor"] == pytest.approx(sum(parts))
    inner, outer = (figures["stages"][name]["processor"] for name in ("inner", "outer"))
    assert inner > outer


def test_a_step_that_fails_says_why() -> None:
    with pytest.raises(RuntimeError, match="no such thing"):
        run([sys.executable, "-c", "raise SystemExit('no such thing')"])


def _masks(flavours: np.ndarray) -> list[np.ndarray]:
    return [np.flatnonzero(flavours == one) for one in FLAVOURS]
