"""What a change to a text must do to what it says, whatever the text is."""

from __future__ import annotations

import re

import night
import pytest
from builders import a_memory
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from texts import draft, sources

from slowwave.consolidation.comparison.guards import (
    certain_conflict,
    gravest_objection,
    say_the_same,
)
from slowwave.consolidation.comparison.mood import moods_of
from slowwave.consolidation.text import lexicon
from slowwave.consolidation.text.reading import read
from slowwave.consolidation.text.tokens import stem
from slowwave.consolidation.updates.dated_memory import dated_memory
from slowwave.consolidation.updates.replacements import find_updates
from slowwave.consolidation.verification.verify import find_faults

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


@given(st.sampled_from(TEXTS), st.sampled_from(TEXTS))
def test_an_objection_to_a_pair_is_one_whichever_text_comes_first(one: str, other: str) -> None:
    left, right = read(one), read(other)
    assert (gravest_objection(left, right) is None) is (gravest_objection(right, left) is None)
    assert (certain_conflict(left, right) is None) is (certain_conflict(right, left) is None)


NIGHTS = [night.load(flavour) for flavour in night.FLAVOURS]
CHANGES = [(one["old"], one["new"]) for each in NIGHTS for one in each.updates]


def updates(old: str, new: str, swapped: bool = False) -> tuple[list[tuple[str, ...]], int]:
    """Return the values that were found to replace each other, and how many are in conflict."""
    memories = [
        dated_memory(a_memory(name, text, observed_at=f"2026-{month}-05T12:00:00+00:00"))
        for name, text, month in (("old", old, "01"), ("new", new, "02"))
    ]
    found = find_updates(memories[::-1] if swapped else memories, lambda _: True)
    return [one.values for one in found.replacements], len(found.conflicts)


@settings(max_examples=40)
@given(st.sampled_from(CHANGES))
def test_an_update_is_found_in_whichever_order_memories_are_read(
    change: tuple[str, str],
) -> None:
    assert updates(*change) == updates(*change, swapped=True)


@settings(max_examples=40)
@given(st.sampled_from(CHANGES))
def test_of_two_values_the_one_that_was_said_later_is_the_newest(change: tuple[str, str]) -> None:
    old, new = change
    found, again = updates(old, new)[0], updates(new, old)[0]
    assert not found or not again or found[0][0] != again[0][0]


@settings(max_examples=40)
@given(st.sampled_from(CHANGES))
def test_what_announces_both_texts_changes_no_update(change: tuple[str, str]) -> None:
    assume(not any(re.match(r"\W|\d|(?:Note|User|The user|We|I|My)\b", one) for one in change))
    old, new = change
    assert updates(f"Note: {old}", f"Note: {new}") == updates(old, new)


@given(st.sampled_from(TEXTS))
def test_a_draft_that_quotes_an_announced_source_without_that_is_faithful(text: str) -> None:
    assume(not re.match(r"\W|\d|(?:Note|User|The user|We|I)\b", text))
    given_sources = sources(f"Note: {text}", "The kettle in the hall is green.")
    quoted = draft((text, [1]), ("The kettle in the hall is green.", [2]))
    announced = draft((f"Note: {text}", [1]), ("The kettle in the hall is green.", [2]))
    found = [
        [(one.claim, one.soft) for one in find_faults(each, given_sources, "synthesize")]
        for each in (quoted, announced)
    ]
    assert found[0] == found[1]


@given(st.sampled_from(TEXTS))
def test_a_denial_that_a_draft_adds_to_its_source_is_a_fault(text: str) -> None:
    denied, found = re.subn(r"\b(is|are|was|were|must|can|should) ", r"\1 not ", text, count=1)
    assume(found)
    assert find_faults(draft((denied, [1])), sources(text), "update") != []
