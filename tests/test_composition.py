"""The writer without a model: what it keeps, in which order, and what it leaves out."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from random import Random
from typing import Any

import night
import pytest
from hypothesis import given
from hypothesis import strategies as st
from texts import sources

from slowwave.consolidation.comparison.coverage import Coverage
from slowwave.consolidation.planning.composition import already_says, compose_synthesis
from slowwave.consolidation.planning.demand_groups import as_rule, choose_voices
from slowwave.consolidation.proposals import Draft, Source
from slowwave.consolidation.text.dates import DATE_MARK
from slowwave.consolidation.text.reading import Reading, read
from slowwave.consolidation.thresholds import EXTRACT_SOURCES
from slowwave.consolidation.vectors.embedder import SentenceEmbedder
from slowwave.consolidation.verification.verify import find_faults

NIGHT = night.load()
LIKELIHOOD = Coverage().likelihood


@pytest.fixture(scope="session")
def voices(embedder: SentenceEmbedder) -> dict[str, Source]:
    """Provide each voicing of a rule as a source."""
    texts = [text for rule in NIGHT.rules for text in rule["voicings"]]
    given = sources(*texts)
    return {
        one.text: replace(one, vector=vector)
        for one, vector in zip(given, embedder.encode(texts), strict=True)
    }


@st.composite
def facts(draw: st.DrawFn) -> tuple[dict[str, Any], list[Source]]:
    """Return a fact, and some of its wordings, said on some days, as sources."""
    fact = draw(st.sampled_from(NIGHT.facts))
    texts = draw(st.lists(st.sampled_from(fact["wordings"]), min_size=1, unique=True))
    days = draw(st.lists(st.integers(1, 28), min_size=len(texts), max_size=len(texts)))
    return fact, [
        replace(source, observed_at=f"2026-02-{day:02d}T09:00:00+00:00")
        for source, day in zip(sources(*texts), days, strict=True)
    ]


def sentences(draft: Draft) -> list[str]:
    """Return the claims as they stood in their sources."""
    return [DATE_MARK.sub("", claim.text) for claim in draft.claims]


@given(facts())
def test_every_sentence_of_a_draft_is_a_sentence_of_a_source_it_cites(
    fact: tuple[dict[str, Any], list[Source]],
) -> None:
    given_sources = {one.id: one for one in fact[1]}
    draft = compose_synthesis(fact[1]).draft
    for claim, sentence in zip(draft.claims, sentences(draft), strict=True):
        cited = [read(given_sources[one].text).sentences for one in claim.sources]
        assert any(sentence.rstrip(".") == said.rstrip(".") for said in sum(cited, ()))


@given(facts())
def test_no_value_name_denial_or_word_of_a_source_is_lost(
    fact: tuple[dict[str, Any], list[Source]],
) -> None:
    draft = compose_synthesis(fact[1]).draft
    written = read(" ".join(sentences(draft)))
    for reading in (read(source.text) for source in fact[1]):
        assert reading.value_keys <= written.value_keys
        assert set(reading.names) <= written.words
        assert reading.denied <= written.denied
        assert reading.stem_set <= written.stem_set


@given(facts())
def test_a_detail_that_a_single_source_gives_survives(
    fact: tuple[dict[str, Any], list[Source]],
) -> None:
    known, given_sources = fact
    draft = compose_synthesis(given_sources).draft
    for detail in known.get("details", []):
        assert (detail in draft.text) == any(detail in source.text for source in given_sources)


@given(facts())
def test_every_source_is_cited_and_no_other(fact: tuple[dict[str, Any], list[Source]]) -> None:
    draft = compose_synthesis(fact[1]).draft
    assert {one for claim in draft.claims for one in claim.sources} == {
        source.id for source in fact[1]
    }


@given(facts(), st.randoms())
def test_the_sentences_stand_in_the_order_of_time_whatever_order_the_rows_have(
    fact: tuple[dict[str, Any], list[Source]], chance: Random
) -> None:
    draft = compose_synthesis(fact[1]).draft
    days = {
        said.rstrip("."): source.observed_at
        for source in fact[1]
        for said in read(source.text).sentences
    }
    told = [days[sentence.rstrip(".")] for sentence in sentences(draft)]
    assert told == sorted(told)
    assert compose_synthesis(chance.sample(fact[1], len(fact[1]))).draft == draft


@given(facts())
def test_what_it_writes_passes_the_check(fact: tuple[dict[str, Any], list[Source]]) -> None:
    assert find_faults(compose_synthesis(fact[1]).draft, fact[1], "synthesize") == []


def test_a_sentence_is_left_out_if_another_says_the_same_in_the_same_words() -> None:
    draft = compose_synthesis(
        sources("The worker calls the api.", "The api is called by the worker. It is slow.")
    ).draft
    assert draft.text == "The worker calls the api. It is slow."
    assert [claim.sources for claim in draft.claims] == [("m1", "m2"), ("m2",)]


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("Ana may deploy to staging.", "Only Ana may deploy."),
        ("The payment to Ana came on Monday.", "The payment from Ana came."),
        ("The worker calls the api at night.", "The api calls the worker."),
        ("The api uses port 8080 in staging.", "The api does not use port 8080."),
        ("Some tests pass at night.", "All tests pass."),
        # What the other adds may take back what this one says.
        ("A deploy requires two approvals, unless small.", "A deploy requires two approvals."),
        ("The login test almost passes on Windows.", "The login test passes on Windows."),
        ("Does the scanner need a new driver?", "The scanner needs a new driver."),
        ("The team wants to migrate the database.", "The team migrated the database."),
        ("The user must sign the form today.", "The user can sign the form."),
    ],
)
def test_a_sentence_stays_if_no_other_says_just_that(one: str, other: str) -> None:
    assert other in compose_synthesis(sources(one, other)).draft.text


def test_a_sentence_that_speaks_of_yesterday_says_which_day_that_was() -> None:
    draft = compose_synthesis(sources("It broke yesterday. The disk was full")).draft
    assert draft.text == "[2026-03-01] It broke yesterday. The disk was full."


def test_a_day_that_is_given_already_is_not_given_again() -> None:
    draft = compose_synthesis(sources("[2026-01-07] It broke yesterday.")).draft
    assert draft.text == "[2026-01-07] It broke yesterday."
    assert find_faults(draft, sources("[2026-01-07] It broke yesterday."), "synthesize") == []


def test_a_text_tells_already_what_one_of_its_sentences_says() -> None:
    derived, told, passive, longer, other = sources(
        "[2026-01-07] The api moved to port 8080 yesterday. The worker calls it.",
        "The api moved to port 8080 yesterday",
        "It is called by the worker.",
        "The worker calls it at night.",
        "The api moved to port 80 yesterday.",
    )
    # "Yesterday" is the same day only for what was said on the day that stands in front.
    assert already_says(derived, replace(told, observed_at="2026-01-07T12:00:00+00:00"))
    assert not already_says(derived, told)
    assert already_says(derived, passive)
    assert not already_says(derived, longer)
    assert not already_says(derived, other)


def test_a_sentence_is_left_out_for_what_tells_the_one_that_tells_it() -> None:
    poor, middle, rich = given_sources = sources(
        "The kiosk prints badges.",
        "The kiosk in the lobby prints visitor badges.",
        "The kiosk in the lobby prints visitor badges on yellow paper.",
    )
    covers = {poor.text: middle.text, middle.text: rich.text}

    def find_covering(said: Reading, kept: Sequence[Reading]) -> int | None:
        return next((at for at, one in enumerate(kept) if one.text == covers.get(said.text)), None)

    composed = compose_synthesis(given_sources, find_covering)
    assert [claim.text for claim in composed.draft.claims] == [rich.text]
    assert composed.covered_by == dict.fromkeys((poor.id, middle.id), frozenset({rich.id}))


def rule_drafts(given_sources: Sequence[Source]) -> list[Draft]:
    """Return what may stand for all as a rule, the best first."""
    return [
        as_rule(given_sources[at], [given_sources[one] for one in supporters])
        for at, supporters in choose_voices(given_sources, LIKELIHOOD)
    ]


@pytest.mark.parametrize("rule", NIGHT.rules, ids=lambda rule: str(rule["id"]))
def test_a_rule_is_one_of_its_voicings_with_at_least_five_that_support_it(
    voices: dict[str, Source], rule: dict[str, Any]
) -> None:
    given_sources = [voices[text] for text in rule["voicings"]]
    draft = rule_drafts(given_sources)[0]
    assert len(draft.claims) == 1
    assert any(draft.text.rstrip(".") == text.rstrip(".") for text in rule["voicings"])
    assert len(set(draft.claims[0].sources)) >= EXTRACT_SOURCES
    assert find_faults(draft, given_sources, "extract") == []


@given(st.sampled_from(NIGHT.rules), st.integers(0, EXTRACT_SOURCES - 1), st.randoms())
def test_fewer_than_five_voicings_make_no_rule(
    voices: dict[str, Source], rule: dict[str, Any], count: int, chance: Random
) -> None:
    assert not rule_drafts([voices[text] for text in chance.sample(rule["voicings"], count)])


def test_a_value_that_too_few_voicings_give_is_no_part_of_a_rule() -> None:
    with_value = "Always run all 12 tests before a push."
    assert not rule_drafts(sources(*["Tests run before a push."] * 4, with_value, with_value))
    draft = rule_drafts(sources(*[with_value] * 2, *["Always test before a push."] * 4))[0]
    assert draft.text == "Always test before a push."


def test_what_is_is_no_rule() -> None:
    assert not rule_drafts(sources(*["The tests run at night."] * 6))


def test_what_was_said_of_yesterday_on_two_days_is_two_things() -> None:
    first, second = sources("The disk was full yesterday.", "Yesterday the disk was full.")
    later = replace(second, observed_at="2026-03-09T09:00:00+00:00")
    assert first.observed_at[:10] != later.observed_at[:10]
    assert compose_synthesis([first, later]).covered_by == {}
    assert not already_says(first, later)
