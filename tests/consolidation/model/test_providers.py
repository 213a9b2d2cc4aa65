"""Each provider is asked in its own protocol, through the real litellm."""

from __future__ import annotations

import pytest
from dialects import PROVIDERS
from model_nights import (
    MADE,
    Agent,
    a_fact,
    a_pair,
    a_rule,
    by_model,
    facts,
    only_question,
    states,
    total,
)
from model_server import Asked, Reply, in_turn, oracle, refuses, says

from slowwave.consolidation.model.litellm_model import ATTEMPTS, Endpoint
from slowwave.consolidation.model.model_writer import ModelWriter

each_provider = pytest.mark.parametrize(("model", "path"), PROVIDERS.values(), ids=PROVIDERS.keys())
KEY = "sk-27182818284590452353"


@pytest.fixture(autouse=True)
def _keys(agent: Agent, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("OPENAI", "ANTHROPIC", "GEMINI", "OLLAMA"):
        monkeypatch.setenv(f"{name}_API_KEY", KEY)
        for address in ("BASE_URL", "API_BASE"):
            monkeypatch.delenv(f"{name}_{address}", raising=False)


def writer(agent: Agent, model: str, path: str) -> ModelWriter:
    return ModelWriter(Endpoint(model, agent.server.address + path, 20.0, first_wait_s=0.001), 1)


@each_provider
def test_each_provider_answers_a_question(agent: Agent, model: str, path: str) -> None:
    agent.remember([*a_fact(), *a_pair(), *a_rule()])
    outcome = agent.sleep(writer(agent, model, path))
    assert {
        result.proposal.operation: result.state for result in by_model(outcome)
    } == dict.fromkeys(MADE, "applied")
    asked, checked = agent.server.asked
    assert (asked.kind, checked.kind) == ("write", "check")
    assert {asked.form, checked.form} == {"json_schema"}
    assert KEY in str(asked.headers)
    assert model.endswith(asked.body["model"])
    assert (outcome.usage.prompt_tokens, outcome.usage.completion_tokens) == total(agent)


@each_provider
def test_a_question_is_asked_again_until_its_answer_is_usable(
    agent: Agent, model: str, path: str
) -> None:
    agent.remember(a_fact())
    patient = [refuses(429, "slow down", retry_after="0")] * (ATTEMPTS - 1)
    cut_off = says('{"groups": [{"operation": "me', "length")
    agent.server.responder = in_turn(*patient, cut_off, says("no JSON"), then=oracle)
    outcome = agent.sleep(writer(agent, model, path))
    assert states(outcome) == {"applied": 1}
    asked = agent.server.asked[ATTEMPTS - 1 :]
    assert [limit_of(each) // limit_of(asked[0]) for each in asked[:2]] == [1, 2]
    assert [each.repair is None for each in asked[:3]] == [True, True, False]
    assert "not in the requested JSON format" in str(asked[2].repair)
    assert "no JSON" in asked[2].messages[2]["content"]
    assert outcome.usage.calls == len(agent.server.asked) == ATTEMPTS + 3
    assert (outcome.usage.prompt_tokens, outcome.usage.completion_tokens) == total(agent)


def limit_of(asked: Asked) -> int:
    return int(asked.body.get("max_tokens") or asked.body["max_completion_tokens"])


@each_provider
@pytest.mark.parametrize("status", [401, 404])
def test_a_refused_key_ends_the_night(agent: Agent, model: str, path: str, status: int) -> None:
    agent.remember(facts(2))
    agent.server.responder = lambda _: refuses(status, "not for you")
    asking = writer(agent, model, path)
    outcome = agent.sleep(asking)
    whys = {question.state: question.why for question in outcome.asked}
    assert whys.keys() == {"failed", "skipped"}
    assert whys["skipped"] == "not asked, because an earlier call was refused"
    assert "not for you" in str(asking.refused)
    assert len(agent.server.asked) == 1


FILTERED = says("", "content_filter")
BLOCKED = Reply(
    {
        "promptFeedback": {"blockReason": "PROHIBITED_CONTENT"},
        "usageMetadata": {"promptTokenCount": 300, "totalTokenCount": 300},
    }
)
FILTERING = [name for name in PROVIDERS if not name.startswith(("Ollama", "llama"))]


@pytest.mark.parametrize(
    ("provider", "reply"), [*((name, FILTERED) for name in FILTERING), ("Gemini", BLOCKED)]
)
def test_a_filtered_answer_is_not_repeated(agent: Agent, provider: str, reply: Reply) -> None:
    agent.remember(a_fact())
    agent.server.responder = in_turn(reply)
    question = only_question(agent.sleep(writer(agent, *PROVIDERS[provider])))
    assert question.state == "failed"
    assert "filter" in str(question.why)
    assert len(agent.server.asked) == 1


def test_gemini_refuses_a_wrong_key_with_400(agent: Agent) -> None:
    agent.remember(a_fact())
    agent.server.responder = lambda _: refuses(400, "API key not valid. Please pass a valid one.")
    asking = writer(agent, *PROVIDERS["Gemini"])
    agent.sleep(asking)
    assert "API key not valid" in str(asking.refused)
    assert len(agent.server.asked) == 1


@pytest.mark.parametrize("name", ["Ollama", "Ollama, chat"])
def test_ollama_gets_a_context_that_fits_the_question(agent: Agent, name: str) -> None:
    agent.remember(a_fact())
    agent.sleep(writer(agent, *PROVIDERS[name]))
    assert agent.server.asked[0].body["num_ctx"] == 8_192
