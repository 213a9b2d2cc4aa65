"""Modules of `text` and `comparison` by themselves; elsewhere they are tried through others."""

from __future__ import annotations

from slowwave.consolidation.text.sentences import split_sentences


def test_a_sentence_ends_at_its_mark_or_line_and_not_within_an_abbreviation() -> None:
    text = 'It runs. "It stops." Then e.g. v1.2 starts!\nA line'
    assert split_sentences(text) == ["It runs.", '"It stops."', "Then e.g. v1.2 starts!", "A line"]
