"""A model behind Python: a function, litellm's router, and what completes messages as it does."""

from __future__ import annotations

import json
from pathlib import Path
from types import SimpleNamespace
from typing import Any, ClassVar

import pytest
from model_nights import LEASE, Agent, a_fact, answered, by_model, facts, texts_of
from model_server import Asked, honest
from nights import NOW

from slowwave.consolidation.agent import AgentMemory
from slowwave.consolidation.errors import ModelError
from slowwave.consolidation.model.model_writer import ModelWriter
from slowwave.consolidation.model.openers import opener_of
from slowwave.consolidation.model.python_model import FunctionModel
from slowwave.consolidation.vectors.embedder import SentenceEmbedder


def honestly(messages: list[dict[str, str]], schema: dict[str, Any]) -> str:
    assert schema["type"] == "object"
    return json.dumps(honest(Asked({}, {"messages": messages})))


class Completing:
    """Completes messages as litellm's functions and objects do."""

    model_list: ClassVar = [{"model_name": "cheap"}, {"model_name": "good"}]

    def __init__(self, **fields: object) -> None:
        self.asked: list[str] = []
        self.fields = fields

    def completion(self, model: str, messages: list[dict[str, str]]) -> SimpleNamespace:
        self.asked.append(model)
        message = SimpleNamespace(content=honestly(messages, {"type": "object"}), tool_calls=None)
        choice = SimpleNamespace(message=message, finish_reason="stop")
        usage = SimpleNamespace(prompt_tokens=100, completion_tokens=50)
        fields = {"choices": [choice], "usage": usage, "_hidden_params": {"response_cost": 0.01}}
        return SimpleNamespace(**(fields | self.fields))


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

    outcome = agent.sleep(ModelWriter(opener_of(faulty), 1))
    assert answered(outcome) == {"failed": 3}
    reasons = " | ".join(str(asked.why) for asked in outcome.asked)
    assert "ValueError: no $SOME_API_KEY" in reasons
    assert "the function returned a dict, not text" in reasons
    assert "the model's answer is empty" in reasons


def test_the_first_model_of_a_completing_object_is_asked(agent: Agent) -> None:
    agent.remember(a_fact())
    served = Completing()
    outcome = agent.sleep(ModelWriter(opener_of(served), 1))
    assert [result.state for result in by_model(outcome)] == ["applied"]
    assert served.asked == ["cheap", "cheap"]
    assert (outcome.usage.prompt_tokens, outcome.usage.completion_tokens) == (200, 100)
    assert outcome.usage.cost_usd == pytest.approx(0.02)
    assert by_model(outcome)[0].proposal.draft.claims[0].written_by == "python:Completing/cheap"


@pytest.mark.parametrize(
    ("fields", "why"),
    [
        ({"choices": []}, "the model sent no answer"),
        ({"choices": [SimpleNamespace(message=SimpleNamespace(content="", tool_calls=None),
                                      finish_reason="stop")]}, "the model's answer is empty"),
    ],
)  # fmt: skip
def test_a_missing_answer_fails_the_window(agent: Agent, fields: dict[str, Any], why: str) -> None:
    agent.remember(a_fact())
    model = FunctionModel.completing(Completing(**fields), "good")
    outcome = agent.sleep(ModelWriter(model, 1))
    assert [asked.why for asked in outcome.asked] == [why]


def test_litellms_router_is_a_model(agent: Agent) -> None:
    from litellm import Router

    parameters = {"model": "openai/routed", "api_base": agent.server.base, "api_key": "none"}
    router = Router([{"model_name": "nightly", "litellm_params": parameters}])
    agent.remember(a_fact())
    outcome = agent.sleep(ModelWriter(opener_of(router), 1))
    assert [result.state for result in by_model(outcome)] == ["applied"]
    assert by_model(outcome)[0].proposal.draft.claims[0].written_by == "python:Router/nightly"


def test_a_night_that_its_function_interrupts_is_reported(memory: AgentMemory) -> None:
    def stops(messages: list[dict[str, str]], schema: dict[str, Any]) -> str:
        raise KeyboardInterrupt

    assert memory.consolidate(model=stops).interrupted


def test_what_is_not_a_model_is_refused(memory: AgentMemory) -> None:
    nameless = SimpleNamespace(completion=honestly)
    for wrong, why in ((3, "of type int is not a model"), (nameless, "does not list its models")):
        with pytest.raises(ModelError, match=why):
            memory.consolidate(model=wrong)  # type: ignore[arg-type]  # on purpose
    with pytest.raises(ModelError, match="or a writer"):
        memory.consolidate(checker=honestly)
