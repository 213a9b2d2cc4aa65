"""Modules of `text` and `comparison` by themselves; elsewhere they are tried through others."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest

from slowwave.consolidation.comparison import opposites, value_guards, wording
from slowwave.consolidation.comparison.objections import Objection
from slowwave.consolidation.text.reading import Reading, read
from slowwave.consolidation.text.sentences import split_sentences
from slowwave.consolidation.text.spellings import SPELLINGS
from slowwave.consolidation.text.stem_matching import is_known
from slowwave.consolidation.text.tokens import tokenise
from slowwave.consolidation.text.verbs import verbs_of

Guard = Callable[[Reading, Reading], Iterator[Objection]]


@pytest.mark.parametrize(
    ("guard", "one", "other"),
    [
        (opposites.negation, "The port is open.", "The port is not open."),
        (opposites.exclusive, "Ann calls before lunch.", "Ann calls after lunch."),
        (value_guards.values, "The port is 8080.", "The port is 9090."),
        (value_guards.names, "The rent is paid by Ann.", "The rent is paid by Ben."),
        (value_guards.commas, "We eat, grandma.", "We eat grandma."),
        (value_guards.signs, "Alert if load > 200.", "Alert if load < 200."),
        (value_guards.spelled_by_case, "The key is sk-AbC9.", "The key is sk-abc9."),
        (wording.other_term, "The cars are washed on Mondays.", "The vans are washed on Mondays."),
        (wording.qualified, "Ann grants API access.", "Ann grants API write access."),
        (wording.wording, "The dog sleeps.", "The dog sleeps deeply."),
    ],
)
def test_a_guard_objects_whichever_text_comes_first(guard: Guard, one: str, other: str) -> None:
    assert list(guard(read(one), read(other)))
    assert list(guard(read(other), read(one)))


@pytest.mark.parametrize(
    ("guard", "one", "other"),
    [
        (opposites.negation, "The port is not open.", "The port isn't open."),
        (opposites.exclusive, "Ann calls before lunch.", "Before lunch, Ann calls."),
        (value_guards.values, "It takes 5 min.", "It takes five minutes."),
        (value_guards.names, "Ann pays.", "It is paid by Ann."),
        (value_guards.commas, "In March, rent rose.", "Rent rose in March."),
        (value_guards.signs, "Done!", "Done."),
        (wording.other_term, "The cars are washed.", "The cars are washed."),
        (wording.qualified, "Ann grants API access.", "API access is granted by Ann."),
        (wording.wording, "The boat of Ann leaks.", "Ann's boat leaks."),
    ],
)
def test_a_guard_lets_pass_what_says_the_same(guard: Guard, one: str, other: str) -> None:
    assert not list(guard(read(one), read(other)))
    assert not list(guard(read(other), read(one)))


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
