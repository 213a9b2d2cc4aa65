"""Modules of `text` and `facts` by themselves: what they make of a text."""

from __future__ import annotations

import pytest

from slowwave.consolidation.facts.languages import is_english
from slowwave.consolidation.facts.reading import read
from slowwave.consolidation.text.announcing import without_announcements

# -------------------------------------------------------------- announcing


@pytest.mark.parametrize(
    ("announced", "text"),
    [
        ("User said that the kiln is hot.", "the kiln is hot."),
        ("NOTE: User confirmed that the kiln is hot.", "the kiln is hot."),
        ("The user told me that she fires at night.", "The user fires at night."),
        ("- **Kiln** is hot.", "Kiln is hot."),
        ("Remember: the kiln is hot. FYI: it cools slowly.", "the kiln is hot. it cools slowly."),
    ],
)
def test_what_only_announces_is_taken_off(announced: str, text: str) -> None:
    assert without_announcements(announced) == text


@pytest.mark.parametrize(
    "text",
    [
        "The doctor mentioned the lump.",
        "TODO: fire the kiln.",
        "[ ] fire the kiln",
        "The user said no.",
        "-4 degrees is the limit.",
        "Note:",
    ],
)
def test_what_says_something_itself_is_left(text: str) -> None:
    assert without_announcements(text) == text


# ----------------------------------------------------------------- english


@pytest.mark.parametrize(
    "text",
    [
        "The kiln is fired at 1,240 °C for 20 µs.",
        "kiln temperature",
        "Zoë fires the kiln.",
        "Ask Ana",
    ],
)
def test_english_is_known_as_english(text: str) -> None:
    assert is_english(text)


@pytest.mark.parametrize(
    "text",
    [
        "Der Ofen wird nachts geheizt und nicht am Tag.",
        "Печь горячая.",
        "Ana paga a Juan.",
        "In Graz wohnt Ann.",
    ],
)
def test_another_language_is_not(text: str) -> None:
    assert not is_english(text)


# ------------------------------------------------------------------- names


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("Ask Bjarne about the kiln.", ["bjarne"]),
        ("Bjarne fires the kiln.", ["bjarne"]),
        ("Kilns are hot.", []),
        ("We meet on Monday in March.", []),
        ("Never restart the broker.", []),
    ],
)
def test_a_name_is_a_capital_that_no_rule_of_spelling_asks_for(text: str, names: list[str]) -> None:
    assert list(read(text).names) == names
