"""Nights with a model: an agent's file, the real embedder, litellm, and a scripted model server."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any, Literal

import pytest
from commands import environment
from model_server import (
    Answer,
    Asked,
    ModelServer,
    Responder,
    Shown,
    answering,
    approval,
    group,
    groups,
    model_server,
)
from nights import NOW, daily, fill, night, picture, rows
from places import FIXTURES

from slowwave.consolidation.model.litellm_model import Endpoint
from slowwave.consolidation.model.model_writer import ModelWriter, UsageLimits
from slowwave.consolidation.proposals import AskedWindow, Operation, Result, proposal_id
from slowwave.consolidation.running.outcome import Outcome
from slowwave.consolidation.vectors.embedder import SentenceEmbedder
from slowwave.store.file import open_writing
from slowwave.store.records import content_hash, timestamp
from slowwave.store.undo.undo import undo_runs

KEY = "sk-test-31415926535897932384"
TOMORROW = NOW + timedelta(days=1)
# The tables that do not change if nothing is applied.
UNTOUCHED = ("memories", "synthesized_from", "derivations")

# Three memories of each fact, each with a detail of its own, so that none covers another.
_FACTS = {
    "lease": (
        "LeaseKeeper renews the job lock every 10 seconds",
        (", at most 360 times.", " and logs it to /var/log/lease.log.", " on worker-3."),
    ),
    "jonah": (
        "The user's nephew Jonah is allergic to cashews",
        (" since a picnic in 2019.", " and carries an EpiPen for it.", ", says Dr Brandt."),
    ),
    "ines": (
        "The user's colleague Ines does not drive at night",
        (" but takes the train from Malmö.", " since 2023.", ", only with Rafael."),
    ),
    "physio": (
        "The user sees the physiotherapist Ms Kowalczyk about the left shoulder",
        (" on Mondays.", " and pays 40 euros.", " at Kungsgatan 12."),
    ),
    "protobuf": (
        "protobuf is pinned at 3.21.12 for the Android build",
        (" in gradle.lock.", " since March.", " by Tomas."),
    ),
    "hotel": (
        "The user booked a hotel in Bled for four nights in September",
        (" for Mirjam.", " and paid 480 euros.", ", room 12."),
    ),
}
FACTS = tuple(_FACTS)
LEASE, JONAH, _, _, _, HOTEL = FACTS
# Two wordings, of which the second covers the first.
BIRTHDAY = (
    "User's brother Henrik: birthday 3 March.",
    "The user said that the birthday of the brother, Henrik, is on 3 March.",
)
# Four wordings of one fact, some of which add a detail.
GATE = (
    "The gate to the ponds is locked and its key is kept at Holm farm by the miller.",
    "Gate to the ponds: locked, the miller keeps the key at Holm farm.",
    "The miller at Holm farm keeps the key of the locked gate to the ponds, 14 km away.",
    "Locked gate, ponds: key is with the miller on Holm farm, from 06:30 on.",
)
GATE_ONCE = "The miller at Holm farm keeps the key of the locked gate to the ponds, 14 km."
SHORT = "Ponds' gate key: miller, Holm farm, 14 km."
_RULE = (
    "Never send a message to relatives without showing a draft first.",
    "Always show the user a draft before sending anything to the family.",
    "Let me always see the draft before you write to anyone in the family.",
    "Never text family members directly: a draft is to be approved first.",
    "Before a message goes out to cousin Malte, a draft must be shown.",
    "A draft should be shown to the user for every message to a relative.",
    "Do not send a family message before the user has seen the draft.",
)


@dataclass(frozen=True)
class Agent:
    """An agent's memory file, the real embedding model, and the model that writes at night."""

    path: Path
    embedder: SentenceEmbedder
    server: ModelServer
    # Vectors of texts, by text: they are brought along, as agents may do, and computed once.
    vectors: dict[str, list[float]] = field(repr=False)
    # Who reads what the model writes: itself, or nobody.
    checker: Literal["same", "none"] = "same"

    def remember(self, memories: Sequence[dict[str, Any]]) -> None:
        """Import memories with their vectors."""
        texts = [memory["content"] for memory in memories]
        new = [text for text in texts if text not in self.vectors]
        if new:
            self.vectors.update(zip(new, self.embedder.encode(new).tolist(), strict=True))
        space = {"embedding_model": self.embedder.name}
        fill(
            self.path,
            [
                memory | space | {"embedding": self.vectors[memory["content"]]}
                for memory in memories
            ],
        )

    def writer(
        self,
        model: str = "openai/scripted",
        concurrency: int = 1,
        limits: UsageLimits | None = None,
        timeout_s: float = 20.0,
    ) -> ModelWriter:
        """Return a writer that asks the server and hardly waits between tries."""
        endpoint = Endpoint(model, self.server.base, timeout_s, first_wait_s=0.001)
        return ModelWriter(endpoint, concurrency, limits, checker=self.checker)

    def sleep(
        self, writer: ModelWriter | None = None, now: datetime = NOW, **options: Any
    ) -> Outcome:
        """Run a night."""
        return night(self.path, self.embedder, writer=writer or self.writer(), now=now, **options)

    def rows(self, sql: str, *values: object) -> list[dict[str, Any]]:
        """Read the file with plain SQL."""
        return rows(self.path, sql, *values)

    def picture(self) -> dict[str, list[dict[str, Any]]]:
        """Return the rows that do not change if nothing is applied."""
        return picture(self.path, UNTOUCHED)


@contextmanager
def an_agent(
    path: Path, embedder: SentenceEmbedder, vectors: dict[str, list[float]]
) -> Iterator[Agent]:
    """Provide an agent with an empty memory file and an honest model."""
    with model_server() as server:
        yield Agent(path, embedder, server, vectors)


@contextmanager
def a_writer(responder: Responder) -> Iterator[ModelWriter]:
    """Serve a model, and provide a writer that asks it."""
    with model_server(responder) as server:
        yield ModelWriter(Endpoint("openai/scripted", server.base, 20.0, first_wait_s=0.001))


def texts_of(name: str) -> tuple[str, ...]:
    """Return the texts of the three memories of a fact."""
    beginning, ends = _FACTS[name]
    return tuple(beginning + end for end in ends)


def a_fact(name: str = LEASE, **fields: object) -> list[dict[str, Any]]:
    """Return three memories of one fact: one synthesis."""
    return daily(texts_of(name), name, **fields)


def a_pair() -> list[dict[str, Any]]:
    """Return two memories of which the second covers the first: one merge."""
    return daily(BIRTHDAY, "birthday")


def a_rule() -> list[dict[str, Any]]:
    """Return wordings of a demand, of which one names a person: one extraction."""
    return daily(_RULE, "rule")


MEMORIES: dict[Operation, Callable[[], list[dict[str, Any]]]] = {
    "merge": a_pair,
    "synthesize": a_fact,
    "extract": a_rule,
}
MADE = tuple(MEMORIES)


def facts(count: int) -> list[dict[str, Any]]:
    """Return the memories of several facts, each of a tenant of its own: a window each."""
    return [memory for name in FACTS[:count] for memory in a_fact(name, tenant=name)]


_BROTHERS = ("Olof", "Matti", "Jonas", "Emil", "Nils", "Sven", "Lars", "Axel", "Edvin", "Ture")
_ENDS = ("", "sen", "berg", "lund", "dal", "gren", "quist", "man", "mark", "vik", "nes", "ström")
_MONTHS = ("January", "February", "March", "April", "May", "June", "July", "August")


def near_pairs(count: int, **fields: object) -> list[dict[str, Any]]:
    """Return pairs of memories, each pair about a different person."""
    names = [f"{name}{end}" for end in _ENDS for name in _BROTHERS][:count]
    return [
        memory
        for number, name in enumerate(names)
        for memory in daily(
            [text.replace("Henrik", name).replace("3 March", _day(number)) for text in BIRTHDAY],
            f"birthday-{fields.get('tenant', '')}-{number:03d}",
            **fields,
        )
    ]


def _day(number: int) -> str:
    return f"{number % 27 + 1} {_MONTHS[number % len(_MONTHS)]}"


# Makes a group of the memories that are shown.
Grouping = Callable[[list[Shown]], dict[str, Any]]


def writing(*makers: Grouping, checker: Callable[[Asked], Answer] | None = None) -> Responder:
    """Return a responder that writes these groups, and checks honestly or like `checker`."""
    return answering(lambda asked: groups(*(make(asked.memories) for make in makers)), checker)


def joining(text: str) -> Responder:
    """Return a responder that joins all memories in these words, and approves of it."""
    return writing(lambda shown: group("merge", shown, text), checker=approval)


def by_model(outcome: Outcome) -> list[Result]:
    """Return the results of the model's proposals."""
    return [result for result in outcome.results if result.proposal.by_model]


def only_result(outcome: Outcome) -> Result:
    """Return the result of the model's only proposal."""
    (result,) = by_model(outcome)
    return result


def only_question(outcome: Outcome) -> AskedWindow:
    """Return the only question and its state."""
    (asked,) = outcome.asked
    return asked


def states(outcome: Outcome) -> dict[str, int]:
    """Return the number of the model's proposals by state."""
    return dict(Counter(result.state for result in by_model(outcome)))


def answered(outcome: Outcome) -> dict[str, int]:
    """Return the number of questions by state; answered ones are `applied`."""
    return dict(Counter(asked.state for asked in outcome.asked))


def total(agent: Agent) -> tuple[int, int]:
    """Return the tokens of all questions, and of all answers."""
    asked, message = zip(*agent.server.taken, strict=True)
    return sum(asked), sum(message)


def undo(agent: Agent, outcome: Outcome) -> None:
    """Undo a night."""
    assert outcome.run_id is not None
    with open_writing(agent.path) as file:
        undo_runs(file, [outcome.run_id], timestamp(TOMORROW))


def active_texts(agent: Agent) -> list[str]:
    """Return the texts of the active memories."""
    active = agent.rows("SELECT content FROM memories WHERE status = 'active' ORDER BY id")
    return [row["content"] for row in active]


# What `of_one_thing` says, and what it says with `more_of_it`.
PAGER = (
    "Oksana carries the database pager at weekends until 22:00, on her second phone, and is paid "
    "extra for it."
)
PAGER_AND_OFFICE = (
    "Oksana carries the database pager at weekends until 22:00 from the harbour office, beside "
    "the kitchen, on her second phone, and is paid extra for it."
)


def joined_once(asked: Asked) -> Answer:
    """Join `of_one_thing` and `more_of_it` into one memory, and update the time of a job."""
    pager = [memory for memory in asked.memories if "Oksana" in memory.text]
    job = [memory for memory in asked.memories if "The backup job starts at" in memory.text]
    text = PAGER_AND_OFFICE if "harbour office" in asked.texts else PAGER
    return groups(
        *([group("synthesize", pager, text)] if len(pager) > 1 else []),
        *([group("update", job, job[-1].text.replace(" now", ""))] if len(job) > 1 else []),
    )


def latest_port(asked: Asked) -> Answer:
    """Update the memories about the port of billing to the latest port."""
    ports = [memory for memory in asked.memories if "Billing listens on port" in memory.text]
    latest = "Billing listens on port 9090."
    return groups(*([group("update", ports, latest)] if len(ports) > 1 else []))


@contextmanager
def served(responder: Responder) -> Iterator[tuple[str, ...]]:
    """Serve a model, and provide the options of the command that name it."""
    with model_server(responder) as server, environment({"SLOWWAVE_API_BASE": server.base}):
        yield ("--model", "openai/scripted")


# The nine memories of the README, of which a night with this model makes a merge, a synthesis and
# an update; the merge without it.
SMOKE = FIXTURES / "smoke.jsonl"
_INVOICES = (
    "Every first Tuesday of the month Helvi settles the invoices from the shared account, after "
    "the bank's cut-off at 14:00."
)


def write_smoke(asked: Asked) -> Answer:
    """Join the memories about invoices, and update those about a backup to the newest."""
    invoices = [memory for memory in asked.memories if "invoices" in memory.text]
    backups = [memory for memory in asked.memories if "backup" in memory.text]
    written = []
    if len(invoices) > 1:
        written.append(group("synthesize", invoices, _INVOICES))
    if len(backups) > 1:
        newest = max(backups, key=lambda memory: memory.noted).text
        written.append(group("update", backups, newest.replace(" now", "")))
    return groups(*written)


@contextmanager
def every_night_asks(responder: Responder) -> Iterator[ModelServer]:
    """Serve a model that each command asks, in this process or in one that it starts."""
    with model_server(responder, 2_000) as server, pytest.MonkeyPatch.context() as patch:
        patch.setenv("SLOWWAVE_MODEL", "openai/scripted")
        patch.setenv("SLOWWAVE_API_BASE", server.base)
        yield server


def smoke_id(operation: Operation, *numbers: int) -> str:
    """Return the short id of the memory that the model makes from these of the nine."""
    lines = map(json.loads, SMOKE.read_text("utf-8").splitlines())
    texts = {memory["id"]: memory["content"] for memory in lines}
    hashes = tuple(content_hash(texts[f"smoke-{number:02d}"]) for number in numbers)
    key = ModelWriter(Endpoint("openai/scripted", None, 1.0)).key
    return proposal_id(operation, "default", hashes, key, "model")[:8]
