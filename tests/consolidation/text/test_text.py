"""Each module of `text` by itself: what it makes of a text."""

from __future__ import annotations

import re

import pytest

from slowwave.consolidation.text import units
from slowwave.consolidation.text.announcing import without_announcements
from slowwave.consolidation.text.case_folding import fold_case
from slowwave.consolidation.text.english import is_english
from slowwave.consolidation.text.literals import around_literals, find_literals
from slowwave.consolidation.text.names import find_names
from slowwave.consolidation.text.numerals import DIGITS, norm_of_digits, numbers_in_words
from slowwave.consolidation.text.reading import read
from slowwave.consolidation.text.tokens import tokenise


def words(text: str) -> list[str]:
    return [token.lower for token in tokenise(text)]


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


# ------------------------------------------------------------ case_folding


def test_letters_that_a_pattern_takes_for_ascii_are_looked_up_as_ascii() -> None:
    for spelled in ("I", "\u0130", "\u0131", "\u017f", "K"):
        found = re.search("[a-z]", spelled, re.IGNORECASE)
        assert found is not None
        assert re.fullmatch("[a-z]", fold_case(found.group())) is not None, spelled


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
    assert is_english(read(text))


@pytest.mark.parametrize(
    "text",
    [
        "Der Ofen wird nachts geheizt und nicht am Tag.",
        "Le four est dans la cave avec les pots.",
        "Печь горячая.",
        "The kiln is hot, und der Ofen ist nicht kalt.",
        "Ana paga a Juan.",
        "In Graz wohnt Ann.",
    ],
)
def test_another_language_or_two_at_once_are_not(text: str) -> None:
    assert not is_english(read(text))


# ---------------------------------------------------------------- literals


@pytest.mark.parametrize(
    ("text", "literals"),
    [
        ("Run `make demo` first.", ["make demo"]),
        ('The label says "Fragile."', ["Fragile"]),
        ("Start it with --no-cache and user_id=7.", ["--no-cache", "user_id=7"]),
        ("The config lies in etc/kiln/ now.", ["etc/kiln/"]),
        ("The password is blue-Whale.", ["blue-Whale"]),
        ("The kiln is hot; it cools (slowly).", []),
        ("It costs $5k, more than 3%.", []),
    ],
)
def test_what_is_meant_to_the_letter_is_found(text: str, literals: list[str]) -> None:
    assert [one.content for one in find_literals(text)] == literals


def test_a_change_to_a_text_leaves_what_is_marked_alone() -> None:
    assert around_literals("run `make it` as make does", str.upper) == "RUN `make it` AS MAKE DOES"


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
    assert find_names(tokenise(text)) == names


# ---------------------------------------------------------------- numerals


@pytest.mark.parametrize(
    ("text", "form"),
    [
        ("90 minutes", ("5400 s", "")),
        ("1.5h", ("5400 s", "")),
        ("$5k", ("5000 USD", "")),
        ("-5", ("-5", "")),
        ("3.10", ("3.10", "")),
        ("1,200", ("1200", "")),
    ],
)
def test_a_number_in_digits_has_one_form_however_it_is_spelled(
    text: str, form: tuple[str, str]
) -> None:
    found = re.search(DIGITS, text, re.IGNORECASE)
    assert found is not None
    assert norm_of_digits(found.group().lower()) == form


@pytest.mark.parametrize(
    ("text", "forms"),
    [
        ("five minutes", [("300 s", "")]),
        ("twenty-one days", [("1814400 s", "")]),
        ("two hundred and five kilns", [("205", "")]),
        ("twice a week", [("2", "604800 s")]),
        ("once it was hot", []),
        ("the hot one", []),
    ],
)
def test_a_number_in_words_has_the_form_that_its_digits_have(
    text: str, forms: list[tuple[str, str]]
) -> None:
    found = [(form, each) for form, each, _ in numbers_in_words(tokenise(text))]
    assert [form for form, _ in found] == [form for form, _ in forms]
    assert [bool(each) for _, each in found] == [bool(each) for _, each in forms]


# ------------------------------------------------------------------- units


def test_each_unit_is_spelled_in_small_letters_and_counts_in_one_that_is_no_multiple() -> None:
    spelled = {
        word: name
        for measured in units._SPELLINGS.values()
        for name, words in measured.items()
        for word in words.split()
    }
    assert [word for word in spelled if word != word.lower()] == []
    bases = {base for base, _ in units.IN_BASE.values()}
    assert bases & units.IN_BASE.keys() == set()
    assert bases <= set(spelled.values())
