"""Which texts are duplicates: those that are equal after normalizing."""

from __future__ import annotations

import random
import unicodedata
from pathlib import Path

import pytest
from counting import examples
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from nights import daily, execute, fill, night, rows

from slowwave.consolidation.comparison.normal_form import normal_form
from slowwave.consolidation.comparison.vetoes import find_veto, has_all_of
from slowwave.consolidation.facts.reading import read
from slowwave.consolidation.vectors.embedder import SentenceEmbedder
from slowwave.store.file import create_file

PLAIN = "The standup of the data team starts at 9:30 am on 4 March."
FULLER = "The backup of the wiki runs at 02:30 every night and is stored on helga."
LESS = "Backups of the wiki run at 02:30 every night."


@pytest.mark.parametrize(
    "second",
    [
        "the standup of the data team starts at 9:30 am on 4 March",
        "  The standup  of the data team\tstarts at 9:30 am on 4 March. ",
        "User said that the standup of the data team starts at 9:30 am on 4 March.",
        "- Note: The standup of the data team starts at 9:30 am on 4 March!",
        "The standup of the data team starts at 09:30 on March 4th.",
        "The standup of the data team starts at 9:30\u00a0am on 4\u200b March.",
        "The standup of the \uff44\uff41\uff54\uff41 team starts at \uff19:30 am on 4 March.",
        "The standup of the data team starts at 9:30 am on 4 March\u3002",
        "\u200eThe stand\u034fup of the da\ufe0fta team starts at 9:30 am on 4 March\u202c",
    ],
)
def test_texts_that_differ_only_in_spelling_have_one_form(second: str) -> None:
    assert normal_form(second) == normal_form(PLAIN)


def test_composed_and_decomposed_letters_have_one_form() -> None:
    text = "Zoë opens the café at nine"
    assert normal_form(unicodedata.normalize("NFD", text)) == normal_form(f"{text}\uff0e")


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ("Mark is done.", "The mark is done."),
        ("The key is sk-AbC9.", "The key is sk-abc9."),
        ("The area is 5\u00b2 metres.", "The area is 52 metres."),
        ("Run `make Test`.", "Run `make test`."),
        ("Is the port open?", "The port is open."),
        ("IT is down.", "It is down."),
        ("The icon is \ue001.", "The icon is \ue002."),
        ("Ada was born on 3/4/1990.", "Ada was born on 4/3/1990."),
        ("Add 3/4 of a cup.", "Add 4/3 of a cup."),
        ("The export took 1,234 s.", "The export took 1.234 s."),
    ],
)
def test_texts_that_differ_in_more_have_two_forms(first: str, second: str) -> None:
    assert normal_form(first) != normal_form(second)


def test_a_fuller_text_has_all_words_of_another_but_not_vice_versa() -> None:
    assert (has_all_of(FULLER, LESS), has_all_of(LESS, FULLER)) == (True, False)


def test_a_replaced_word_is_found_even_if_it_occurs_elsewhere() -> None:
    text = "The {} is retried twice, then finance gets a ticket with the number of the invoice."
    assert find_veto(read(text.format("invoice")), read(text.format("payment"))) == "word"


def test_a_text_must_have_the_words_of_every_sentence() -> None:
    more = f"{LESS} Ines has the only key."
    assert not has_all_of(FULLER, more)
    assert has_all_of(f"{FULLER} Ines has the only key.", more)


@pytest.mark.parametrize(
    ("claim", "premise", "kind"),
    [
        ("The api of Orlo uses port 8080.", "The api of Orlo uses port 9090.", "value"),
        ("The timeout is given in seconds.", "The timeout is given in milliseconds.", "value"),
        ("Ask Ana about the old printer.", "Ask Ben about the old printer.", "name"),
        ("Guests may use the old gym.", "Guests may not use the old gym.", "denial"),
        ("Call `save!` on the old record.", "Call `save` on the old record.", "literal"),
        ("Alert when the load is > 200 ms.", "Alert when the load is < 200 ms.", "sign"),
        ("Parcels are shipped to the US daily.", "Parcels are shipped to us daily.", "case"),
        ("The old branch is called main.", "The old branch is called Main.", "case"),
        ("Use rm -rf build to clean up.", "To clean up, use `rm -rf Build`.", "case"),
        ("The export took 1,234 s at night.", "The export took 1.234 s at night.", "word"),
        ("The old shop opens late.", "On 4 March the old shop opens late.", "day"),
        ("Telemetry of the app is opt-in.", "Telemetry of the app is opt-out.", "word"),
        ("The window seat is the best.", "The aisle seat is the best.", "word"),
        ("The old api calls the worker.", "The worker calls the old api.", "order"),
        ("It is open.", "The door of the shed is open.", "few words"),
        ("Der Drucker steht im Keller.", "Im Keller steht der Drucker.", "language"),
    ],
)
def test_a_veto_names_what_stops_a_duplicate(claim: str, premise: str, kind: str) -> None:
    assert find_veto(read(claim), read(premise)) == kind


# Frames, and words for their gap: any two of them make two statements.
_FRAMES = {
    "The {} of the west depot was checked by the caretaker.": ["pump", "gate", "boiler", "lift"],
    "The billing service of Orlo listens on port {} at night.": ["8080", "9090", "443", "5432"],
    "The invoice of the printer costs {} a month.": ["40 euros", "14 euros", "40 pounds", "£4"],
    "The safety drill of the lab starts at {} sharp.": ["3 pm", "4 pm", "03:00", "14:30"],
    "{} waters the plants on the third floor.": ["Ines", "Ivo", "Mara", "Sam"],
    "The night shift {} open the north gate.": ["may", "may not", "must", "never"],
    "The whole restore took {} on db-01.": ["1,234 s", "1.234 s", "12,34 s", "1234 ms"],
    "The licence of the editor ends on {}.": ["3/4/2027", "4/3/2027", "5 March 2027"],
    "The nightly export goes to {} first.": ["`/srv/a`", "`/srv/b`", "s3://x/a", "db-01.lan"],
}


@settings(max_examples=examples(150), deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(frame=st.sampled_from(sorted(_FRAMES)), data=st.data())
def test_no_text_has_all_of_one_with_another_value_or_name(frame: str, data: st.DataObject) -> None:
    pair = data.draw(st.lists(st.sampled_from(_FRAMES[frame]), min_size=2, max_size=2, unique=True))
    lead = data.draw(st.sampled_from(["", "Note: ", "User said that ", "As discussed, "]))
    more = data.draw(st.sampled_from(["", " Nobody has asked why."]))
    claim, premise = frame.format(pair[0]), f"{lead}{frame.format(pair[1])}{more}"
    assert normal_form(claim) != normal_form(premise)
    assert not has_all_of(premise, claim)


def test_texts_about_tomorrow_are_not_merged(memory_file: Path, embedder: SentenceEmbedder) -> None:
    text = "User has an appointment with the dentist tomorrow at 10:00."
    fill(memory_file, daily([text, text], "day"))
    fill(memory_file, [row | {"observed_at": "2026-02-09T09:00:00+00:00"}
                       for row in daily([text, f"Note: {text}"], "same")])  # fmt: skip
    outcome = night(memory_file, embedder)
    active = rows(memory_file, "SELECT id FROM memories WHERE status = 'active' ORDER BY id")
    assert len(active) == 3
    assert {row["id"] for row in active} > {"day-00", "day-01"}
    assert {refusal.guard for refusal in outcome.plan.refused} == {"day"}


def test_only_equal_texts_are_merged_without_a_model(
    memory_file: Path, embedder: SentenceEmbedder
) -> None:
    fill(memory_file, daily([LESS, f"User said that {LESS}", FULLER], "m"))
    outcome = night(memory_file, embedder)
    (proposal,) = outcome.plan.proposals
    assert (proposal.survivor, proposal.leaving) == ("m-00", ("m-01",))
    assert night(memory_file, embedder).plan.is_empty


def test_different_entities_prevent_a_merge(memory_file: Path, embedder: SentenceEmbedder) -> None:
    fill(memory_file, [*daily([LESS], "a"), *daily([LESS], "b", entities=["helga"])])
    outcome = night(memory_file, embedder)
    assert outcome.plan.is_empty
    assert [refusal.guard for refusal in outcome.plan.refused] == ["entity"]


def test_separated_memories_stay_separate(memory_file: Path, embedder: SentenceEmbedder) -> None:
    fill(memory_file, daily([LESS, f"Note: {LESS}"], "m"))
    night(memory_file, embedder)
    execute(memory_file, "UPDATE memories SET status = 'active', superseded_by = NULL")
    outcome = night(memory_file, embedder)
    assert outcome.plan.is_empty
    assert [refusal.guard for refusal in outcome.plan.refused] == ["restored"]


def test_no_order_of_rows_changes_which_duplicate_stays(
    tmp_path: Path, embedder: SentenceEmbedder
) -> None:
    memories = daily([LESS, FULLER, f"Note: {LESS}", PLAIN, f"User said that {PLAIN}"], "m")
    digests = set()
    for seed in range(4):
        path = tmp_path / f"{seed}.db"
        create_file(path)
        random.Random(seed).shuffle(memories)  # noqa: S311 - an order, not a secret
        fill(path, memories)
        digests.add(night(path, embedder).plan.digest)
        assert night(path, embedder).plan.is_empty
    assert len(digests) == 1
