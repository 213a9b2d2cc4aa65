"""A Python function as the model."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from model_nights import LEASE, Agent, answered, by_model, facts, texts_of
from model_server import Asked, honest
from nights import NOW

from slowwave.consolidation.agent import AgentMemory
from slowwave.consolidation.errors import ModelError
from slowwave.consolidation.model.chosen_model import model_of
from slowwave.consolidation.model.model_writer import ModelWriter
from slowwave.consolidation.model.usage_limits import Call
from slowwave.consolidation.vectors.embedder import SentenceEmbedder
from slowwave.store.model_answers import Answer


def honestly(messages: list[dict[str, str]], schema: dict[str, Any]) -> str:
    assert schema["type"] == "object"
    return json.dumps(honest(Asked({}, {"messages": messages})))


@pytest.fixture
def memory(tmp_path: Path, embedder: SentenceEmbedder) -> AgentMemory:
    memory = AgentMemory(tmp_path / "memory.db", embedder=embedder, clock=lambda: NOW)
    with memory:
        for text in texts_of(LEASE):
            memory.add(text)
    return memory


def test_a_function_answers_the_questions_of_a_night(memory: AgentMemory) -> None:
    outcome = memory.consolidate(model=honestly)
    (result,) = by_model(outcome)
    assert result.state == "applied"
    (claim,) = result.proposal.draft.claims
    assert (claim.written_by, claim.checked_by) == ("python:honestly", "python:honestly")
    assert outcome.usage.calls == 2
    assert outcome.usage.cost_usd is None
    last = memory.stats().last
    assert last is not None and last[0].options["model"] == "python:honestly"
    assert outcome.run_id is not None
    memory.undo(outcome.run_id)
    queued = memory.consolidate(model=honestly, checker="none", review="always")
    assert [result.state for result in by_model(queued)] == ["pending"]


def test_the_checker_can_be_another_function_or_none(memory: AgentMemory) -> None:
    asked = []

    def reader(messages: list[dict[str, str]], schema: dict[str, Any]) -> str:
        asked.append(messages)
        return honestly(messages, schema)

    outcome = memory.consolidate(model=honestly, checker=reader)
    assert len(asked) == 1
    (claim,) = by_model(outcome)[0].proposal.draft.claims
    assert str(claim.checked_by).endswith("reader")
    assert outcome.run_id is not None
    memory.undo(outcome.run_id)
    unread = memory.consolidate(model=honestly, checker="none")
    assert all(
        claim.checked_by is None
        for result in by_model(unread)
        for claim in result.proposal.draft.claims
    )


def test_an_error_or_a_wrong_value_of_a_function_fails_its_window(
    agent: Agent, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SOME_API_KEY", "a-secret-of-the-user")
    agent.remember(facts(3))
    replies: list[object] = [ValueError("no a-secret-of-the-user"), {"groups": []}, "   "]

    def faulty(messages: list[dict[str, str]], schema: dict[str, Any]) -> Any:
        now = replies.pop(0)
        if isinstance(now, Exception):
            raise now
        return now

    outcome = agent.sleep(ModelWriter(model_of(faulty), 1))
    assert answered(outcome) == {"failed": 3}
    reasons = " | ".join(str(asked.why) for asked in outcome.asked)
    assert "ValueError: no $SOME_API_KEY" in reasons
    assert "the function returned a dict, not text" in reasons
    assert "the model's answer is empty" in reasons


def test_a_night_that_its_function_interrupts_is_reported(memory: AgentMemory) -> None:
    def stops(messages: list[dict[str, str]], schema: dict[str, Any]) -> str:
        raise KeyboardInterrupt

    assert memory.consolidate(model=stops).interrupted


def test_any_object_that_answers_calls_is_a_model(memory: AgentMemory) -> None:
    class Counting:
        """A model that inherits from none of our classes."""

        model, concurrency, answered_as, calls = "mine", 1, "mine-2", 0
        price, limit, patience_s = model_of(honestly).price, model_of(honestly).limit, 60.0

        def open(self) -> Counting:
            return self

        def answer(self, call: Call) -> Answer:
            self.calls += 1
            return model_of(honestly).answer(call)

    mine = Counting()
    (claim,) = by_model(memory.consolidate(model=mine))[0].proposal.draft.claims
    assert (claim.written_by, mine.calls) == ("mine (mine-2)", 2)


def test_what_is_not_a_model_is_refused(memory: AgentMemory) -> None:
    with pytest.raises(ModelError, match="of type int is not a model"):
        memory.consolidate(model=3)  # type: ignore[arg-type]  # on purpose
    with pytest.raises(ModelError, match="or a writer"):
        memory.consolidate(checker=honestly)
