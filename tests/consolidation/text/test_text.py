"""Introductions of statements, and the language of a text."""

from __future__ import annotations

import pytest

from slowwave.consolidation.facts.languages import is_english
from slowwave.consolidation.text.announcing import without_announcements


@pytest.mark.parametrize(
    ("text", "statement"),
    [
        ("User said that the kiln is hot.", "the kiln is hot."),
        ("NOTE: User confirmed that the kiln is hot.", "the kiln is hot."),
        ("The user told me that she fires at night.", "The user fires at night."),
        ("- **Kiln** is hot.", "Kiln is hot."),
        ("Remember: the kiln is hot. FYI: it cools slowly.", "the kiln is hot. it cools slowly."),
        *(
            (statement, statement)
            for statement in (
                "The doctor mentioned the lump.",
                "TODO: fire the kiln.",
                "[ ] fire the kiln",
                "The user said no.",
                "-4 degrees is the limit.",
                "Note:",
            )
        ),
    ],
)
def test_only_what_introduces_a_statement_is_removed(text: str, statement: str) -> None:
    assert without_announcements(text) == statement


@pytest.mark.parametrize(
    ("text", "english"),
    [
        ("The kiln is fired at 1,240 °C for 20 µs.", True),
        ("kiln temperature", True),
        ("Zoë fires the kiln.", True),
        ("Ask Ana", True),
        ("Der Ofen wird nachts geheizt und nicht am Tag.", False),
        ("Печь горячая.", False),
        ("Ana paga a Juan.", False),
        ("In Graz wohnt Ann.", False),
    ],
)
def test_english_is_distinguished_from_other_languages(text: str, english: bool) -> None:
    assert is_english(text) == english
