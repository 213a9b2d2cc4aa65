"""What a change to a text must do to what it says, whatever the text is."""

from __future__ import annotations

import re

import night
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from slowwave.consolidation.comparison.guards import certain_conflict, say_the_same
from slowwave.consolidation.comparison.mood import moods_of
from slowwave.consolidation.text import lexicon
from slowwave.consolidation.text.reading import read
from slowwave.consolidation.text.tokens import stem

TEXTS = sorted({told.text for told in night.load().told})
WORDS = sorted({word for text in TEXTS for word in re.findall(r"\b[a-z]{3,}\b", text)})
LITTLE = sorted(lexicon.ANNOUNCING | lexicon.EMPTY | lexicon.STRESSING | lexicon.TENSE)
ANNOUNCED = (
    *("User said that ", "Note: ", "Remember: ", "FYI: ", "User mentioned that ", "- "),
    *("User said: ", "I learned that ", "For the record, ", "NOTE: User confirmed that "),
)
NUMBER = re.compile(r"(?<![\w.:/-])\d+(?![\w.:/-])")
CODE = st.text("abAB01._-*/=<>!?:;,()[]{}$^&|+", min_size=1, max_size=8)


def same(left: str, right: str) -> bool:
    """Whether two texts say the same, whichever comes first."""
    found = say_the_same(read(left), read(right))
    assert say_the_same(read(right), read(left)) is found, (left, right)
    return found


@pytest.mark.parametrize("word", LITTLE)
def test_no_word_that_says_little_stands_for_one_that_says_much(word: str) -> None:
    assert not same(f"Ann {word} the key.", "Ann holds the key.")


@given(st.sampled_from(sorted(lexicon.ANNOUNCING)), st.sampled_from(sorted(lexicon.ANNOUNCING)))
def test_words_that_announce_are_told_apart_where_they_announce_nothing(
    one: str, other: str
) -> None:
    assume(stem(one) != stem(other) and {one, other}.isdisjoint(lexicon.STRESSING | {"user"}))
    assume({one, other} != {"learned", "learnt"})
    assert not same(f"The doctor {one} the lump.", f"The doctor {other} the lump.")


@pytest.mark.parametrize(
    ("one", "other"),
    [("here", "there"), ("this", "that"), ("these", "those"), ("mr", "mrs"), ("her", "her own")],
)
def test_what_points_and_whose_it_is_counts(one: str, other: str) -> None:
    assert not same(f"Ann paid for {one} desk.", f"Ann paid for {other} desk.")


@pytest.mark.parametrize("frame", ["The {} is old.", "Ann keeps the {} in Graz.", "Check the {}."])
@given(st.sampled_from(WORDS), st.sampled_from(WORDS))
def test_two_words_make_one_text_only_where_they_are_forms_of_one(
    frame: str, one: str, other: str
) -> None:
    left, right = frame.format(one), frame.format(other)
    if same(left, right):
        forms = [(reading.stem_set, reading.telling) for reading in map(read, (left, right))]
        assert forms[0] == forms[1]


@pytest.mark.parametrize("before", ANNOUNCED)
@given(st.sampled_from(TEXTS))
def test_what_announces_a_text_changes_nothing(before: str, text: str) -> None:
    assume(not re.match(r"\W|\d|(?:Note|User|The user|We|I)\b", text))
    assert same(text, f"{before}{text}")


@given(st.sampled_from(TEXTS))
def test_a_denial_that_is_added_changes_a_text(text: str) -> None:
    denied, found = re.subn(r"\b(is|are|was|were|must|can|should) ", r"\1 not ", text, count=1)
    assume(found)
    assert not same(text, denied)


@given(st.sampled_from([text for text in TEXTS if len(set(NUMBER.findall(text))) == 2]))
def test_two_values_that_change_places_change_a_text(text: str) -> None:
    one, other = dict.fromkeys(NUMBER.findall(text))
    turned = NUMBER.sub(lambda found: other if found[0] == one else one, text)
    assert not same(text, turned)


@given(CODE, st.data())
def test_a_character_that_is_changed_in_backticks_changes_a_text(
    code: str, data: st.DataObject
) -> None:
    at = data.draw(st.integers(0, len(code) - 1))
    other = f"{code[:at]}{data.draw(CODE)[0]}{code[at + 1 :]}"
    assume(code != other)
    left, right = f"The key is `{code}` in Graz.", f"The key is `{other}` in Graz."
    assert not same(left, right)
    assert certain_conflict(read(left), read(right)) is not None


@pytest.mark.parametrize(
    "command", ["yarn install", "git diff main..dev", "systemctl restart nginx", "cp a.txt b/"]
)
def test_the_marks_of_code_may_come_and_go(command: str) -> None:
    assert same(f"Run `{command}` before the call.", f"Run {command} before the call.")
    assert same(f"Run `{command}` first.", f"Run **{command}** first.")


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("No, trains run on Sunday.", "No trains run on Sunday."),
        ("Don't. Stop.", "Don't stop."),
        ("Never. Delete the index.", "Never delete the index."),
        ("IT is down.", "It is down."),
        ("Mark is done.", "The mark is done."),
        ("Type A errors are fatal.", "Type errors are fatal."),
        ("cp a b", "cp b a"),
        ("TODO: water the plants.", "Water the plants."),
        ("User reports are slow.", "Reports are slow."),
        ("User accounts grow daily.", "Accounts grow daily."),
        ("- [x] Water the plants.", "- [ ] Water the plants."),
    ],
)
def test_commas_capitals_letters_and_marks_of_tasks_count(one: str, other: str) -> None:
    assert not same(one, other)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("Logs are kept for 30 d.", "Logs are kept for 30 days."),
        ("The pod gets 1.5Gi.", "The pod gets 1.5 GiB."),
        ("The call is at 16:30.", "The call is at 4:30 in the afternoon."),
        ("The fee is €10 per mo.", "The fee is 10 euros a month."),
        ("The shift is 22:00 to 06:00.", "The shift is from 10 pm until 6 am."),
        ("The SLA is 99.9 %.", "The service level agreement is 99.9 percent."),
        ("Tag each image.", "Every image must be tagged."),
        ("The cat is called Milo.", "The cat's name is Milo."),
        ("Read it at start-up.", "Read it at startup."),
        ("- Uses zsh", "User uses zsh."),
    ],
)
def test_two_ways_to_write_one_thing_are_one(one: str, other: str) -> None:
    assert same(one, other)


def test_what_an_allergy_is_to_is_no_plan() -> None:
    assert moods_of(read("The allergy is to celery.")) == frozenset()
    assert moods_of(read("The plan is to wait.")) == {"will"}
