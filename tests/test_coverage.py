"""Whether one sentence says all that another says: what keeps it from that, and what does not."""

from __future__ import annotations

from dataclasses import replace

import night
import pytest
from hypothesis import given
from hypothesis import strategies as st
from texts import sources

from slowwave.consolidation.comparison.coverage import Coverage
from slowwave.consolidation.planning.composition import already_says, compose_synthesis
from slowwave.consolidation.text.reading import read

# The same wordings again and again, so that each is read by the model once.
WORDINGS = [text for fact in night.load().facts for text in fact["wordings"]]
PLAIN = "Helvi settles the invoices on the 3rd at 10:00."


@pytest.fixture(scope="session")
def coverage() -> Coverage:
    """Provide what asks the packaged model, loaded once."""
    return Coverage()


def gap(coverage: Coverage, said: str, premise: str) -> str | None:
    """Return the kind of what one text lacks of another."""
    found = coverage.gap(read(said), read(premise))
    return None if found is None else found.kind


@pytest.mark.parametrize(
    ("said", "premise"),
    [
        ("Helvi settles the invoices on the 3rd at 10:00, from the shared account.", PLAIN),
        ("The invoices are settled on the 3rd at 10:00 and cost 12 euros.", PLAIN),
        ("The api listens on port 8080.", "The api listens on a port."),
        ("The api listens on port 8080.", "The api listens on port 9090."),
        ("The config lies in /etc/tea.toml.", "The config lies in /etc/coffee.toml."),
    ],
)
def test_a_sentence_is_not_told_where_a_value_or_a_detail_is_missing(
    coverage: Coverage, said: str, premise: str
) -> None:
    assert gap(coverage, said, premise) is not None


def test_a_missing_value_is_named(coverage: Coverage) -> None:
    found = coverage.gap(read("The api listens on port 8080."), read("The api listens on a port."))
    assert found is not None
    assert (found.kind, found.said) == ("value", "8080")


def test_a_missing_name_is_named(coverage: Coverage) -> None:
    found = coverage.gap(read(PLAIN), read("The invoices are settled on the 3rd at 10:00."))
    assert found is not None
    assert (found.kind, found.said) == ("name", "helvi")


@pytest.mark.parametrize(
    ("said", "premise"),
    [
        ("The import retries after 5 minutes.", "The import does not retry after 5 minutes."),
        ("The import does not retry after 5 minutes.", "The import retries after 5 minutes."),
        ("The gate closes at 22:00.", "The gate never closes at 22:00."),
    ],
)
def test_no_denial_tells_what_it_denies_nor_is_told_by_it(
    coverage: Coverage, said: str, premise: str
) -> None:
    assert gap(coverage, said, premise) == "denial"


def test_what_a_teller_denies_besides_does_not_matter(coverage: Coverage) -> None:
    denying = "The api uses port 8080 in staging, not the default."
    assert gap(coverage, "The api uses port 8080 in staging.", denying) is None
    assert gap(coverage, "The api uses port 8080, the default.", denying) is not None


@pytest.mark.parametrize(
    ("said", "premise"),
    [
        ("Evan paints the fence for Sam at 10:00.", "Sam paints the fence for Evan at 10:00."),
        ("Evan paid Sam 40 euros.", "Sam got 40 euros, which Evan had lent him."),
        ("Rosa taught Petra to swim in 2019.", "In 2019 Petra learned to swim from Rosa."),
        ("The worker calls the api at 10:00.", "The api calls the worker at 10:00."),
    ],
)
def test_who_could_have_changed_places_with_another_is_never_told_in_other_words(
    coverage: Coverage, said: str, premise: str
) -> None:
    assert gap(coverage, said, premise) is not None


@pytest.mark.parametrize(
    ("said", "premise"),
    [
        (PLAIN, "Only Helvi settles the invoices on the 3rd at 10:00."),
        (PLAIN, "Unless it is a holiday, Helvi settles the invoices on the 3rd at 10:00."),
        (PLAIN, "Helvi may settle the invoices on the 3rd at 10:00."),
        (PLAIN, "Helvi sometimes settles the invoices on the 3rd at 10:00."),
        (PLAIN, "Does Helvi settle the invoices on the 3rd at 10:00?"),
    ],
)
def test_what_limits_or_doubts_tells_no_more_than_that(
    coverage: Coverage, said: str, premise: str
) -> None:
    assert gap(coverage, said, premise) is not None
    assert gap(coverage, premise, said) is not None


@pytest.mark.parametrize(
    ("said", "premise", "is_told"),
    [
        (
            "Volunteers get a key to the boathouse in the first week.",
            "Volunteers get a key to the boathouse in the first week if the board has met.",
            False,
        ),
        (
            "Parcels are handed out at the back door until noon.",
            "Parcels are handed out at the back door until noon, unless the ramp is iced over.",
            False,
        ),
        # The case is one of something else that it says.
        (
            "Explained to yet another customer that a bike left outside the zone costs 15 euros.",
            "Customers are charged 15 euros when they leave a bike outside the zone; it is dropped "
            "if they bring it back within five minutes.",
            True,
        ),
    ],
)
def test_what_is_so_in_some_case_only_does_not_tell_that_it_is_so(
    coverage: Coverage, said: str, premise: str, is_told: bool
) -> None:
    assert (gap(coverage, said, premise) is None) == is_told


def test_what_says_that_something_changed_does_not_tell_what_was_so(coverage: Coverage) -> None:
    now = "Helvi now settles the invoices on the 3rd at 10:00."
    assert gap(coverage, PLAIN, now) == "change"


@pytest.mark.parametrize(
    "said",
    [
        "Helvi begleicht jeden Monat die Rechnungen mit der Karte, um 10:00 Uhr.",
        "Helvi règle les factures le 3 à 10:00.",
        "ヘルヴィは10:00に請求書を支払う。",
    ],
)
def test_what_is_said_in_another_language_is_told_by_no_other_words(
    coverage: Coverage, said: str
) -> None:
    assert gap(coverage, said, PLAIN) == "language"
    assert gap(coverage, PLAIN, said) is not None
    assert gap(coverage, said, said) is None


@pytest.mark.parametrize(
    ("said", "premise"),
    [
        ("Run `make test` before a push at 10:00.", "Run `make lint` before a push at 10:00."),
        ("Run `make test` before a push at 10:00.", "Run the tests before a push at 10:00."),
        ("Set `RETRIES=3` in the worker.", "Set `RETRIES=5` in the worker."),
    ],
)
def test_code_must_stand_in_the_premise_as_it_is(
    coverage: Coverage, said: str, premise: str
) -> None:
    assert gap(coverage, said, premise) == "value"


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (PLAIN, "The invoices are settled by Helvi on the 3rd at 10:00."),
        (PLAIN, "On the 3rd at 10:00 Helvi settles the invoices."),
    ],
)
def test_other_words_with_the_same_values_are_told_in_both_directions(
    coverage: Coverage, one: str, other: str
) -> None:
    assert gap(coverage, one, other) is None
    assert gap(coverage, other, one) is None


@pytest.mark.parametrize(
    ("said", "premise"),
    [
        (
            "The nightly backup must be checked every Monday.",
            "Somebody has to look at the backup of the night each Monday, before the stand-up.",
        ),
        (
            "The garage door has to be oiled twice a year.",
            "Oil the garage door two times a year, in spring and in autumn.",
        ),
    ],
)
def test_the_network_finds_told_what_is_said_in_another_mood_and_in_other_words(
    coverage: Coverage, said: str, premise: str
) -> None:
    assert gap(coverage, said, premise) is None
    assert gap(coverage, premise, said) is not None


def test_what_is_so_on_one_day_does_not_tell_what_is_so_every_day(coverage: Coverage) -> None:
    once = "On 26 May the group meets in the library because its room is being painted."
    assert gap(coverage, "The group meets in the library.", once) is not None


def test_texts_that_differ_in_a_number_alone_are_look_alikes(coverage: Coverage) -> None:
    texts = [
        "The Nubo ring overestimates deep sleep.",
        "The Nubo 2 ring overestimates deep sleep.",
        "The Nubo ring needs a charge every five days.",
    ]
    assert coverage.look_alikes([read(text) for text in texts]) == [(0, 1)]


def test_what_is_assigned_is_told_by_nothing_but_itself(coverage: Coverage) -> None:
    assert gap(coverage, "limit = null", "limit = 0") is not None
    assert gap(coverage, "limit = 0", "limit = null") is not None


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("Helvi opens the gate at 10:00.", "Helvi closes the gate at 10:00."),
        ("The backup of the wiki starts at 02:30.", "The backup of the wiki ends at 02:30."),
        ("Helvi sends the invoices on the 3rd.", "Helvi shreds the invoices on the 3rd."),
        ("The mother of Rosa turns 80 on 3 May.", "The father of Rosa turns 80 on 3 May."),
        ("Deploys go to staging at 10:00.", "Deploys go to production at 10:00."),
        ("The red car costs 12000 euros.", "The blue car costs 12000 euros."),
        ("The user feeds the cat at 10:00.", "The user feeds the dog at 10:00."),
        ("The tests pass since 3 May.", "The tests fail since 3 May."),
    ],
)
def test_a_value_in_common_does_not_make_two_facts_one(
    coverage: Coverage, one: str, other: str
) -> None:
    assert gap(coverage, one, other) is not None
    assert gap(coverage, other, one) is not None


def test_what_adds_something_tells_the_rest_and_is_not_told_by_it(coverage: Coverage) -> None:
    more = "Helvi settles the invoices on the 3rd at 10:00, from the shared account."
    assert gap(coverage, PLAIN, more) is None
    assert gap(coverage, more, PLAIN) is not None


def test_the_place_of_the_teller_is_given_and_the_same_words_come_first(coverage: Coverage) -> None:
    reworded = read("On the 3rd at 10:00 Helvi settles the invoices, as agreed with the bank.")
    others = [read("The office cat is called Pip."), read("The gate closes at 22:00.")]
    assert coverage.find_covering(read(PLAIN), others) is None
    assert coverage.find_covering(read(PLAIN), [*others, reworded]) == 2
    assert coverage.find_covering(read(PLAIN), [*others, reworded, read(PLAIN)]) == 3
    assert coverage.find_covering(read(PLAIN), []) is None


def test_what_is_lacking_is_said_in_words_for_a_person(coverage: Coverage) -> None:
    missing = coverage.missing(read(PLAIN), read("The invoices are settled on the 3rd at 10:00."))
    assert missing == "only one of them names helvi"


def test_what_only_two_sentences_together_say_is_not_told(coverage: Coverage) -> None:
    whole = "Helvi settles the invoices from the shared account on the 3rd at 10:00."
    parts = [
        "Helvi settles the invoices from the shared account.",
        "The invoices are settled by Helvi on the 3rd at 10:00.",
    ]
    assert coverage.find_covering(read(whole), [read(part) for part in parts]) is None
    composed = compose_synthesis(sources(whole, *parts), coverage.find_covering)
    assert whole in composed.draft.text
    assert "m1" not in composed.covered_by


@given(st.one_of(st.sampled_from(WORDINGS), st.text(min_size=1)))
def test_a_text_always_tells_itself(coverage: Coverage, text: str) -> None:
    assert coverage.gap(read(text), read(text)) is None
    assert coverage.find_covering(read(text), [read(text)]) == 0


@given(st.data())
def test_another_sentence_behind_the_teller_never_makes_it_tell_less(
    coverage: Coverage, data: st.DataObject
) -> None:
    fact = data.draw(st.sampled_from(night.load().facts))["wordings"]
    said, standing = data.draw(st.permutations(fact))[:2]
    source, derived = sources(said, standing)
    more = data.draw(st.sampled_from(WORDINGS))
    longer = replace(derived, text=f"{standing} {more}")
    if already_says(derived, source, coverage.find_covering):
        assert already_says(longer, source, coverage.find_covering)
    readings = [read(standing)]
    if coverage.find_covering(read(said), readings) is not None:
        assert coverage.find_covering(read(said), [*readings, read(more)]) is not None
