"""Each class of words is listed once: a word that is added to it counts wherever it is asked."""

from __future__ import annotations

import pytest

from slowwave.consolidation.comparison.guards import say_the_same
from slowwave.consolidation.comparison.mood import moods_of
from slowwave.consolidation.text import lexicon, units
from slowwave.consolidation.text.reading import read
from slowwave.consolidation.text.statements import statements_of
from slowwave.consolidation.updates.frames import frames_of

HEDGES = sorted(lexicon.HEDGES)


@pytest.mark.parametrize("hedge", HEDGES)
def test_what_is_hedged_is_no_statement_of_what_is_so(hedge: str) -> None:
    plain, hedged = read("The backup runs at night."), read(f"The backup {hedge} runs at night.")
    assert "may" in moods_of(hedged)
    assert not say_the_same(plain, hedged)


@pytest.mark.parametrize("hedge", HEDGES)
def test_a_hedged_value_is_in_doubt_wherever_the_hedge_stands(hedge: str) -> None:
    for text in (f"The port is {hedge} 8080.", f"{hedge.capitalize()}, the port is 8080."):
        assert [frame.doubted for frame in frames_of(text)] == [True]


@pytest.mark.parametrize("hedge", HEDGES)
def test_a_hedge_is_no_thing_and_no_name(hedge: str) -> None:
    text = f"{hedge.capitalize()} Ann keeps the key."
    (statement,) = statements_of(text)
    (plain,) = statements_of("Ann keeps the key.")
    assert statement.keys == plain.keys
    assert read(text).names == ("ann",)


def test_no_word_hedges_and_stresses() -> None:
    assert lexicon.HEDGES.isdisjoint(lexicon.STRESSING)


def test_sizes_and_weights_are_told_apart_from_times_and_amounts() -> None:
    assert {"m", "ft", "g", "lb", "l"} <= units.UNITS_OF_SIZE
    assert units.UNITS_OF_SIZE.isdisjoint({"s", "B", "%", "pound", *units.CURRENCIES})
    assert set(units.UNITS.values()) >= units.UNITS_OF_SIZE
