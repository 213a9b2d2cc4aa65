"""What the built-in writer wrote is looked up in its sources: nothing invented, nothing lost."""

from __future__ import annotations

from collections.abc import Sequence

import night
import pytest
from hypothesis import given
from hypothesis import strategies as st
from texts import draft, sources

from slowwave.consolidation.planning.composition import compose_growth, compose_synthesis
from slowwave.consolidation.proposals import Draft, Source
from slowwave.consolidation.verification.quotes import find_unquoted

FACTS = night.load().facts
SOURCES = sources(
    "Helvi settles the invoices on the 3rd at 10:00. She uses the shared account.",
    "The invoices are settled by Helvi on the 3rd at 10:00",
    "It broke yesterday.",
)
QUOTED = draft(
    ("Helvi settles the invoices on the 3rd at 10:00.", [1, 2]),
    ("She uses the shared account.", [1]),
    ("[2026-03-03] It broke yesterday.", [3]),
)


def unquoted(draft: Draft, sources: Sequence[Source]) -> list[str]:
    """Return why a draft of quotations is turned down."""
    return [one.why for one in find_unquoted(draft, sources)]


def changed(place: int, text: str, cited: list[int]) -> Draft:
    """Return the draft of quotations with another claim in one place."""
    claims = list(QUOTED.claims)
    (claims[place],) = draft((text, cited)).claims
    return Draft(tuple(claims))


def test_a_draft_of_quotations_that_cites_everyone_has_no_faults() -> None:
    assert unquoted(QUOTED, SOURCES) == []


def test_a_full_stop_that_a_source_lacks_is_no_invention() -> None:
    assert unquoted(draft(("The gate is shut.", [1])), sources("The gate is shut")) == []


@pytest.mark.parametrize(
    "text",
    [
        "Helvi settles the invoices on the 3rd at 11:00.",
        "Helvi settles the invoices on the 3rd at 10:00, from Spain.",
        "The invoices are settled by Evan on the 3rd at 10:00.",
        "Helvi never settles the invoices on the 3rd at 10:00.",
        "Helvi pays the invoices on the 3rd at 10:00.",
        "[2026-03-01]",
        ".",
    ],
)
def test_a_claim_that_is_no_quotation_is_an_invention(text: str) -> None:
    wrong = changed(0, text, [1, 2])
    assert f"says what none of its sources says: {wrong.claims[0].text}" in unquoted(wrong, SOURCES)


@pytest.mark.parametrize("cited", [[2], [3], [4], []])
def test_a_quotation_must_stand_in_a_source_that_the_claim_cites(cited: list[int]) -> None:
    wrong = changed(1, "She uses the shared account.", cited)
    assert unquoted(wrong, SOURCES) == [
        "says what none of its sources says: She uses the shared account."
    ]


def test_what_a_source_says_that_nobody_cites_is_lost_sentence_by_sentence() -> None:
    left = Draft(QUOTED.claims[2:])
    assert unquoted(left, SOURCES) == [
        "loses what a source says: Helvi settles the invoices on the 3rd at 10:00.",
        "loses what a source says: She uses the shared account.",
        "loses what a source says: The invoices are settled by Helvi on the 3rd at 10:00",
    ]


def test_a_source_that_nobody_cites_loses_nothing_that_is_quoted_from_another() -> None:
    twins = sources("The gate is shut.", "The gate is shut. It is green.")
    assert unquoted(draft(("The gate is shut.", [1]), ("It is green.", [2])), twins) == []
    assert unquoted(draft(("The gate is shut.", [1])), twins) == [
        "loses what a source says: It is green."
    ]


@given(st.sampled_from(FACTS), st.data())
def test_what_the_writer_composes_passes_and_without_all_that_cites_a_source_it_does_not(
    fact: dict[str, list[str]], data: st.DataObject
) -> None:
    given_sources = sources(*fact["wordings"])
    composed = compose_synthesis(given_sources).draft
    assert unquoted(composed, given_sources) == []
    lost = data.draw(st.sampled_from(given_sources)).id
    left = Draft(tuple(one for one in composed.claims if lost not in one.sources))
    assert unquoted(left, given_sources) != []


@given(st.sampled_from(FACTS))
def test_what_the_writer_adds_to_a_memory_made_before_passes(fact: dict[str, list[str]]) -> None:
    derived, *others = sources(*fact["wordings"])
    grown = compose_growth(derived, others)
    assert grown.text.startswith(derived.text)
    assert unquoted(grown, [derived, *others]) == []
