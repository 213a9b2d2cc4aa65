"""A look at the beginning spares a pattern most places of a text, and changes nothing it finds."""

from __future__ import annotations

import re

import pytest
from counting import examples
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from slowwave.consolidation.facts import values
from slowwave.consolidation.text.anyof import any_of


@pytest.mark.parametrize("kind", values._KINDS)
@settings(max_examples=examples(25), suppress_health_check=[HealthCheck.too_slow])
@given(data=st.data())
def test_a_look_at_a_place_hides_no_value(kind: str, data: st.DataObject) -> None:
    pattern = re.compile(rf"(?!\B[^\W\d])(?:{values._KINDS[kind]})", re.IGNORECASE)
    place = re.compile(values._PLACE, re.IGNORECASE)
    text = data.draw(st.from_regex(pattern))
    assert all(place.match(text, value.start()) for value in pattern.finditer(text))


def test_a_look_at_a_place_hides_no_url_whose_scheme_ends_in_signs() -> None:
    assert [value.kind for value in values.find_values("A.://0")] == ["url"]


@given(st.lists(st.text(alphabet="ab.", min_size=1), min_size=1), st.text(alphabet="ab."))
def test_of_many_words_the_longest_that_begins_at_a_place_is_found(
    words: list[str], text: str
) -> None:
    found = re.match(any_of(words), text)
    begun = [word for word in words if text.startswith(word)]
    assert (found and found.group()) == max(begun, key=len, default=None)
