"""Old and new values of one thing: what replaces what, what is left alone, what is reported."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from builders import a_memory
from nights import AGENTS_TABLES, NOW, execute, fill, night, picture, rows, told
from test_cli import Cli, cli

from slowwave.consolidation.planning.composition import compose_next_update, compose_update
from slowwave.consolidation.proposals import Conflict, Source
from slowwave.consolidation.text.dates import current_part
from slowwave.consolidation.updates.dated_memory import dated_memory
from slowwave.consolidation.updates.replacements import Updates, find_updates, grouped
from slowwave.consolidation.vectors.embedder import SentenceEmbedder
from slowwave.store.check import check_file
from slowwave.store.exchange import export_lines, import_lines
from slowwave.store.file import create_file, open_reading, open_writing
from slowwave.store.lineage import trace_sources
from slowwave.store.records import timestamp
from slowwave.store.schema_of_file import newest_version
from slowwave.store.undo.undo import undo_runs

__all__ = ["cli"]  # the fixture

BRANCH = [
    "The default branch of the firmware repository is called master.",
    "User renamed the default branch of the firmware repository; it is called trunk from now on.",
    "The default branch of the firmware repository was renamed, it is called main these days.",
]
PORT = "The billing service listens on port {} for requests of the web shop."
NOW_PORT = "The billing service now listens on port {} for requests of the web shop."
MERGED = (
    "[since 2026-02-02] User renamed the default branch of the firmware repository; it is called "
    "trunk from now on. [2026-02-01 until 2026-02-02] The default branch of the firmware "
    "repository is called master."
)
DAY = "2026-02-01T09:00:00+00:00"
EVERYTHING = (*AGENTS_TABLES, "runs", "proposals", "journal", "derivations", "entity_scans")


def active(path: Path) -> list[str]:
    return [
        row["content"]
        for row in rows(
            path, "SELECT content FROM memories WHERE status = 'active' ORDER BY observed_at, id"
        )
    ]


def one_update(path: Path, embedder: SentenceEmbedder) -> dict[str, Any]:
    """Run a night that makes one update, and a second one that finds nothing to do."""
    outcome = night(path, embedder)
    assert [(one.proposal.operation, one.state) for one in outcome.results] == [
        ("update", "applied")
    ]
    after = picture(path, EVERYTHING)
    assert night(path, embedder).plan.proposals == ()
    assert picture(path, EVERYTHING) == after
    made = outcome.results[0].derived or outcome.results[0].proposal.survivor
    return rows(path, "SELECT * FROM memories WHERE id = ?", made)[0]


def test_a_value_that_is_said_to_have_changed_replaces_the_old_one(
    memory_file: Path, embedder: SentenceEmbedder
) -> None:
    fill(memory_file, told(BRANCH[:2], "branch", trust=0.8, importance=4))
    made = one_update(memory_file, embedder)
    assert made["content"] == MERGED
    assert (made["layer"], made["origin"], made["generation"]) == ("stable", "consolidation", 1)
    assert (made["trust"], made["importance"]) == (0.75, 4)
    sources = rows(memory_file, "SELECT * FROM memories WHERE superseded_by = ?", made["id"])
    assert [row["content"] for row in sources] == BRANCH[:2]
    edges = rows(memory_file, "SELECT operation, source_id FROM synthesized_from ORDER BY 2")
    assert edges == [
        {"operation": "update", "source_id": "branch-00"},
        {"operation": "update", "source_id": "branch-01"},
    ]
    with open_reading(memory_file) as file:
        assert check_file(file).problems == ()
        assert {one.operation for one in trace_sources(file, made["id"]).steps[made["id"]]} == {
            "update"
        }


def test_a_value_that_is_just_given_anew_is_a_conflict(
    memory_file: Path, embedder: SentenceEmbedder
) -> None:
    fill(memory_file, told([PORT.format(8080), PORT.format(9191)], "port"))
    plan = night(memory_file, embedder).plan
    assert plan.proposals == ()
    assert [one.why for one in plan.conflicts] == ["nothing says that it changed"]


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("The staging database listens on port 5433.", "The live database listens on port 5439."),
        ("Timeouts in the import service are 30 s.", "Timeouts in the export service are 90 s."),
        ("User's sister Ottilie lives in Marbeck.", "User's sister Friederike lives in Tonning."),
        ("The user ran the Elbdeich race in 1:52.", "The user ran the Elbdeich race in 1:58."),
        ("We paid the plumber 180 euros for the tap.", "We paid the plumber 240 euros for a sink."),
        ("Leo's shoe size is 31.", "Clara's shoe size is 34."),
        ("Code of the upper gate: 4471.", "Code of the lower gate: 4417."),
        ("Beatriz approved four standing desks.", "Beatriz approved two acoustic panels."),
        ("User collects stamps from Portugal.", "User collects records from the seventies."),
        ("Dinner with Hugo is on 9 May at our place.", "Dinner with Hugo is on 23 May at his."),
    ],
)
def test_two_things_and_things_that_happen_twice_are_left_alone(
    old: str, new: str, memory_file: Path, embedder: SentenceEmbedder
) -> None:
    fill(memory_file, told([old, new], "two"))
    plan = night(memory_file, embedder).plan
    assert (plan.proposals, plan.conflicts) == ((), ())


@pytest.mark.parametrize(
    ("memories", "why"),
    [
        ([{"observed_at": "2026-02-01T09:00:00+00:00"}] * 2, "nothing says that it changed"),
        (
            [{"observed_at": "2026-02-01T09:00:00+00:00", "origin": "human"}, {}],
            "the earlier one is protected",
        ),
    ],
)
def test_what_is_not_plain_is_reported_and_left_as_it_is(
    memories: list[dict[str, str]], why: str, memory_file: Path, embedder: SentenceEmbedder
) -> None:
    later = NOW_PORT if why == "the earlier one is protected" else PORT
    texts = [PORT.format(8080), later.format(9191)]
    fill(
        memory_file,
        [{"content": text} | more for text, more in zip(texts, memories, strict=True)],
    )
    plan = night(memory_file, embedder).plan
    assert plan.proposals == ()
    assert [(one.values, one.why) for one in plan.conflicts] == [(("8080", "9191"), why)]
    assert sorted(active(memory_file)) == sorted(texts)


def test_a_humans_memory_is_replaced_when_told_so(
    memory_file: Path, embedder: SentenceEmbedder
) -> None:
    fill(memory_file, [*told(BRANCH[:1], "human", origin="human"), *told(BRANCH[1:2], "agent", 2)])
    assert night(memory_file, embedder).plan.proposals == ()
    assert night(memory_file, embedder, include_protected=True).plan.proposals != ()
    assert len(active(memory_file)) == 1


def test_an_old_value_that_is_told_again_later_is_a_conflict(
    memory_file: Path, embedder: SentenceEmbedder
) -> None:
    texts = [PORT.format(8080), NOW_PORT.format(9191), f"Note: {PORT.format(8080)}"]
    fill(memory_file, told(texts, "port"))
    # The plain wording stays for the announced one, which is later: the second night still knows.
    for _ in range(2):
        plan = night(memory_file, embedder).plan
        assert [one for one in plan.proposals if one.operation == "update"] == []
        assert {one.why for one in plan.conflicts} == {"the earlier value was told again later"}


def test_hearsay_replaces_nothing(memory_file: Path, embedder: SentenceEmbedder) -> None:
    texts = [
        "Arvid says the contract with the cleaning firm covers 20 rooms.",
        "Mette says the contract with the cleaning firm covers 25 rooms.",
    ]
    fill(memory_file, told(texts, "rooms"))
    plan = night(memory_file, embedder).plan
    assert plan.proposals == ()
    assert [one.values for one in plan.conflicts] == [("20", "25")]


def test_three_values_in_a_row_stand_in_one_memory(
    memory_file: Path, embedder: SentenceEmbedder
) -> None:
    fill(memory_file, told(BRANCH, "branch"))
    text = one_update(memory_file, embedder)["content"]
    assert text.startswith(f"[since 2026-02-03] {BRANCH[2]} [2026-02-02 until 2026-02-03] User")
    assert text.endswith(f"[2026-02-01 until 2026-02-02] {BRANCH[0]}")


def test_the_next_value_goes_into_the_memory_of_the_last_update(
    memory_file: Path, embedder: SentenceEmbedder
) -> None:
    fill(memory_file, told(BRANCH[:2], "branch"))
    first = one_update(memory_file, embedder)
    before = picture(memory_file)
    fill(memory_file, told(BRANCH[2:], "later", first_day=9))
    added = picture(memory_file)
    outcome = night(memory_file, embedder, dry_run=True)
    assert [one.survivor for one in outcome.plan.proposals] == [first["id"]]
    run = night(memory_file, embedder).run_id
    grown = rows(memory_file, "SELECT * FROM memories WHERE id = ?", first["id"])[0]
    assert grown["content"] == (
        f"[since 2026-02-09] {BRANCH[2]} "
        f"{MERGED.replace('[since 2026-02-02]', '[2026-02-02 until 2026-02-09]')}"
    )
    assert (grown["generation"], grown["observed_at"][:10]) == (1, "2026-02-09")
    assert night(memory_file, embedder).plan.proposals == ()
    with open_writing(memory_file) as file:
        assert check_file(file).problems == ()
        undo_runs(file, [str(run)], timestamp(NOW))
    assert picture(memory_file) == added
    assert before["memories"] != added["memories"]


def test_all_wordings_of_both_values_go_with_them(
    memory_file: Path, embedder: SentenceEmbedder
) -> None:
    again = "Pull requests to the firmware repository go to its default branch, master."
    fill(memory_file, told([BRANCH[0], again, BRANCH[1]], "branch"))
    made = one_update(memory_file, embedder)
    assert again in made["content"]
    assert active(memory_file) == [made["content"]]


def test_what_ends_takes_nothing_of_another_thing_along(
    memory_file: Path, embedder: SentenceEmbedder
) -> None:
    # Both cost and both are at work, which is no thing that they are about.
    badge = [
        "User said whoever loses a badge pays 15 euros for the new one.",
        "A fee of 15 euros is charged for a lost badge.",
        "Replacing a lost badge costs the employee 15 euros.",
    ]
    dentist = [
        "Visits to the dentist during working hours count as paid time.",
        "Dentist visits in working hours are no longer paid; people have to make up the time.",
    ]
    fill(memory_file, told([*badge, *dentist], "office"))
    night(memory_file, embedder, only=frozenset({"update"}))
    stands = active(memory_file)
    assert set(badge) <= set(stands)
    assert any("no longer paid" in one and "count as paid" in one for one in stands)


def test_an_update_is_undone_to_the_bit_and_not_proposed_again(
    memory_file: Path, embedder: SentenceEmbedder
) -> None:
    fill(memory_file, told(BRANCH[:2], "branch"))
    before = picture(memory_file)
    outcome = night(memory_file, embedder)
    with open_writing(memory_file) as file:
        undo_runs(file, [str(outcome.run_id)], timestamp(NOW))
    assert picture(memory_file) == before
    assert night(memory_file, embedder).plan.proposals == ()
    assert night(memory_file, embedder, reconsider=True).plan.proposals != ()


def test_an_update_is_one_of_the_operations_that_may_be_chosen(
    memory_file: Path, embedder: SentenceEmbedder
) -> None:
    fill(memory_file, told(BRANCH[:2], "branch"))
    assert night(memory_file, embedder, only=frozenset({"merge"})).plan.proposals == ()
    assert night(memory_file, embedder, only=frozenset({"update"})).plan.proposals != ()


def test_an_export_brings_the_edges_of_an_update_along(
    memory_file: Path, embedder: SentenceEmbedder, tmp_path: Path
) -> None:
    fill(memory_file, told(BRANCH[:2], "branch"))
    night(memory_file, embedder)
    other = tmp_path / "other.db"
    create_file(other)
    with open_reading(memory_file) as file, open_writing(other) as copy:
        import_lines(copy, [line.encode() for line in export_lines(file, True)], NOW)
    tables = ("memories", "synthesized_from")
    assert picture(other, tables) == picture(memory_file, tables)
    assert night(other, embedder).plan.proposals == ()


# Old and new, where the newer one says that something changed.
CHANGED = [
    ("User lives at Almgasse 14 in Leoben.", "User moved to Bahnhofstrasse 3 in Villach."),
    ("Ann of the finance team lives in Thun.", "Ann of the finance team has moved to Bern."),
    # The noun tells what the value is, whatever the verb.
    ("The mail gateway listens on port 2525.", "The mail gateway now runs on port 2626."),
    # What the one begins with stands further behind in the other, or is the value.
    ("The mentor of the new trainees is Ann.", "Ben is now the mentor of the new trainees."),
    ("The rent of the ferry office is 700 euros.", "The ferry office now costs 800 euros a month."),
    (
        "The gardener waters the roses of the abbey.",
        "The sprinkler is now watering the roses of the abbey.",
    ),
    ("The shutters of the shop are painted green.", "The shutters of the shop are now white."),
    (
        "User works at Nordlicht Optik as a bookkeeper.",
        "User left Nordlicht Optik and now works at Havelblick as a controller.",
    ),
    ("The user's phone number is 0664 22190.", "User has a new phone number: 0699 31477."),
    ("The search API listens on port 9200.", "The search API was moved from port 9200 to 9300."),
    ("The web shop runs on Node 18.", "We upgraded the web shop to Node 20."),
    (
        "A parking permit costs 45 euros a month.",
        "The price of a parking permit went up to 52 euros a month.",
    ),
    ("The upload limit is 10 MB.", "The upload limit was raised from 10 MB to 25 MB."),
    ("The team standup is at 9:30.", "From Monday on the standup starts at 9:45 instead of 9:30."),
    ("Ilse owns the checkout service.", "Ilse handed the checkout service over to Tomasz."),
    ("Our designers draw in Sketch.", "The designers have replaced Sketch with Figma."),
    (
        "User drinks oat milk in their coffee.",
        "User no longer takes oat milk in coffee but soy milk.",
    ),
    ("User eats a vegetarian diet.", "User has switched to a vegan diet."),
    (
        "User takes 50 mg of sertraline daily.",
        "The doctor increased the user's sertraline to 75 mg.",
    ),
    (
        "The grant application is due on 12 May.",
        "The deadline of the grant application was extended to 26 May.",
    ),
    ("Bruno leads the platform team.", "Agnes took over the platform team from Bruno."),
    ("User drives a Skoda Fabia.", "User sold the Fabia and drives a Volvo now."),
    (
        "User's daughter Mila goes to Rosenhof kindergarten.",
        "Since August, Mila attends Parkschule instead of Rosenhof.",
    ),
    (
        "The spare key is kept under the flower pot.",
        "The spare key was moved; it is in the garage now.",
    ),
    ("The release branch is called stable.", "The release branch was renamed to shipping."),
    (
        "The analytics cluster is hosted in eu-west-1.",
        "The analytics cluster was migrated to eu-central-1.",
    ),
    ("User trains at FitPoint.", "User changed gyms and now trains at Kraftwerk."),
    (
        "The nightly report is sent to Henrik.",
        "The nightly report is no longer sent to Henrik but to Saskia.",
    ),
    ("The cleaning company comes on Tuesdays.", "The cleaning company now comes on Fridays."),
    ("User writes code in Vim.", "User switched from Vim to Helix."),
    ("Session tokens expire after 30 minutes.", "Session tokens now expire after 15 minutes."),
    ("CI runs on Jenkins.", "CI has been running on GitLab since the summer."),
    (
        "User sees Dr Amsel for their knee.",
        "User is with another doctor for the knee now, Dr Fink.",
    ),
]

# Old and new, where the newer one just gives the other value, in other words.
OTHERWISE = [
    (
        "The staging server's IP address is 10.4.0.12.",
        "10.4.0.31 is the IP address of the staging server.",
    ),
    ("The user's landlord is Mr Haas.", "Mrs Lindqvist is the user's landlord."),
    (
        "The default timeout of the scraper is 20 seconds.",
        "The scraper has a default timeout of 45 seconds.",
    ),
    (
        "The meeting room on the ground floor seats 8 people.",
        "There is space for 12 people in the meeting room on the ground floor.",
    ),
    ("The invoice service is written in Java.", "The language of the invoice service is Kotlin."),
    ("User weighs 82 kg.", "User's weight is 78 kg."),
    ("Rent for the garage is 70 euros a month.", "User pays 85 euros a month for the garage."),
    ("The bakery on the corner opens at 7:00.", "Opening time of the bakery on the corner: 6:30."),
    ("The dog's vet is Dr Amsel.", "The vet who treats the dog is Dr Fink."),
    ("Backups are kept for 30 days.", "Backups are retained for 60 days."),
    ("The deadline of the thesis is 1 June.", "The thesis has its deadline on 15 June."),
    ("Freelancers are paid 60 euros an hour.", "Freelancers get 70 euros an hour."),
    ("The library requires Python 3.9.", "The library needs Python 3.11 or newer."),
    ("The maximum batch size is 500.", "The maximum batch size is set to 800."),
    (
        "The logs of the crawler are stored in /var/log/orchard.",
        "The crawler's logs lie in /srv/logs/orchard.",
    ),
    (
        "The office kitchen is cleaned on Wednesdays.",
        "Friday is the day on which the office kitchen is cleaned.",
    ),
    ("The head of marketing is Jelena.", "Fabrice is the head of marketing."),
    ("The electricity tariff is 31 cents per kWh.", "Electricity costs 34 cents per kWh."),
    ("The garden shed has the code 4417.", "The code for the garden shed is 9021."),
    ("The entrance fee of the museum is 12 euros.", "Entrance to the museum costs 14 euros."),
    ("The demo site is at demo.orlo.dev.", "The demo site can be reached at show.orlo.io."),
    (
        "The main database runs on PostgreSQL 13.",
        "PostgreSQL 15 is what the main database runs on.",
    ),
]

# The same, where a thing known by name has one such value at a time.
ONE_AT_A_TIME = [
    ("The contact at Lumina is Ravi.", "Our contact at Lumina is Deborah."),
    ("User's manager is Petra.", "Gerald is the user's manager."),
    ("User's favourite tea is Darjeeling.", "The user's favourite tea is Assam."),
    ("Orlo's port is 8080.", "Orlo port: 8443"),
    ("The plan of Lumina is Basic.", "Lumina's plan is Premium."),
    ("The current app version is 5.8.2.", "Current app version: 5.9.0"),
    ("image tag of the shop: 2.14.1", "image tag of the shop: 2.15.0"),
    ("Current sprint: 41", "Current sprint: 42"),
]

# What the later one says holds in one place, case or while, or not yet, or of somebody else.
SCOPED = [
    ("The project uses Node 20.", "In Lena's branch the project now uses Node 22."),
    ("The project uses Node 20.", "The project now uses Node 22 in CI."),
    ("The project uses Node 20.", "The docs project now uses Node 22."),
    ("The default branch is main.", "The default branch was renamed to trunk in the fork."),
    ("The session timeout is 30 min.", "The session timeout is now 60 min for admins."),
    ("The bakery opens at 7:00.", "The bakery on Mill Street now opens at 8:00."),
    ("The gym opens at 7:00.", "On weekends the gym now opens at 9:00."),
    ("The office is on floor 3.", "Until Friday the office is on floor 5 now."),
    ("Stand-up is at 9:30.", "For now stand-up is at 10:00."),
    ("Stand-up is at 9:30.", "Stand-up is temporarily moved to 10:00."),
    ("User lives in Oslo.", "User now lives in Bergen for the summer."),
    ("User lives in Oslo.", "User would like to live in Bergen now."),
    (
        "The cache TTL is 60 s.",
        "The change that raises the cache TTL to 120 s now is not merged yet.",
    ),
    ("The cache TTL is 60 s.", "Somebody suggested raising the cache TTL from 60 s to 120 s."),
    ("The retry limit is 3.", "Tried a retry limit of 5, the retry limit is now 3 again."),
    ("The API listens on port 8080.", "Is it true that the API now listens on port 9090?"),
    ("Nora's phone number is 0170 1234.", "Nora's office has a new phone number: 0170 9999."),
    ("Service alpha-api runs on port 8081.", "Service beta-api now runs on port 8082."),
    ("User has a dog called Rex.", "User now has another dog called Milo."),
    ("Box nickel-27 was moved to shelf 3.", "Box copper-47 was moved to shelf 5."),
    ("B-0533 has a flat tyre.", "B-0535 has a flat tyre."),
    ("The people in flat 14 have a spare key.", "The people in flat 4 have a spare key."),
]

# Two things, two people, what happened twice, what comes on top, plans.
ALIKE = [
    ("The staging API listens on port 8081.", "The production API listens on port 8443."),
    ("Ann's desk is on floor 2.", "Ben's desk is on floor 5."),
    ("User ran 5 km on Monday.", "User ran 8 km on Thursday."),
    ("User likes jazz.", "User likes blues."),
    ("User speaks French.", "User speaks Danish."),
    ("Dinner with Nora is on 3 May.", "Dinner with Nora is on 10 May."),
    ("User flew to Rome in March.", "User flew to Oslo in June."),
    (
        "The import job takes 20 minutes for the small file.",
        "The import job takes 50 minutes for the large file.",
    ),
    ("The kids' dentist is Dr Lund.", "User's dentist is Dr Pape."),
    ("User supports the food bank.", "User supports the animal shelter."),
    ("The adult ticket costs 12 euros.", "The child ticket costs 6 euros."),
    ("User lives in Basel.", "User wants to move to Bern."),
    ("User owns a Brompton.", "User owns a Trek mountain bike."),
    ("Version 2.1 fixes the login bug.", "Version 2.2 fixes the export bug."),
    ("14 people came to the meetup.", "22 people came to the meetup."),
    ("The Berlin office has 40 staff.", "The Munich office has 25 staff."),
    ("User's sister lives in Graz.", "User's brother lives in Linz."),
    ("User used to live in Kiel.", "User lives in Flensburg."),
    ("The read timeout is 30 s.", "The connect timeout is 5 s."),
    ("The weekday menu costs 9 euros.", "The weekend menu costs 14 euros."),
    (
        "Hana reviews the pull requests of the backend.",
        "Ole reviews the pull requests of the frontend.",
    ),
    ("The first reminder is sent after 7 days.", "The second reminder is sent after 14 days."),
    ("User takes 10 mg of melatonin at night.", "User takes 400 mg of magnesium at night."),
    ("User read 3 books in January.", "User read 5 books in February."),
    ("The backup of the wiki runs at 02:00.", "The backup of the shop runs at 03:00."),
    ("User's mail is hosted at Posteo.", "User may move their mail to Fastmail."),
    ("User lives in Milan.", "Ana moved to Turin."),
    (
        "Set the log level to debug when tracing the parser.",
        "Set the log level to warning when timing the parser.",
    ),
    ("The train to Brno leaves from platform 4.", "The train to Graz leaves from platform 7."),
    ("Ticket 4410 is assigned to Ravi.", "Ticket 4432 is assigned to Mona."),
    ("The parser supports Python 3.10.", "The parser supports Python 3.12."),
    ("User is allergic to walnuts.", "User is allergic to shellfish."),
    ("User bought 2 kg of flour.", "User bought 4 kg of sugar."),
    ("A friend of the user works at Siemens.", "A cousin of the user works at Bosch."),
    ("User has a cat called Miez.", "User has a dog called Rex."),
    ("The free plan allows 3 projects.", "The team plan allows 50 projects."),
    ("User's flight leaves at 7:40.", "User's return flight leaves at 18:05."),
    ("Nadia approved the budget for training.", "Nadia approved the budget for travel."),
    ("The API answers 404 for unknown ids.", "The API answers 429 for too many requests."),
    ("User is learning Italian.", "User is learning Greek."),
    ("Uploads are retried 3 times.", "Downloads are retried 5 times."),
    ("In summer the pool opens at 8:00.", "In winter the pool opens at 10:00."),
    ("The blue van has 9 seats.", "The white van has 6 seats."),
    ("The standup is at 9:30.", "On 4 May the standup is at 11:00 because of the audit."),
    ("User drives a Fabia.", "User is thinking about switching to a Volvo."),
    ("Lena's birthday is on 4 April.", "Timo's birthday is on 9 June."),
    ("Worker nodes have 16 GB of memory.", "The control node has 8 GB of memory."),
    ("User met Greta in Lisbon.", "User met Paul in Porto."),
    (
        "The kitchen light is dimmed to 40% in the evening.",
        "The hall light is dimmed to 10% in the evening.",
    ),
    ("FleetJob above 100 euros ship free.", "FleetJob above 500 euros need a signature."),
    ("Bruno leads the platform team.", "Agnes took over the mobile team from Karl."),
    ("User uses Vim for code.", "User now uses Obsidian for notes."),
    ("The web shop runs on Node 18.", "The mobile app was upgraded to Node 20."),
    ("User's brother moved to Lyon.", "User's sister moved to Nantes."),
    ("User works at Havelblick.", "User's wife now works at Nordlicht."),
    ("A teacher at Mila's school is Mr Haas.", "A teacher at Mila's school is Mrs Lind."),
    ("The wiki was moved to server A in spring.", "The wiki was moved to server B for a test."),
    ("User has a meeting with Petra at 10:00.", "User has a meeting with Petra at 15:00."),
    ("User plays tennis.", "User now plays chess, too."),
    ("The report is sent to Henrik.", "The report is now also sent to Saskia."),
    # Two things that are told of one: where it is and what it is called, who has it ...
    (
        "The novel begins in Trieste.",
        'The novel is now called "The Ledger"; "of Trieste" was dropped from the title.',
    ),
    (
        "The choir sings in Thun.",
        'The choir is now called "Cantus"; "of Thun" was dropped from the name.',
    ),
    ("Ann of the finance team lives in Thun.", "Ann of the finance team now works in Bern."),
    ("User works in Thun.", "User is now living in Thun."),
    ("The archive is stored in Basel.", "The archive is now owned by a museum in Basel."),
    ("The importer job runs at 3:00.", "The importer job is now due at 4:00."),
    # Two parts of one thing, or two that are in one place.
    ("The shutters of the shop are painted green.", "The door of the shop is now painted white."),
    ("The shutters of the shop cost 300 euros.", "The door of the shop now costs 500 euros."),
    (
        "The key of the ferry office is with Ann.",
        "The logbook of the ferry office is now with Ben.",
    ),
    (
        "Some chapters set in Trieste have place names as headings.",
        'The novel is now called "The Ledger"; "of Trieste" was dropped from the title.',
    ),
]

# Where one is not sure, or only says what somebody told.
UNSURE = [
    (
        "The training budget is 900 euros a head.",
        "Someone heard that the training budget is 700 euros a head.",
    ),
    (
        "Rolf says the warranty of the pump runs for 2 years.",
        "Ines says the warranty of the pump runs for 5 years.",
    ),
    (
        "The tenants pay the water bill on 5 March.",
        "The tenants maybe pay the water bill on 15 March.",
    ),
    ("Rolf says the caretaker is Mr Haas.", "According to Ines, the caretaker is Mr Lind."),
    ("The museum closes at 18:00.", "I think the museum closes at 17:00."),
    ("User lives in Basel.", "User might live in Bern now, Rolf was not sure."),
]


def found_in(old: str, new: str) -> Updates:
    texts = {"old": (old, "2026-01-05"), "new": (new, "2026-02-09")}
    memories = [
        a_memory(one, text, observed_at=f"{day}T12:00:00+00:00")
        for one, (text, day) in texts.items()
    ]
    return find_updates([dated_memory(one) for one in memories], lambda _: True)


@pytest.mark.parametrize(("old", "new"), OTHERWISE)
def test_what_merely_has_another_value_is_a_conflict(old: str, new: str) -> None:
    found = found_in(old, new)
    assert found.replacements == ()
    assert [one.sources for one in found.conflicts] == [("old", "new")]


@pytest.mark.parametrize(("old", "new"), [*CHANGED, *ONE_AT_A_TIME])
def test_the_newer_of_two_values_replaces_the_older(old: str, new: str) -> None:
    found = found_in(old, new)
    assert found.conflicts == ()
    (replacement,) = found.replacements
    assert [[one.memory.id for one in stage.memories] for stage in replacement.stages] == [
        ["new"],
        ["old"],
    ]


@pytest.mark.parametrize(("old", "new"), SCOPED)
def test_what_holds_in_one_place_or_case_alone_ends_nothing(old: str, new: str) -> None:
    assert found_in(old, new) == Updates((), ())


@pytest.mark.parametrize(("old", "new"), [ONE_AT_A_TIME[0], ONE_AT_A_TIME[3]])
def test_two_values_that_were_told_on_one_day_are_a_conflict(old: str, new: str) -> None:
    moments = {"old": (old, "2026-01-05T09:00"), "new": (new, "2026-01-05T15:00")}
    memories = [
        a_memory(one, text, observed_at=f"{moment}:00+00:00")
        for one, (text, moment) in moments.items()
    ]
    found = find_updates([dated_memory(one) for one in memories], lambda _: True)
    assert (found.replacements, len(found.conflicts)) == ((), 1)


def test_three_values_in_a_row_are_one_history_and_no_conflict() -> None:
    texts = ["The current app version is 5.8.2.", "Current app version: 5.9.0"]
    texts.append("App version is 5.9.3 at present.")
    memories = [
        a_memory(f"m{day}", text, observed_at=f"2026-01-0{day}T12:00:00+00:00")
        for day, text in enumerate(texts, start=1)
    ]
    found = find_updates([dated_memory(one) for one in memories], lambda _: True)
    assert [one.values for one in found.replacements] == [("5.9.3", "5.9.0", "5.8.2")]
    assert found.conflicts == ()


def test_conflicts_about_one_thing_stand_together() -> None:
    texts = [
        "The kiln takes 14 hours to cool down.",
        "The vault cluster is owned by the platform team.",
        "The kiln takes 40 hours to cool down.",
        "The vault cluster is owned by the security team.",
        "To cool down, the kiln takes 14 hours.",
    ]
    memories = [
        a_memory(f"m{day}", text, observed_at=f"2026-01-0{day}T12:00:00+00:00")
        for day, text in enumerate(texts, start=1)
    ]
    found = find_updates([dated_memory(one) for one in memories], lambda _: True)
    assert [
        sorted({memory for one in group for memory in one.sources})
        for group in grouped(found.conflicts)
    ] == [["m1", "m3", "m5"], ["m2", "m4"]]
    assert [one.sources for one in found.conflicts] == [("m1", "m3"), ("m3", "m5"), ("m2", "m4")]


class CountedSources(tuple[str, str]):
    """Two memories that count how often they are gone through."""

    times = 0

    def __iter__(self) -> Iterator[str]:
        CountedSources.times += 1
        return super().__iter__()


def test_many_conflicts_about_one_thing_are_each_looked_at_once_or_twice() -> None:
    sources = [CountedSources((f"m{one}", f"m{one + 1}")) for one in range(100)]
    conflicts = [Conflict(one, "default", "number: port", ("1", "2"), "") for one in sources]
    assert grouped(conflicts) == [conflicts]
    assert CountedSources.times <= 3 * len(conflicts)


@pytest.mark.parametrize(
    ("newest", "mark"),
    [
        ("The default branch is called trunk now.", "since"),
        ("Since March the default branch is called trunk.", "noted"),
        ("The default branch was renamed to trunk last week.", "noted"),
        ("The default branch is called trunk.", "noted"),
    ],
)
def test_a_day_is_a_beginning_only_where_somebody_says_so(newest: str, mark: str) -> None:
    later, earlier = (
        Source(one, text, f"2026-03-{day}T09:00:00+00:00", np.ones(1, np.float32))
        for one, text, day in (
            ("b", newest, "16"),
            ("a", "The default branch is called master.", "02"),
        )
    )
    draft = compose_update([[later], [earlier]])
    assert draft.claims[0].text.startswith(f"[{mark} 2026-03-16] ")
    assert current_part(draft.text) in (newest, f"[2026-03-16] {newest}")
    again = replace(later, id="c", text="The default branch is called main.")
    third = compose_next_update(replace(later, text=draft.text), [[again]], [again])
    assert " [2026-03-16 until 2026-03-16] " in third.text


@pytest.mark.parametrize(("old", "new"), ALIKE)
def test_what_only_looks_alike_replaces_nothing(old: str, new: str) -> None:
    assert found_in(old, new) == Updates((), ())


@pytest.mark.parametrize(("old", "new"), UNSURE)
def test_what_nobody_is_sure_of_is_a_conflict(old: str, new: str) -> None:
    found = found_in(old, new)
    assert found.replacements == ()
    assert [one.sources for one in found.conflicts] == [("old", "new")]


def test_the_command_lists_the_conflicts_that_stand_and_only_reads(
    memory_file: Path, cli: Cli
) -> None:
    texts = [PORT.format(8080), PORT.format(9191)]
    fill(memory_file, [row | {"observed_at": DAY} for row in told(texts, "port")])
    before = memory_file.read_bytes()
    listed = cli("conflicts", memory_file, "--json")
    assert (listed.code, listed.err) == (0, "")
    found = json.loads(listed.out)["conflicts"]
    assert [(one["sources"], one["values"]) for one in found] == [
        (["port-00", "port-01"], ["8080", "9191"])
    ]
    shown = cli("conflicts", memory_file, "--tenant", "default").out
    assert "8080 against 9191" in shown
    assert all(f"2026-02-01  {text} (" in shown for text in texts)
    assert cli("conflicts", memory_file, "--tenant", "nobody").code != 0
    assert memory_file.read_bytes() == before


def test_the_report_of_a_run_shows_the_conflicts(memory_file: Path, cli: Cli) -> None:
    texts = [PORT.format(8080), PORT.format(9191)]
    fill(memory_file, [row | {"observed_at": DAY} for row in told(texts, "port")])
    planned = cli("maintain", memory_file, "--consolidate", "--dry-run", "--json")
    assert [one["why"] for one in json.loads(planned.out)["conflicts"]] == [
        "nothing says that it changed"
    ]
    shown = cli("maintain", memory_file, "--consolidate", "--only", "update", "--dry-run")
    assert "In conflict, and left as they are: 2 memories about 1 thing." in shown.out
    assert cli("conflicts", memory_file).out in f"{shown.out}\n"


def test_a_file_without_conflicts_says_so(memory_file: Path, cli: Cli) -> None:
    fill(memory_file, told(BRANCH[:2], "branch"))
    assert "no conflicts" in cli("conflicts", memory_file).out


# What a file of version 1 looked like: the statements of its release, kept as they were.
VERSION_1 = Path(__file__).with_name("version_1.sql")


def an_older_file(path: Path) -> None:
    """Make a file as the first release left it, with one synthesis in it."""
    with closing(sqlite3.connect(path)) as db:
        db.executescript(VERSION_1.read_text("utf-8"))


def test_a_file_of_version_1_takes_updates_once_it_is_brought_up_to_date(
    tmp_path: Path, embedder: SentenceEmbedder
) -> None:
    path = tmp_path / "older.db"
    an_older_file(path)
    with pytest.raises(sqlite3.IntegrityError):
        execute(path, "UPDATE synthesized_from SET operation = 'update'")
    tables = ("synthesized_from", "derivations", "proposals", "memories")
    before = picture(path, tables)
    assert all(before.values())
    parts = "SELECT type, name FROM sqlite_schema WHERE name NOT LIKE 'sqlite_%' ORDER BY name"
    had = rows(path, parts)
    with open_writing(path) as file:
        assert check_file(file).problems == ()
    assert picture(path, tables) == before
    assert [one for one in rows(path, parts) if one in had] == had
    assert rows(path, "PRAGMA user_version") == [{"user_version": newest_version()}]
    fill(path, told(BRANCH[:2], "branch"))
    assert [one.operation for one in night(path, embedder).plan.proposals] == ["update"]


def test_what_an_agent_laid_beside_the_tables_outlives_the_migration(tmp_path: Path) -> None:
    path = tmp_path / "older.db"
    an_older_file(path)
    execute(path, "CREATE VIEW made AS SELECT derived_id FROM synthesized_from")
    execute(path, "CREATE INDEX mine ON proposals (tenant)")
    with open_writing(path):
        pass
    assert rows(path, "SELECT count(*) AS n FROM made")[0]["n"] > 0
    assert rows(path, "SELECT 1 AS one FROM sqlite_schema WHERE name = 'mine'")
    execute(path, "DELETE FROM memories WHERE id = 'm-1'")
    kept = rows(path, "SELECT source_content FROM synthesized_from WHERE source_id = 'm-1'")
    assert kept == [{"source_content": "Helvi settles the invoices."}]
