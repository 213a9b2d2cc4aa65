"""The search for old and new values from night to night: nothing is compared twice or missed."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from itertools import permutations

import msgspec
import pytest
from builders import a_memory
from hypothesis import given, settings
from hypothesis import strategies as st
from night import FLAVOURS, load
from test_updates import ALIKE, CHANGED, OTHERWISE, UNSURE

from slowwave.consolidation.thresholds import COMMON_WORD
from slowwave.consolidation.updates.changes import compare
from slowwave.consolidation.updates.dated_memory import DatedMemory, dated_memory
from slowwave.consolidation.updates.prefilter import worth_comparing
from slowwave.consolidation.updates.replacements import find_updates
from slowwave.consolidation.updates.search import NOTHING, Search, search
from slowwave.consolidation.updates.sentence_features import (
    SentenceFeatures,
    frames_in,
    sentence_features,
)

UPDATES = [
    text
    for one in FLAVOURS
    for update in load(one).updates
    for text in (update["old"], update["new"])
]
NEARS = [near["text"] for one in FLAVOURS for near in load(one).nears]
OLD = "The default branch of the firmware repository is called master."
NEW = "The default branch of the firmware repository was renamed, it is called main these days."
# Of the same words, and of no thing that could have another value.
FILLER = "The default branch of the firmware repository is also called {}."


def said(number: int, text: str, day: int = 1, generation: int = 0) -> DatedMemory:
    moment = f"2026-02-{day:02d}T09:00:00+00:00"
    memory = a_memory(f"m-{number:03d}", text, observed_at=moment, generation=generation)
    return dated_memory(memory)


def fillers(count: int) -> list[DatedMemory]:
    return [said(100 + number, FILLER.format(f"x{number}")) for number in range(count)]


def unread(told: DatedMemory) -> DatedMemory:
    """Return a memory of which the text is gone: to read it would give no sentence at all."""
    return replace(told, memory=replace(told.memory, content=""))


def by_json(found: Search) -> Search:
    return msgspec.json.decode(msgspec.json.encode(found), type=Search)


MEMORIES = st.builds(
    said,
    st.integers(0, 30),
    st.sampled_from([*UPDATES[:40], OLD, NEW]),
    st.integers(1, 3),
    st.sampled_from([0, 0, 0, 1]),
)
# What there is on a night: some memories, with others in their place since the night before, and
# words that are now rare and now common.
NIGHTS = st.lists(
    st.tuples(
        st.lists(MEMORIES, max_size=12, unique_by=lambda one: one.memory.id),
        st.integers(COMMON_WORD - 4, COMMON_WORD + 2),
    ),
    min_size=2,
    max_size=5,
)


@given(NIGHTS)
@settings(max_examples=30)
def test_a_search_that_goes_on_finds_what_a_search_from_nothing_finds(
    nights: list[tuple[list[DatedMemory], int]],
) -> None:
    known, standing = NOTHING, dict[str, DatedMemory]()
    words = fillers(COMMON_WORD + 2)
    for changed, count in nights:
        # One in three of those that stood goes.
        standing = {one: told for one, told in standing.items() if int(one[2:]) % 3 != count % 3}
        standing |= {one.memory.id: one for one in changed}
        everyone = [*standing.values(), *words[:count]]
        known = by_json(search(everyone, known))
        assert known == search(everyone)


def test_two_values_part_once_their_words_are_common_and_meet_again_once_they_are_rare() -> None:
    pair, words = [said(1, OLD), said(2, NEW, day=2)], fillers(COMMON_WORD - 1)
    rare = search([*pair, *words[:-1]])
    assert [(one.change.old, one.change.new) for one in rare.pairs] == [("master", "main")]
    common = search([*pair, *words], rare)
    assert common.pairs == ()
    assert search([*pair, *words[:-1]], common) == rare


def test_what_was_searched_before_is_not_read_again() -> None:
    everyone = [said(number, text, 1 + number % 20) for number, text in enumerate(UPDATES)]
    found = search(everyone)
    assert found.pairs
    assert search([unread(one) for one in everyone], found) == found
    # Without what was found before the texts are needed.
    with pytest.raises(IndexError):
        search([unread(one) for one in everyone])


def test_only_what_shares_a_word_with_a_new_memory_is_read() -> None:
    known = [said(number, text) for number, text in enumerate([*UPDATES, OLD])]
    new = said(901, NEW, day=9)
    words = new.sentences[0].leads
    others = [
        unread(one) for one in known if all(words.isdisjoint(of.leads) for of in one.sentences)
    ]
    near = [one for one in known if any(words & of.leads for of in one.sentences)]
    assert len(others) > len(near) > 0
    found = search([*others, *near, new], search(known))
    assert found == search([*known, new])
    assert {one.change.new for one in found.pairs if one.new.key == new.key} == {"main"}


def test_another_text_or_another_time_makes_a_memory_new() -> None:
    old, new = said(1, OLD), said(2, NEW, day=2)
    assert len({one.key for one in (old, said(1, NEW), said(1, OLD, day=2), said(3, OLD))}) == 4
    known = search([old, new])
    edited = said(2, "The cat sleeps on the sofa.", day=2)
    assert search([old, edited], known).pairs == ()
    # Told after the other, it is the old value no more.
    turned = search([said(1, OLD, day=3), new], known)
    assert [(one.change.old, one.change.new) for one in turned.pairs] == [("main", "master")]


def test_what_was_derived_is_an_old_value_and_no_new_one_and_makes_no_word_common() -> None:
    derived = [said(200 + number, FILLER.format("y"), generation=1) for number in range(9)]
    words = [*fillers(COMMON_WORD - 2), *derived]
    found = search([said(1, OLD, generation=1), said(2, NEW, day=2), *words])
    assert [(one.change.old, one.change.new) for one in found.pairs] == [("master", "main")]
    before = search([said(1, OLD, generation=1), *words])
    assert search([said(1, OLD, generation=1), said(2, NEW, day=2), *words], before) == found
    assert search([said(1, OLD), said(2, NEW, day=2, generation=1), *words]).pairs == ()


def test_the_order_of_the_memories_plays_no_part() -> None:
    everyone = [said(number, text, 1 + number % 20) for number, text in enumerate(UPDATES)]
    assert search(everyone) == search(everyone[::-1])


def test_a_memory_that_opens_is_replaced_by_what_was_found_before() -> None:
    old, new = said(1, OLD), said(2, NEW, day=2)
    closed = find_updates([replace(old, open=False), new], lambda _: True)
    assert (closed.replacements, closed.conflicts) == ((), ())
    opened = find_updates([unread(old), unread(new)], lambda _: True, closed.search)
    assert [one.values for one in opened.replacements] == [("main", "master")]


def test_what_is_kept_of_a_search_and_of_a_text_comes_back_as_it_was() -> None:
    everyone = [said(number, text, 1 + number % 20) for number, text in enumerate(UPDATES)]
    found = search([*everyone, *fillers(COMMON_WORD + 1)])
    assert found.common
    assert found.pairs
    assert by_json(found) == found
    for text in UPDATES:
        kept = msgspec.json.encode(sentence_features(text))
        assert msgspec.json.decode(kept, type=tuple[SentenceFeatures, ...]) == sentence_features(
            text
        )


def test_no_pair_is_passed_over_that_gives_one_thing_two_values(
    rounds: Callable[[int, int], int],
) -> None:
    spoken = [
        pair
        for text in [*UPDATES, *NEARS][: rounds(100, 1_000)]
        for pair in zip(sentence_features(text), frames_in(text), strict=True)
    ]
    # Each with each, and those of which one may well replace the other.
    pairs = [*permutations(spoken, 2)]
    for earlier, later in [*CHANGED, *OTHERWISE, *UNSURE, *ALIKE]:
        sentences = (*sentence_features(earlier), *sentence_features(later))
        frames = (*frames_in(earlier), *frames_in(later))
        pairs += permutations(zip(sentences, frames, strict=True), 2)
    found = 0
    for (old, before), (new, after) in pairs:
        # Only where they share a word would a search compare them.
        if not old.leads.isdisjoint(new.leads) and compare(before, after) is not None:
            found += 1
            assert worth_comparing(old, new), (before.sentence, after.sentence)
    assert found > 100
