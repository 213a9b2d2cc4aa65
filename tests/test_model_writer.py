"""A model writes, through litellm, and nothing that it says is believed.

Real files, the real litellm, the real embedding model; only the model itself is played, by a
server on loopback. Rules are those of the night fixture.
"""

from __future__ import annotations

import itertools
import json
import signal
import subprocess
import sys
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass, field, replace
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import night as fixture
import numpy as np
import pytest
from model_server import (
    HANGS_UP,
    MOST_SECONDS,
    SILENT,
    Asked,
    ModelServer,
    Reply,
    Responder,
    Shown,
    compact,
    count,
    count_messages,
    faithful,
    group,
    groups,
    in_turn,
    model_server,
    opinions,
    oracle,
    refuses,
    says,
)
from nights import NOW, execute, fill, night, picture, rows, told

from slowwave.consolidation.comparison.coverage import Coverage
from slowwave.consolidation.comparison.restating import restating
from slowwave.consolidation.errors import ModelError
from slowwave.consolidation.model import prompts
from slowwave.consolidation.model.calls import ATTEMPTS, Endpoint
from slowwave.consolidation.model.structured import response_format
from slowwave.consolidation.model.writer import Budget, ModelWriter
from slowwave.consolidation.planning.estimates import TOKENS_OF_INSTRUCTIONS, TOKENS_OF_OPINIONS
from slowwave.consolidation.proposals import Asked as Ended
from slowwave.consolidation.proposals import Operation, Result, Source
from slowwave.consolidation.running.outcome import Outcome
from slowwave.consolidation.vectors.embedder import SentenceEmbedder
from slowwave.store.file import open_writing
from slowwave.store.records import timestamp
from slowwave.store.undo import undo_run

KEY = "sk-test-31415926535897932384"
TOMORROW = NOW + timedelta(days=1)
# What must be left alone where nothing is applied.
UNTOUCHED = ("memories", "synthesized_from", "derivations")

_NIGHT = fixture.load()
_VOICINGS = {rule["id"]: rule["voicings"] for rule in _NIGHT.rules}

# A number of seconds, names, a denial, who does it for whom: three memories each, of which one adds
# nothing and two add a value or a doing of their own, so that none tells the others, and no rule
# can tell that the first adds nothing.
LEASE, JONAH, INES, PHYSIO, PROTOBUF, HOTEL = FACTS = (
    "lease",
    "jonah",
    "ines",
    "physio",
    "protobuf",
    "hotel",
)
_TOLD = {
    LEASE: (
        "The job lock of LeaseKeeper: renewed every 10 seconds.",
        "LeaseKeeper renews the job lock every 10 seconds, at most 360 times.",
        "LeaseKeeper renews the job lock every 10 seconds and logs it to /var/log/lease.log.",
    ),
    JONAH: (
        "The user's nephew Jonah is allergic to cashews.",
        "The user's nephew Jonah is allergic to cashews and carries a syringe for it.",
        "The user's nephew Jonah is allergic to cashews, which was found out at a picnic.",
    ),
    INES: (
        "The user's colleague Ines does not drive at night.",
        "The user's colleague Ines does not drive at night and takes the train from Malmö.",
        "The user's colleague Ines does not drive at night, which was said at the stand-up.",
    ),
    PHYSIO: (
        "The user sees the physiotherapist Ms Kowalczyk about the left shoulder.",
        "The user sees the physiotherapist Ms Kowalczyk about the left shoulder on Mondays.",
        "The user sees the physiotherapist Ms Kowalczyk about the left shoulder and pays 40 euros.",
    ),
    PROTOBUF: (
        "protobuf is pinned at 3.21.12 because the Android build breaks with newer releases.",
        "protobuf is pinned at 3.21.12 in gradle.lock because the Android build breaks with newer "
        "releases.",
        "protobuf is pinned at 3.21.12 since March because the Android build breaks with newer "
        "releases.",
    ),
    HOTEL: (
        "The user booked a hotel in Bled for four nights in September.",
        "The user booked a hotel in Bled for four nights in September for Mirjam.",
        "The user booked a hotel in Bled for four nights in September and paid 480 euros.",
    ),
}
# The same where a rule can tell that the first adds nothing: it waits for what a model says.
WAITING = (
    "LeaseKeeper renews the job lock every 10 seconds.",
    *_TOLD[LEASE][1:],
)
DRAFT_FIRST = "personal-rule-show-draft-first"
# What is said later: the first of these again, in words that no rule can call the same, and more.
ADDED = (
    "The user's nephew Jonah has an allergy to cashews.",
    "The user's nephew Jonah is allergic to cashews and was in hospital with it in 2024.",
)
# Two values of one thing, which no rule sees.
NEWER = (
    "The newsletter of the choir is written by the treasurer.",
    "The secretary has taken over writing the choir's newsletter from the treasurer.",
)
# Two wordings that no rule can call the same.
BIRTHDAY = (
    "The user's brother Henrik has his birthday on 3 March.",
    "Birthdays in the family: Henrik, the user's brother, 3 March.",
)


@pytest.fixture(autouse=True)
def _no_keys_of_the_machine(monkeypatch: pytest.MonkeyPatch) -> None:
    """No key of whoever runs the tests is ever sent anywhere."""
    for name in ("OPENAI_API_KEY", "MISTRAL_API_KEY", "OPENAI_BASE_URL", "OPENAI_API_BASE"):
        monkeypatch.delenv(name, raising=False)


@dataclass(frozen=True)
class Agent:
    """An agent's memory file, the real embedding model, and the model that writes at night."""

    path: Path
    embedder: SentenceEmbedder
    server: ModelServer
    # Vectors of texts, by text: they are brought along, as agents may do, and computed once.
    vectors: dict[str, list[float]] = field(repr=False)

    def remember(self, memories: Sequence[dict[str, Any]]) -> None:
        """Import memories with their vectors."""
        texts = [memory["content"] for memory in memories]
        new = [text for text in texts if text not in self.vectors]
        if new:
            self.vectors.update(zip(new, self.embedder.encode(new).tolist(), strict=True))
        space = {"embedding_model": self.embedder.name}
        fill(
            self.path,
            [one | space | {"embedding": self.vectors[one["content"]]} for one in memories],
        )

    def writer(
        self,
        model: str = "openai/scripted",
        concurrency: int = 1,
        budget: Budget | None = None,
        timeout_s: float = 20.0,
    ) -> ModelWriter:
        """Give a writer that asks the server, and waits next to nothing before another try."""
        endpoint = Endpoint(model, self.server.base, timeout_s, first_wait_s=0.001)
        return ModelWriter(endpoint, concurrency, budget)

    def sleep(
        self, writer: ModelWriter | None = None, now: datetime = NOW, **options: Any
    ) -> Outcome:
        """Run a night."""
        return night(self.path, self.embedder, writer=writer or self.writer(), now=now, **options)

    def rows(self, sql: str, *values: object) -> list[dict[str, Any]]:
        """Read the file with plain SQL."""
        return rows(self.path, sql, *values)

    def picture(self) -> dict[str, list[dict[str, Any]]]:
        """Give all that must stay as it is where nothing is applied."""
        return picture(self.path, UNTOUCHED)


@pytest.fixture(scope="module")
def vectors() -> dict[str, list[float]]:
    return {}


@pytest.fixture
def agent(
    memory_file: Path, embedder: SentenceEmbedder, vectors: dict[str, list[float]]
) -> Iterator[Agent]:
    with model_server() as server:
        yield Agent(memory_file, embedder, server, vectors)


def a_fact(name: str = LEASE, **fields: object) -> list[dict[str, Any]]:
    """Give three memories of one thing that only a model can tell once: one synthesis."""
    return told(_TOLD[name], name, **fields)


def a_pair() -> list[dict[str, Any]]:
    """Give two memories that only a model can call the same: one merge."""
    return told(BIRTHDAY, "birthday")


def a_rule() -> list[dict[str, Any]]:
    """Give voicings of a rule, one of which names someone: one extraction."""
    voicings = [one.replace("the cousin", "cousin Malte") for one in _VOICINGS[DRAFT_FIRST][:7]]
    return told(voicings, "rule")


MEMORIES: dict[Operation, Callable[[], list[dict[str, Any]]]] = {
    "merge": a_pair,
    "synthesize": a_fact,
    "extract": a_rule,
}
MADE = tuple(MEMORIES)


def facts(count: int) -> list[dict[str, Any]]:
    """Give the memories of several facts, each of a tenant of its own: so many questions."""
    return [memory for name in FACTS[:count] for memory in a_fact(name, tenant=name)]


def by_model(outcome: Outcome) -> list[Result]:
    """Give what became of what the model said."""
    return [result for result in outcome.results if result.proposal.by_model]


def only_result(outcome: Outcome) -> Result:
    """Give what became of the only thing that the model said."""
    (result,) = by_model(outcome)
    return result


def only_question(outcome: Outcome) -> Ended:
    """Give what became of the only question."""
    (asked,) = outcome.asked
    return asked


def states(outcome: Outcome) -> dict[str, int]:
    """Give how many of the things that the model said are in which state."""
    return dict(Counter(result.state for result in by_model(outcome)))


def answered(outcome: Outcome) -> dict[str, int]:
    """Give how many questions are in which state; those that were answered are `applied`."""
    return dict(Counter(asked.state for asked in outcome.asked))


def total(agent: Agent) -> tuple[int, int]:
    """Give the tokens of all questions, and of all answers."""
    asked, said = zip(*agent.server.taken, strict=True)
    return sum(asked), sum(said)


def undo(agent: Agent, outcome: Outcome) -> None:
    """Undo a night."""
    assert outcome.run_id is not None
    with open_writing(agent.path) as file:
        undo_run(file, outcome.run_id, timestamp(TOMORROW))


# Makes a group of the memories that are shown.
Grouping = Callable[[list[Shown]], dict[str, Any]]


def grouping(*several: Grouping, on: Reply | Responder = oracle) -> Responder:
    """Answer each question about memories with these groups, one for opinions as `on` says."""

    def respond(asked: Asked) -> Reply:
        if asked.items:
            return on if isinstance(on, Reply) else on(asked)
        return says(groups(*(make(asked.memories) for make in several)))

    return respond


def complaint(asked: Asked) -> str:
    """Give what is said to be wrong with an earlier answer; nothing in a first question."""
    return asked.repair or " ".join(fault for one in asked.faulty for fault in one["faults"])


# ----------------------------------------------------------------- what a model may do


def test_a_model_merges_synthesizes_and_extracts_in_one_night_that_costs_one_call(
    agent: Agent,
) -> None:
    agent.remember([*a_fact(), *a_pair(), *a_rule()])
    outcome = agent.sleep()
    assert {one.proposal.operation: one.state for one in by_model(outcome)} == dict.fromkeys(
        MADE, "applied"
    )
    assert len(agent.server.asked) == outcome.usage.calls == 1
    status = {row["id"]: row["status"] for row in agent.rows("SELECT * FROM memories")}
    assert {status[memory["id"]] for memory in a_fact()} == {"superseded"}
    assert [status[memory["id"]] for memory in a_pair()] == ["superseded", "active"]
    (rule,) = agent.rows("SELECT * FROM memories WHERE layer = 'core'")
    texts = [memory["content"] for memory in a_rule()]
    again = restating(rule["content"], texts, Coverage().likelihood)
    assert again
    for at, memory in enumerate(a_rule()):
        assert at not in again or status[memory["id"]] == "superseded"
        assert "Malte" not in texts[at] or status[memory["id"]] == "active"


@pytest.mark.parametrize("operation", MADE)
def test_what_a_model_made_tells_its_sources_its_model_and_its_price_in_tokens(
    agent: Agent, operation: Operation
) -> None:
    agent.remember(MEMORIES[operation]())
    outcome = agent.sleep()
    result = only_result(outcome)
    made = result.proposal.survivor or result.derived
    edges = agent.rows("SELECT * FROM synthesized_from WHERE operation = ?", operation)
    assert {edge["derived_id"] for edge in edges} == {made}
    assert {edge["source_id"] for edge in edges} == set(result.proposal.sources) - {made}
    (derivation,) = agent.rows("SELECT * FROM derivations")
    assert derivation["memory_id"] == made
    assert (derivation["writer"], derivation["model"]) == ("model", "openai/scripted")
    assert [(derivation["prompt_tokens"], derivation["completion_tokens"])] == agent.server.taken
    assert derivation["cost_usd"] is None
    cited = {one for claim in json.loads(derivation["claims"]) for one in claim["sources"]}
    assert cited == set(result.proposal.sources)


def test_a_synthesis_of_a_model_stands_in_the_file_as_it_wrote_it(agent: Agent) -> None:
    agent.remember(a_fact())
    result = only_result(agent.sleep())
    (derived,) = agent.rows("SELECT * FROM memories WHERE id = ?", result.derived)
    assert derived["content"] == f"{_TOLD[LEASE][2]} {_TOLD[LEASE][1]}"
    assert (derived["layer"], derived["origin"]) == ("stable", "consolidation")


def test_a_sentence_that_speaks_of_another_day_keeps_the_day_on_which_it_was_said(
    agent: Agent,
) -> None:
    first, second, third = _TOLD[LEASE]
    agent.remember(told([first, f"Yesterday {second}", third], "lease"))
    result = only_result(agent.sleep())
    assert result.state == "applied"
    assert f"[2026-02-02] Yesterday {second}" in result.proposal.draft.text
    assert "[2026-01-31]" in agent.server.asked[0].messages[0]["content"]


def test_a_newer_value_that_a_model_sees_says_what_is_so_and_what_was(agent: Agent) -> None:
    agent.remember(told(NEWER, "choir"))
    agent.server.responder = grouping(newer)
    result = only_result(agent.sleep())
    assert (result.state, result.proposal.operation) == ("applied", "update")
    # Whether the earlier one is over is asked once more.
    question, opinion = agent.server.asked
    assert (question.faulty, opinion.items) == ([], [{"n": 1, "was": NEWER[0], "now": [NEWER[1]]}])
    (active,) = agent.rows("SELECT * FROM memories WHERE status = 'active'")
    assert active["content"] == (
        f"[since 2026-02-02] {NEWER[1]} [2026-02-01 until 2026-02-02] {NEWER[0]}"
    )
    agent.server.forget()
    assert by_model(agent.sleep(now=TOMORROW)) == []
    assert agent.server.asked == []


def newer(memories: list[Shown]) -> dict[str, Any]:
    """Say that the last memory gives a newer value than the others."""
    return group("newer", memories, memories[-1:])


def test_what_a_model_sees_conflict_is_told_and_stays(agent: Agent) -> None:
    agent.remember(told(NEWER, "choir"))
    before = agent.picture()
    agent.server.responder = grouping(lambda memories: group("conflict", memories))
    outcome = agent.sleep()
    (conflict,) = outcome.conflicts
    assert (conflict.sources, conflict.values) == (("choir-00", "choir-01"), NEWER)
    assert agent.picture() == before


@pytest.mark.parametrize("memories", [a_fact, a_pair, a_rule])
def test_a_model_that_finds_no_group_changes_nothing_of_its_own(
    agent: Agent, memories: Callable[[], list[dict[str, Any]]]
) -> None:
    agent.remember(memories())
    agent.server.responder = grouping()
    outcome = agent.sleep()
    assert (by_model(outcome), answered(outcome)) == ([], {"applied": 1})
    assert agent.rows("SELECT * FROM derivations WHERE writer = 'model'") == []
    assert len(agent.server.asked) == 1


def test_a_dry_run_asks_no_model(agent: Agent) -> None:
    agent.remember([*a_fact(), *a_pair(), *a_rule()])
    outcome = agent.sleep(dry_run=True)
    assert answered(outcome) == {"planned": 1}
    assert agent.server.asked == []


def test_memories_of_two_tenants_never_stand_in_one_question(agent: Agent) -> None:
    agent.remember([*near_pairs(2, tenant="one"), *near_pairs(2, tenant="two")])
    assert states(agent.sleep()) == {"applied": 4}
    assert [len(asked.memories) for asked in agent.server.asked] == [4, 4]


def test_more_memories_than_a_model_reads_with_care_are_shown_in_several_questions(
    agent: Agent,
) -> None:
    agent.remember(near_pairs(60))
    outcome = agent.sleep()
    assert len(outcome.plan.windows) == len(agent.server.asked) == 2
    shown = [one.text for asked in agent.server.asked for one in asked.memories]
    assert sorted(shown) == sorted(one["content"] for one in near_pairs(60))
    assert states(outcome) == {"applied": 60}


# ----------------------------------------------------------------- what waits for the model


def test_what_a_model_groups_otherwise_is_not_told_once_by_rule(agent: Agent) -> None:
    agent.remember(told(WAITING, "lease"))
    outcome = agent.sleep()
    (waiting,) = (one for one in outcome.results if not one.proposal.by_model)
    assert waiting.proposal.waits
    assert (waiting.state, waiting.why) == ("declined", "a model grouped its memories otherwise")
    assert states(outcome) == {"applied": 1}


LEFT: dict[str, Responder] = {
    "no group": grouping(),
    "no answer": lambda asked: refuses(500),
    "a group that is rejected": grouping(lambda shown: group("same", shown, shown[:1])),
}


@pytest.mark.parametrize("responder", LEFT.values(), ids=LEFT.keys())
def test_what_a_model_leaves_is_told_once_by_rule(agent: Agent, responder: Responder) -> None:
    agent.remember(told(WAITING, "lease"))
    agent.server.responder = responder
    outcome = agent.sleep()
    (waiting,) = (one for one in outcome.results if not one.proposal.by_model)
    assert waiting.state == "applied"
    assert [row["writer"] for row in agent.rows("SELECT * FROM derivations")] == ["extractive"]


def test_what_is_certain_is_done_before_a_model_is_asked_and_not_shown_to_it(agent: Agent) -> None:
    twins = told(["The kettle of the office is blue."] * 2, "twins")
    agent.remember([*a_fact(), *twins])

    def respond(asked: Asked) -> Reply:
        (twin,) = agent.rows("SELECT * FROM memories WHERE status = 'superseded'")
        assert twin["id"].startswith("twins")
        return oracle(asked)

    agent.server.responder = respond
    assert states(agent.sleep()) == {"applied": 1}
    assert "kettle" not in agent.server.asked[0].texts


# ----------------------------------------------------------------- what verification catches

Spoil = Callable[[dict[str, Any]], dict[str, Any] | str]


def replacing(old: str, new: str, most: int = -1) -> Spoil:
    """Give a spoiler that replaces words of the answer."""

    def spoil(answer: dict[str, Any]) -> str:
        text = json.dumps(answer)
        assert old in text
        return text.replace(old, new, most)

    return spoil


def changing(change: Callable[[list[dict[str, Any]]], list[dict[str, Any]]]) -> Spoil:
    """Give a spoiler that changes the claims of the only group."""

    def spoil(answer: dict[str, Any]) -> dict[str, Any]:
        (only,) = answer["groups"]
        return groups(only | {"claims": change(only["claims"])})

    return spoil


def as_prose(answer: dict[str, Any]) -> str:
    """Give the answer as sentences."""
    return " ".join(claim["text"] for claim in answer["groups"][0]["claims"])


SPOILED: dict[str, tuple[str, Spoil, str]] = {
    "prose": (LEASE, as_prose, "not the JSON that was asked for"),
    "unknown id": (LEASE, replacing('"m2"', '"m9"'), "an id that was not given: m9"),
    "no source": (
        LEASE,
        changing(lambda claims: [one | {"sources": []} for one in claims]),
        "cites no source",
    ),
    "a source left out": (LEASE, changing(lambda claims: claims[:-1]), "leaves out a source"),
    "invented number": (LEASE, replacing("10 seconds", "15 seconds", 1), "invents the number"),
    "invented name": (JONAH, replacing("nephew Jonah", "nephew Tobias", 1), "invents the name"),
    "lost number": (LEASE, replacing("10 seconds", "some seconds"), "loses the number"),
    "dropped name": (JONAH, replacing("Jonah", "the boy"), "loses the name jonah"),
    "dropped negation": (INES, replacing("does not drive", "drives"), "without the denial"),
    "invented negation": (LEASE, replacing("renews", "never renews"), "denies (never)"),
    "everything twice": (LEASE, changing(lambda claims: claims * 2), "longer than its sources"),
}


def spoiled(spoil: Spoil) -> Responder:
    """Give a responder that spoils every honest answer."""
    return lambda asked: says(faithful(asked) if asked.items else spoil(faithful(asked)))


@pytest.mark.parametrize(("name", "spoil", "why"), SPOILED.values(), ids=SPOILED.keys())
def test_a_bad_answer_is_asked_about_once_more_and_nothing_of_it_is_written(
    agent: Agent, name: str, spoil: Spoil, why: str
) -> None:
    agent.remember(a_fact(name))
    before = agent.picture()
    agent.server.responder = spoiled(spoil)
    outcome = agent.sleep()
    assert agent.picture() == before
    assert set(states(outcome)) <= {"rejected"}
    assert all(why in str(result.why) for result in by_model(outcome))
    question, again = agent.server.asked
    assert complaint(question) == ""
    assert why in complaint(again)
    # What cannot be read is no answer.
    assert answered(outcome) == {"failed" if name == LEASE and spoil is as_prose else "applied": 1}


@pytest.mark.parametrize(("name", "spoil", "why"), SPOILED.values(), ids=SPOILED.keys())
def test_a_good_second_answer_is_applied_as_if_it_had_been_the_first(
    agent: Agent, name: str, spoil: Spoil, why: str
) -> None:
    agent.remember(a_fact(name))
    agent.server.responder = lambda asked: (oracle if complaint(asked) else spoiled(spoil))(asked)
    outcome = agent.sleep()
    assert states(outcome) == {"applied": 1}
    (derivation,) = agent.rows("SELECT * FROM derivations")
    assert (derivation["prompt_tokens"], derivation["completion_tokens"]) == total(agent)
    assert (outcome.usage.calls, outcome.usage.cached) == (2, 0)


def everything(memories: list[Shown]) -> list[tuple[str, list[Shown]]]:
    """Claim of each memory what it says."""
    return [(one.text, [one]) for one in memories]


def same(memories: list[Shown]) -> dict[str, Any]:
    """Let the first memory stand for all."""
    return group("same", memories, memories[:1])


def a_voice_too(claim: str) -> Grouping:
    """Give a rule of all memories, so worded."""
    return lambda memories: group("rule", memories, (), [(claim, memories)])


DRAWERS = [f"Drawer {number} of the workshop holds spare part {number}." for number in range(25)]
LATER = "For now the newsletter of the choir is written by the secretary."
MARTA, OLAF = "The bicycle of Marta is red.", "The bicycle of Olaf is blue."
UNUSABLE: dict[str, tuple[Sequence[str], Grouping, str]] = {
    "an unknown id": (
        BIRTHDAY,
        lambda shown: group("same", [*shown, "m99"], shown[:1]),
        "an id that was not given: m99",
    ),
    "a group of one": (BIRTHDAY, lambda shown: group("same", shown[:1], shown[:1]), "group of one"),
    "nobody stays": (BIRTHDAY, lambda shown: group("same", shown), "which one stays"),
    "too many": (
        DRAWERS,
        lambda shown: group("joined", shown, (), everything(shown)),
        "more than 24 ids",
    ),
    "another value": (
        ("The pump of the cellar runs at 40 bar.", "At 45 bar the pump of the cellar runs."),
        same,
        "differ in a number, 40 against 45",
    ),
    "a denial": (
        ("Olaf services the pump of the cellar.", "The pump of the cellar: Olaf never services it."),
        same,
        "negation",
    ),
    "said before": (NEWER, lambda shown: group("newer", shown, shown[:1]), "was not said after"),
    "no newest": (NEWER, lambda shown: group("newer", shown), "which memories give the newest"),
    "for a while": ((NEWER[0], LATER), newer, "'For now' replaces nothing"),
    "of another": ((MARTA, OLAF), newer, "are two things"),
    "two rules": (
        BIRTHDAY,
        lambda shown: group("rule", shown, (), everything(shown)),
        "a rule is one claim",
    ),
}


@pytest.mark.parametrize(("texts", "make", "why"), UNUSABLE.values(), ids=UNUSABLE.keys())
def test_a_group_that_cannot_be_is_asked_about_once_more_and_changes_nothing(
    agent: Agent, texts: Sequence[str], make: Grouping, why: str
) -> None:
    agent.remember(told(texts, "some"))
    before = agent.picture()
    agent.server.responder = grouping(make)
    outcome = agent.sleep()
    assert why in complaint(agent.server.asked[1])
    assert len(agent.server.asked) == 2
    assert set(states(outcome)) <= {"rejected"}
    assert agent.picture() == before


def test_a_memory_is_in_one_group_at_the_most(agent: Agent) -> None:
    agent.remember(a_pair())
    agent.server.responder = lambda asked: says(groups(*faithful(asked)["groups"] * 2))
    assert states(agent.sleep()) == {"applied": 1}
    assert "in another group already" in complaint(agent.server.asked[1])


def test_what_somebody_took_apart_is_not_joined_again(agent: Agent) -> None:
    agent.remember(a_pair())
    agent.sleep()
    execute(agent.path, "UPDATE memories SET status = 'active', superseded_by = NULL")
    agent.server.forget()
    again = agent.sleep(now=TOMORROW, reconsider=True)
    assert by_model(again) == []
    assert "these two must stay apart" in complaint(agent.server.asked[-1])
    assert len(agent.rows("SELECT * FROM memories WHERE status = 'active'")) == 2


RULES: dict[str, tuple[Grouping, str]] = {
    "unknown supporter": (
        lambda shown: group("rule", [*shown, "m99"], (), [(shown[1].text, shown)]),
        "an id that was not given: m99",
    ),
    "a number of its own": (
        lambda shown: a_voice_too(f"{shown[1].text} Wait 48 hours.")(shown),
        "invents the number 48 hours",
    ),
    "a detail of one voice": (
        a_voice_too("Show Malte a draft of every message first."),
        "too few sources support the name malte",
    ),
}


@pytest.mark.parametrize(("make", "why"), RULES.values(), ids=RULES.keys())
def test_a_rule_that_is_not_supported_is_not_written(
    agent: Agent, make: Grouping, why: str
) -> None:
    agent.remember(a_rule())
    agent.server.responder = grouping(make)
    assert set(states(agent.sleep())) <= {"rejected"}
    assert why in complaint(agent.server.asked[1])
    assert agent.rows("SELECT * FROM derivations WHERE writer = 'model'") == []


def in_one_session(memories: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Let all have been said on one occasion."""
    return [one | {"session": "one"} for one in memories]


@pytest.mark.parametrize("voices", [a_rule()[:4], in_one_session(a_rule())], ids=["four", "once"])
def test_without_five_voices_of_two_sessions_a_rule_is_a_memory_as_any(
    agent: Agent, voices: list[dict[str, Any]]
) -> None:
    agent.remember(voices)
    agent.server.responder = grouping(lambda shown: a_voice_too(shown[1].text)(shown))
    outcome = agent.sleep()
    assert {one.proposal.operation for one in by_model(outcome)} <= {"synthesize"}
    assert agent.rows("SELECT * FROM memories WHERE layer = 'core' AND origin = 'model'") == []


RICHER = f"{BIRTHDAY[1][:-1]}, in Malmö."


@pytest.mark.parametrize("texts", [(RICHER, BIRTHDAY[0]), (BIRTHDAY[0], RICHER)])
def test_of_two_that_a_model_calls_the_same_the_one_that_tells_more_stays(
    agent: Agent, texts: tuple[str, str]
) -> None:
    agent.remember(told(texts, "birthday"))
    result = only_result(agent.sleep())
    assert result.state == "applied"
    (active,) = agent.rows("SELECT * FROM memories WHERE status = 'active'")
    assert (active["id"], active["content"]) == (result.proposal.survivor, RICHER)


def test_a_model_cannot_merge_away_what_the_memory_that_stays_does_not_tell(agent: Agent) -> None:
    agent.remember(told([BIRTHDAY[0], RICHER], "birthday"))
    before = agent.picture()
    agent.server.responder = grouping(same)
    result = only_result(agent.sleep())
    assert result.state == "rejected"
    assert "loses the name malmö" in str(result.why)
    assert agent.picture() == before


def test_of_two_that_were_said_at_the_same_time_neither_is_newer(agent: Agent) -> None:
    first, second = told(NEWER, "choir")
    agent.remember([first, second | {"observed_at": first["observed_at"]}])
    before = agent.picture()
    agent.server.responder = grouping(newer)
    assert by_model(agent.sleep()) == []
    assert agent.picture() == before


def test_claims_at_fault_are_replaced_by_what_they_cite_if_the_model_does_not_mend_them(
    agent: Agent,
) -> None:
    agent.remember(told(WAITING, "lease"))
    agent.server.responder = spoiled(replacing("360", "400"))
    result = only_result(agent.sleep())
    assert result.state == "applied"
    assert str(result.why).startswith("the sources' own sentences stand for claims that were")
    assert set(WAITING[1:]) == {claim.text for claim in result.proposal.draft.claims}
    assert "invents the number" in complaint(agent.server.asked[1])
    (derivation,) = agent.rows("SELECT * FROM derivations")
    assert (derivation["prompt_tokens"], derivation["completion_tokens"]) == total(agent)


# ----------------------------------------------------------------- a second opinion

WIKI = (
    "The wiki is backed up at 02:30 to the NAS.",
    "At 02:30 a copy of the wiki is put on the NAS by a cron job.",
)
WHOLE = "The wiki is backed up at 02:30 to the NAS by a cron job."


def joined(memories: list[Shown]) -> dict[str, Any]:
    """Tell the wiki's memories once, in words that one of them has not."""
    return group("joined", memories, (), [(WHOLE, memories)])


def test_a_word_that_is_put_otherwise_may_go_if_a_second_opinion_names_what_stands_for_it(
    agent: Agent,
) -> None:
    agent.remember(told(WIKI, "wiki"))
    cleared = opinions(True, True, words={"copy": "backed up", "put": "backed up"})
    agent.server.responder = grouping(joined, on=says(cleared))
    result = only_result(agent.sleep())
    assert (result.state, result.proposal.draft.text) == ("applied", WHOLE)
    question, opinion = agent.server.asked
    assert not question.faulty
    assert opinion.items == [
        {"n": 1, "said": WHOLE, "by": list(WIKI), "words": []},
        {"n": 2, "said": WIKI[1], "by": [WHOLE], "words": ["copy", "put"]},
    ]
    (derivation,) = agent.rows("SELECT * FROM derivations")
    assert (derivation["prompt_tokens"], derivation["completion_tokens"]) == total(agent)


AGAINST: dict[str, tuple[Reply, str]] = {
    "not told": (says(opinions(True, False)), "so says a second opinion"),
    "a claim not told": (
        says(opinions(False, True, words={"copy": "backed up", "put": "backed up"})),
        "so says a second opinion",
    ),
    "words that are not there": (
        says(opinions(True, True, words={"copy": "backup tape", "put": "backed up"})),
        "'backup tape', which is to stand for 'copy', is not there",
    ),
    "no words": (says(opinions(True, True)), "nothing stands for 'copy'"),
    "no opinion on it": (says(opinions(True)), "no second opinion was given"),
}


@pytest.mark.parametrize(("reply", "why"), AGAINST.values(), ids=AGAINST.keys())
def test_a_second_opinion_that_clears_nothing_sends_the_group_back(
    agent: Agent, reply: Reply, why: str
) -> None:
    agent.remember(told(WIKI, "wiki"))
    before = agent.picture()
    agent.server.responder = grouping(joined, on=reply)
    outcome = agent.sleep()
    result = only_result(outcome)
    assert result.state == "rejected"
    assert why in str(result.why)
    assert why in complaint(agent.server.asked[2])
    # The same opinion on the same words was given already.
    assert (len(agent.server.asked), outcome.usage.cached) == (3, 1)
    assert agent.picture() == before


@pytest.mark.parametrize("reply", [refuses(500), says("no JSON")], ids=["failed", "unreadable"])
def test_what_is_in_doubt_is_not_written_if_no_second_opinion_comes_and_is_asked_again(
    agent: Agent, reply: Reply
) -> None:
    agent.remember(told(WIKI, "wiki"))
    before = agent.picture()
    agent.server.responder = grouping(joined, on=reply)
    outcome = agent.sleep()
    assert (states(outcome), answered(outcome)) == ({"rejected": 1}, {"failed": 1})
    assert agent.picture() == before
    cleared = opinions(True, True, words={"copy": "backed up", "put": "backed up"})
    agent.server.responder = grouping(joined, on=says(cleared))
    assert states(agent.sleep(now=TOMORROW)) == {"applied": 1}


def test_a_second_opinion_may_keep_a_newer_value_from_ending_an_older_one(agent: Agent) -> None:
    agent.remember(told(NEWER, "choir"))
    before = agent.picture()
    agent.server.responder = grouping(newer, on=says(opinions(False)))
    result = only_result(agent.sleep())
    assert result.state == "rejected"
    assert "is not replaced by a newer value" in str(result.why)
    assert agent.picture() == before


# ----------------------------------------------------------------- several things in one answer

MONTHS = ("January", "February", "March", "April", "May", "June", "July", "August")
BROTHERS = ("Henrik", "Olof", "Matti", "Jonas", "Emil")
ENDS = ("", "sen", "berg", "lund", "dal", "gren", "quist", "man", "mark", "vik", "nes", "ström")


def near_pairs(count: int, **fields: object) -> list[dict[str, Any]]:
    """Give so many pairs that only a model can call the same, of people of their own."""
    names = [f"{name}{end}" for end in ENDS for name in BROTHERS][:count]
    return [
        memory
        for number, name in enumerate(names)
        for memory in told(
            [text.replace("Henrik", name).replace("3 March", _day(number)) for text in BIRTHDAY],
            f"birthday-{fields.get('tenant', '')}-{number:03d}",
            **fields,
        )
    ]


def _day(number: int) -> str:
    return f"{number % 27 + 1} {MONTHS[number % len(MONTHS)]}"


def test_what_an_answer_takes_is_shared_out_to_the_last_token(agent: Agent) -> None:
    agent.remember(near_pairs(13))
    outcome = agent.sleep(agent.writer("openai/gpt-4o-mini"))
    rows = agent.rows("SELECT * FROM derivations")
    assert len(rows) == 13
    assert sum(row["prompt_tokens"] for row in rows) == outcome.usage.prompt_tokens
    assert sum(row["completion_tokens"] for row in rows) == outcome.usage.completion_tokens
    assert (outcome.usage.prompt_tokens, outcome.usage.completion_tokens) == total(agent)
    assert sum(row["cost_usd"] for row in rows) == pytest.approx(outcome.usage.cost_usd)
    (kept,) = agent.rows("SELECT * FROM answers")
    assert kept["prompt_tokens"] == outcome.usage.prompt_tokens


def test_of_an_answer_in_two_parts_each_part_pays_for_itself(agent: Agent) -> None:
    agent.remember(near_pairs(3))

    def respond(asked: Asked) -> Reply:
        first, *others = faithful(asked)["groups"]
        # The first of them is stated without who stays, and mended when it is asked about.
        return says(groups(first if asked.faulty else first | {"stay": []}, *others))

    agent.server.responder = respond
    outcome = agent.sleep()
    assert states(outcome) == {"applied": 3}
    assert [len(asked.memories) for asked in agent.server.asked] == [6, 2]
    rows = agent.rows("SELECT * FROM derivations")
    assert sum(row["prompt_tokens"] for row in rows) == outcome.usage.prompt_tokens
    assert sum(row["completion_tokens"] for row in rows) == outcome.usage.completion_tokens


