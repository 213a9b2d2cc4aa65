"""Which texts are duplicates: those that are equal after normalizing."""

from __future__ import annotations

import random
import unicodedata
from pathlib import Path

import pytest
from nights import daily, execute, fill, night, rows

from slowwave.consolidation.comparison.normal_form import normal_form
from slowwave.consolidation.vectors.embedder import SentenceEmbedder
from slowwave.store.file import create_file

PLAIN = "The standup of the data team starts at 9:30 am on 4 March."
FULLER = "The backup of the wiki runs at 02:30 every night and is stored on helga."
LESS = "The backup of the wiki runs at 02:30 every night."


@pytest.mark.parametrize(
    "second",
    [
        "the standup of the data team starts at 9:30 am on 4 March",
        "  The standup  of the data team\tstarts at 9:30 am on 4 March. ",
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
        ("The standup is at 9:30 am.", "The standup is at 9:30 pm."),
        ("Ann is in.", "User said that Ann is in."),
        ("The export took 1,234 s.", "The export took 1.234 s."),
    ],
)
def test_texts_that_differ_in_more_have_two_forms(first: str, second: str) -> None:
    assert normal_form(first) != normal_form(second)


def test_texts_about_tomorrow_are_not_merged(memory_file: Path, embedder: SentenceEmbedder) -> None:
    text = "User has an appointment with the dentist tomorrow at 10:00."
    fill(memory_file, daily([text, text], "day"))
    fill(memory_file, [row | {"observed_at": "2026-02-09T09:00:00+00:00"}
                       for row in daily([text, f"{text}!"], "same")])  # fmt: skip
    outcome = night(memory_file, embedder)
    active = rows(memory_file, "SELECT id FROM memories WHERE status = 'active' ORDER BY id")
    assert len(active) == 3
    assert {row["id"] for row in active} > {"day-00", "day-01"}
    assert {refusal.guard for refusal in outcome.plan.refused} == {"day"}


def test_only_equal_texts_are_merged_without_a_model(
    memory_file: Path, embedder: SentenceEmbedder
) -> None:
    fill(memory_file, daily([LESS, f" {LESS}!", FULLER], "m"))
    outcome = night(memory_file, embedder)
    (proposal,) = outcome.plan.proposals
    assert (proposal.survivor, proposal.leaving) == ("m-01", ("m-00",))
    assert night(memory_file, embedder).plan.is_empty


def test_different_entities_prevent_a_merge(memory_file: Path, embedder: SentenceEmbedder) -> None:
    fill(memory_file, [*daily([LESS], "a"), *daily([LESS], "b", entities=["helga"])])
    outcome = night(memory_file, embedder)
    assert outcome.plan.is_empty
    assert [refusal.guard for refusal in outcome.plan.refused] == ["entity"]


def test_separated_memories_stay_separate(memory_file: Path, embedder: SentenceEmbedder) -> None:
    fill(memory_file, daily([LESS, f"{LESS}!"], "m"))
    night(memory_file, embedder)
    execute(memory_file, "UPDATE memories SET status = 'active', superseded_by = NULL")
    outcome = night(memory_file, embedder)
    assert outcome.plan.is_empty
    assert [refusal.guard for refusal in outcome.plan.refused] == ["restored"]


def test_no_order_of_rows_changes_which_duplicate_stays(
    tmp_path: Path, embedder: SentenceEmbedder
) -> None:
    memories = daily([LESS, FULLER, f"{LESS}!", PLAIN, f"{PLAIN}!"], "m")
    digests = set()
    for seed in range(4):
        path = tmp_path / f"{seed}.db"
        create_file(path)
        random.Random(seed).shuffle(memories)  # noqa: S311 - an order, not a secret
        fill(path, memories)
        digests.add(night(path, embedder).plan.digest)
        assert night(path, embedder).plan.is_empty
    assert len(digests) == 1
