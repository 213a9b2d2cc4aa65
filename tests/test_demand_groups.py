"""What demands one thing, what becomes a rule, and what only says a rule again."""

from __future__ import annotations

from pathlib import Path

import pytest
from nights import NOW, execute, fill, night, picture, rows, told

from slowwave.consolidation.comparison.coverage import Coverage
from slowwave.consolidation.comparison.restating import find_restating, restates
from slowwave.consolidation.vectors.embedder import SentenceEmbedder
from slowwave.store.file import open_writing
from slowwave.store.records import timestamp
from slowwave.store.undo.undo import undo_runs

FRIDAYS = [
    "No deploys on Fridays.",
    "Never deploy on a Friday.",
    "Deploying on a Friday is not allowed.",
    "We don't deploy on Fridays.",
    "Deployments must not happen on Friday.",
    "Friday deploys are forbidden.",
]
TICKETS = [
    "Never deploy without a ticket.",
    "Every deploy needs a ticket.",
    "Don't deploy anything without a ticket.",
    "Deploys must have a ticket.",
    "Deploys without a ticket are forbidden.",
]


LIKELIHOOD = Coverage().likelihood


@pytest.mark.parametrize("text", FRIDAYS)
def test_what_demands_the_same_in_other_forms_restates_a_rule(text: str) -> None:
    assert restates("No deploys on Fridays.", text, LIKELIHOOD)


def test_what_restates_a_restatement_restates_the_rule() -> None:
    rule = "Ask Katrin before spending more than 50 euros."
    second = "Purchases above 50 euros need the approval of Katrin first."
    third = "Never order anything over 50 euros without consulting Katrin."
    stranger = "Never refund a customer without consulting Katrin."
    told = {(second, rule), (third, second)}
    found = find_restating(rule, [third, stranger, second], lambda *pair: float(pair in told))
    assert found == [0, 2]


@pytest.mark.parametrize(
    ("rule", "text"),
    [
        ("No deploys on Fridays.", "Deploys on Fridays are allowed."),
        ("No deploys on Fridays.", "You don't have to deploy on Fridays."),
        ("No deploys on Fridays.", "Nobody deployed on Friday."),
        ("No deploys on Fridays.", "No deploys."),
        ("No deploys on Fridays.", "No deploys on Mondays."),
        ("No deploys on Fridays.", "No deploys on Fridays before lunch."),
        ("No deploys on Fridays.", "No deploys on Fridays except hotfixes."),
        ("No deploys on Fridays.", "No deploys on Fridays; the on-call is alone."),
        ("No deploys on Fridays.", "Never deploy `api` on a Friday."),
        ("No deploys on Fridays.", "Lena must not deploy on Fridays."),
        ("Never deploy on Fridays except hotfixes.", "Never deploy hotfixes on Fridays."),
        ("Ask before committing.", "Commit before asking."),
        ("Ask before committing.", "Ask after committing."),
        ("Ask before committing.", "Don't ask before committing."),
        ("Use pnpm instead of npm.", "Use npm instead of pnpm."),
        ("Ann must ask Bob before a deploy.", "Bob must ask Ann before a deploy."),
        ("Always run the linter.", "Always write the linter."),
        (
            "Never give him a hint, give him the answer.",
            "Never give him the answer, give him a hint.",
        ),
    ],
)
def test_what_demands_more_or_less_or_another_thing_does_not_restate(rule: str, text: str) -> None:
    assert not restates(rule, text, LIKELIHOOD)
    assert not restates(text, rule, LIKELIHOOD)


def test_a_rule_takes_the_place_of_what_only_says_it_again(
    memory_file: Path, embedder: SentenceEmbedder
) -> None:
    case = "On 6 March I deployed billing-api on a Friday and Tom lost his evening. Never do that."
    fill(memory_file, told([*FRIDAYS, case], "friday"))
    before = picture(memory_file)
    outcome = night(memory_file, embedder)
    (rule,) = rows(memory_file, "SELECT * FROM memories WHERE layer = 'core'")
    assert rule["content"] in FRIDAYS
    assert rule["trust"] < 0.5
    gone = rows(memory_file, "SELECT * FROM memories WHERE status = 'superseded' ORDER BY id")
    assert [row["content"] for row in gone] == FRIDAYS
    assert {row["superseded_by"] for row in gone} == {rule["id"]}
    edges = rows(memory_file, "SELECT * FROM synthesized_from WHERE derived_id = ?", rule["id"])
    assert {row["id"] for row in gone} <= {edge["source_id"] for edge in edges}
    assert night(memory_file, embedder).plan.proposals == ()
    with open_writing(memory_file) as file:
        undo_runs(file, [str(outcome.run_id)], timestamp(NOW))
    assert picture(memory_file) == before


def test_a_rule_takes_in_what_says_it_again_later(
    memory_file: Path, embedder: SentenceEmbedder
) -> None:
    fill(memory_file, told(FRIDAYS[:-1], "friday"))
    night(memory_file, embedder)
    (rule,) = rows(memory_file, "SELECT * FROM memories WHERE layer = 'core'")
    fill(memory_file, told(FRIDAYS[-1:], "again", first_day=20))
    before = picture(memory_file)
    outcome = night(memory_file, embedder)
    (again,) = rows(memory_file, "SELECT * FROM memories WHERE id = 'again-00'")
    assert (again["status"], again["superseded_by"]) == ("superseded", rule["id"])
    assert night(memory_file, embedder).plan.proposals == ()
    with open_writing(memory_file) as file:
        undo_runs(file, [str(outcome.run_id)], timestamp(NOW))
    assert picture(memory_file) == before


def test_what_a_person_wrote_stays_beside_the_rule(
    memory_file: Path, embedder: SentenceEmbedder
) -> None:
    fill(memory_file, told(FRIDAYS, "friday"))
    execute(memory_file, "UPDATE memories SET origin = 'human' WHERE id = 'friday-01'")
    execute(memory_file, "UPDATE memories SET pinned = 1 WHERE id = 'friday-03'")
    night(memory_file, embedder)
    stays = rows(
        memory_file, "SELECT id FROM memories WHERE layer = 'working' AND status = 'active'"
    )
    assert [row["id"] for row in stays] == ["friday-01", "friday-03"]
    assert night(memory_file, embedder).plan.proposals == ()


def test_two_rules_on_one_topic_stay_two(memory_file: Path, embedder: SentenceEmbedder) -> None:
    fine = "Pushing on Fridays is fine."
    fill(memory_file, [*told(FRIDAYS, "friday"), *told(TICKETS, "ticket"), *told([fine], "fine")])
    night(memory_file, embedder)
    found = rows(
        memory_file,
        "SELECT derived_id, group_concat(DISTINCT substr(source_id, 1, 6)) AS voices "
        "FROM synthesized_from WHERE operation = 'extract' GROUP BY derived_id",
    )
    assert sorted(row["voices"] for row in found) == ["friday", "ticket"]


def test_voices_that_were_merged_count_for_a_rule(
    memory_file: Path, embedder: SentenceEmbedder
) -> None:
    texts = ["No deploys on Fridays.", "Friday deploys are forbidden."]
    fill(memory_file, [*told(texts[:1] * 3, "no"), *told(texts[1:] * 3, "forbidden")])
    night(memory_file, embedder)
    left = rows(memory_file, "SELECT layer, content FROM memories WHERE status = 'active'")
    assert [row["layer"] for row in left] == ["core"]
    assert night(memory_file, embedder).plan.proposals == ()


def test_norms_that_contradict_each_other_make_no_rule(
    memory_file: Path, embedder: SentenceEmbedder
) -> None:
    opposite = [
        "Always deploy on Fridays.",
        "Deploy on a Friday, always.",
        "Deployments must happen on Friday.",
    ]
    fill(memory_file, [*told(FRIDAYS, "never"), *told(opposite, "always")])
    outcome = night(memory_file, embedder)
    assert [one for one in outcome.plan.proposals if one.operation == "extract"] == []
