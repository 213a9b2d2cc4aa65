"""Modules of `text` and `comparison` by themselves; elsewhere they are tried through others."""

from __future__ import annotations

import pytest

from slowwave.consolidation.text.sentences import split_sentences
from slowwave.consolidation.text.spellings import SPELLINGS
from slowwave.consolidation.text.stem_matching import is_known
from slowwave.consolidation.text.tokens import tokenise
from slowwave.consolidation.text.verbs import verbs_of


def test_a_sentence_ends_at_its_mark_or_line_and_not_within_an_abbreviation() -> None:
    text = 'It runs. "It stops." Then e.g. v1.2 starts!\nA line'
    assert split_sentences(text) == ["It runs.", '"It stops."', "Then e.g. v1.2 starts!", "A line"]


def test_two_stems_of_one_word_are_one_and_those_of_two_words_are_not() -> None:
    assert is_known("public", frozenset({"publish"}))
    assert is_known("port", frozenset({"port"}))
    assert not is_known("port", frozenset({"portrait", "part"}))
    assert not is_known("2026 s", frozenset({"2026 d"}))


@pytest.mark.parametrize(
    ("clause", "verbs"),
    [
        ("Ann has moved the desk", ["moved"]),
        ("backups run at night", ["run"]),
        ("it retries twice", ["retries"]),
        ("the door was painted", ["painted"]),
    ],
)
def test_a_verb_is_told_by_the_word_before_it_or_its_ending(clause: str, verbs: list[str]) -> None:
    assert [token.lower for token in verbs_of(tokenise(clause))] == verbs


def test_no_spelling_stands_for_one_that_has_another_itself() -> None:
    assert SPELLINGS
    assert set(SPELLINGS) & set(SPELLINGS.values()) == set()
