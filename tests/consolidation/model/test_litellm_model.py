"""Requests to a model's server: calls, limits, output formats and keys.

One question per window: there is no checker.
"""

from __future__ import annotations

import itertools
import json
import os
import sys
import threading
import time
from dataclasses import replace
from typing import Any

import pytest
from cli_calls import in_a_process
from model_nights import (
    JONAH,
    KEY,
    TOMORROW,
    Agent,
    a_fact,
    answered,
    facts,
    only_question,
    states,
    total,
    undo,
)
from model_server import (
    HANGS_UP,
    MAX_SECONDS,
    SILENT,
    Asked,
    Reply,
    Responder,
    in_turn,
    oracle,
    refuses,
    says,
    write,
)
from nights import daily, execute, unchanged

from slowwave.consolidation.errors import ModelError
from slowwave.consolidation.model.litellm_model import ATTEMPTS, Endpoint
from slowwave.consolidation.model.model_writer import ModelWriter, UsageLimits


@pytest.fixture
def agent(agent: Agent) -> Agent:
    return replace(agent, checker="none")


# ----------------------------------------------------------------- failures

FAILURES: dict[str, tuple[Reply, int, str]] = {
    "rate limit": (refuses(429), ATTEMPTS, "HTTP 429"),
    "server error": (refuses(500), ATTEMPTS, "HTTP 500"),
    "connection closed": (HANGS_UP, ATTEMPTS, "Connection error"),
    "web page": (Reply("<html>login</html>"), ATTEMPTS, "answer is not JSON"),
    "no body": (Reply(""), ATTEMPTS, "the server's answer is empty"),
    "a bad gateway": (Reply("<html>502</html>", 502), ATTEMPTS, "HTTP 502"),
    "silent": (SILENT, ATTEMPTS, "the model did not answer within 0.2 seconds"),
    "no choices": (Reply({"choices": [], "usage": {}}), 1, "sent no answer"),
    "a retry-after that is no time": (refuses(503, retry_after="soon"), ATTEMPTS, "HTTP 503"),
    "null": (Reply("null"), ATTEMPTS, "the call to the model failed"),
}


@pytest.mark.parametrize(("reply", "tries", "why"), FAILURES.values(), ids=FAILURES.keys())
def test_a_failed_call_changes_no_memory(
    agent: Agent, capfd: pytest.CaptureFixture[str], reply: Reply, tries: int, why: str
) -> None:
    agent.remember(a_fact())
    agent.server.responder = in_turn(reply)
    with unchanged(agent.picture):
        asking = agent.writer(timeout_s=0.2 if reply is SILENT else 20.0)
        question = only_question(agent.sleep(asking))
    assert question.state == "failed"
    assert why in str(question.why)
    assert len(agent.server.asked) == tries
    # stdout belongs to the report: litellm must not write there.
    assert capfd.readouterr().out == ""


def cut_off(length: int, reason: str) -> Responder:
    """Return a responder whose answers are all cut off."""
    return lambda asked: says(json.dumps(write(asked))[:length], reason)


CUT_OFF = {
    "before it began": cut_off(0, "length"),
    "within a sentence": cut_off(40, "length"),
    "within a sentence, and not said so": cut_off(40, "stop"),
    "within its thoughts": lambda asked: says("<think>The first one says", "stop"),
}


@pytest.mark.parametrize("responder", CUT_OFF.values(), ids=CUT_OFF.keys())
def test_an_answer_cut_off_twice_fails_and_is_not_kept(agent: Agent, responder: Responder) -> None:
    agent.remember(a_fact())
    before = agent.picture()
    agent.server.responder = responder
    outcome = agent.sleep()
    question = only_question(outcome)
    assert question.state == "failed"
    assert "the answer is cut off, even with the doubled limit of" in str(question.why)
    first, second = (asked.body["max_tokens"] for asked in agent.server.asked)
    assert second == 2 * first
    # Both were paid for.
    assert (outcome.usage.prompt_tokens, outcome.usage.completion_tokens) == total(agent)
    assert agent.picture() == before
    assert agent.rows("SELECT * FROM answers") == []


def test_a_cut_off_answer_counts_in_the_budget(agent: Agent) -> None:
    agent.remember(a_fact())
    agent.server.responder = cut_off(40, "length")
    (window,) = agent.sleep(dry_run=True).plan.windows
    outcome = agent.sleep(agent.writer(limits=UsageLimits(tokens=window.tokens + 100)))
    assert answered(outcome) == {"skipped": 1}
    assert len(agent.server.asked) == 1


WITHHELD = {
    "nothing": (says(""), "the model's answer is empty"),
    "blanks": (says(" \n"), "the model's answer is empty"),
    "the filter": (says("{", "content_filter"), "the provider's filter withheld the answer"),
    "a refusal": (says("", refusal="I cannot."), "the model will not answer: I cannot."),
}


@pytest.mark.parametrize(("reply", "why"), WITHHELD.values(), ids=WITHHELD.keys())
def test_an_empty_or_withheld_answer_fails_at_once(agent: Agent, reply: Reply, why: str) -> None:
    agent.remember(a_fact())
    agent.server.responder = in_turn(reply)
    outcome = agent.sleep()
    question = only_question(outcome)
    assert (question.state, question.why) == ("failed", why)
    assert len(agent.server.asked) == 1
    assert outcome.usage.prompt_tokens == agent.server.taken[0][0]
    assert agent.rows("SELECT * FROM answers") == []


def test_an_unreadable_stored_answer_is_requested_again(agent: Agent) -> None:
    agent.remember(a_fact())
    first = agent.sleep()
    (stored,) = agent.rows("SELECT * FROM answers")
    execute(agent.path, "UPDATE answers SET answer = ?", stored["answer"][:40])
    undo(agent, first)
    agent.server.forget()
    again = agent.sleep(now=TOMORROW, reconsider=True)
    assert states(again) == {"applied": 1}
    assert len(agent.server.asked) == 1
    assert [row["answer"] for row in agent.rows("SELECT * FROM answers")] == [stored["answer"]]


def test_a_corrected_answer_is_stored_for_its_question(agent: Agent) -> None:
    agent.remember(a_fact())
    agent.server.responder = in_turn(says("no JSON"), then=oracle)
    first = agent.sleep()
    undo(agent, first)
    agent.server.forget()
    assert states(agent.sleep(now=TOMORROW, reconsider=True)) == states(first) == {"applied": 1}
    assert agent.server.asked == []


def test_a_retry_after_header_is_obeyed(agent: Agent) -> None:
    agent.remember(a_fact())
    asked_at: list[float] = []

    def respond(asked: Asked) -> Reply:
        asked_at.append(time.monotonic())
        return refuses(429, retry_after="1") if len(asked_at) == 1 else oracle(asked)

    agent.server.responder = respond
    assert states(agent.sleep()) == {"applied": 1}
    first, second = asked_at
    assert second - first >= 1.0


def test_a_retry_does_not_wait_beyond_the_budget_of_time(agent: Agent) -> None:
    agent.remember(a_fact())
    agent.server.responder = in_turn(refuses(503, retry_after="20"))
    question = only_question(agent.sleep(agent.writer(limits=UsageLimits(seconds=1.0))))
    assert question.state == "failed"
    assert str(question.why).startswith("the call to the model failed: HTTP 503: ")
    assert str(question.why).endswith("; the budget of 1 second is used up")
    assert len(agent.server.asked) == 1


def test_a_retry_after_of_an_hour_ends_the_night(agent: Agent) -> None:
    agent.remember(facts(2))
    agent.server.responder = in_turn(refuses(429, retry_after="3600"))
    outcome = agent.sleep()
    assert "the server asks to wait for 3600 seconds" in str(outcome.asked[0].why)
    assert [each.state for each in outcome.asked] == ["failed", "skipped"]
    assert len(agent.server.asked) == 1


# ----------------------------------------------------------------- structured output

NO_FORM = refuses(400, "response_format")
# As llama-cpp-python 0.3.36 says it.
NOT_KNOWN = refuses(
    500,
    "1 validation error:\n  {'type': 'literal_error', 'loc': ('body', 'response_format', 'type'), "
    "'msg': \"Input should be 'text' or 'json_object'\", 'input': 'json_schema'}",
)


@pytest.mark.parametrize(
    ("refused", "reply", "forms"),
    [
        ([], NO_FORM, ["json_schema"]),
        (["json_schema"], NO_FORM, ["json_schema", "json_object"]),
        (["json_schema"], NOT_KNOWN, ["json_schema", "json_object"]),
        (["json_schema", "json_object"], NO_FORM, ["json_schema", "json_object", None]),
    ],
    ids=["none", "schema", "schema with status 500", "both"],
)
def test_the_first_supported_output_format_is_used(
    agent: Agent, refused: list[str], reply: Reply, forms: list[str | None]
) -> None:
    agent.remember(facts(3))
    agent.server.responder = lambda asked: reply if asked.form in refused else oracle(asked)
    assert states(agent.sleep()) == {"applied": 3}
    assert [asked.form for asked in agent.server.asked] == [*forms, forms[-1], forms[-1]]


def test_a_refused_question_keeps_structured_output_for_others(agent: Agent) -> None:
    agent.remember(facts(4))
    agent.server.responder = lambda asked: refuses(400) if "Jonah" in asked.texts else oracle(asked)
    outcome = agent.sleep()
    assert (states(outcome), answered(outcome)) == ({"applied": 3}, {"applied": 3, "failed": 1})
    forms = [asked.form for asked in agent.server.asked if "Jonah" not in asked.texts]
    assert forms == ["json_schema"] * 3


NOT_THE_FORM = {
    "a defect": (500, "2 errors:\n  out of memory"),
    "a filter": (400, "content_policy_violation: your request was rejected by our safety system"),
    "Azure's filter": (400, "The response was filtered due to the content management policy."),
    "too long": (400, "This model's maximum context length is 8192 tokens."),
    "too long for llama.cpp": (400, "the request exceeds the available context size, increase it"),
    "too long for Claude": (400, "prompt is too long: 208310 tokens > 200000 maximum"),
}


@pytest.mark.parametrize(("status", "message"), NOT_THE_FORM.values(), ids=NOT_THE_FORM.keys())
def test_other_refusals_keep_the_output_format(agent: Agent, status: int, message: str) -> None:
    agent.remember(a_fact())
    agent.server.responder = in_turn(refuses(status, message))
    question = only_question(agent.sleep())
    assert question.state == "failed"
    assert " ".join(message.split()) in str(question.why)
    assert [asked.form for asked in agent.server.asked] == ["json_schema"] * (
        ATTEMPTS if status == 500 else 1
    )


def test_a_model_without_temperature_is_asked_in_the_same_format(agent: Agent) -> None:
    agent.remember(facts(2))
    refusal = "Unsupported value: 'temperature' does not support 0 with this model."
    agent.server.responder = lambda asked: (
        refuses(400, refusal) if "temperature" in asked.body else oracle(asked)
    )
    assert states(agent.sleep()) == {"applied": 2}
    assert [asked.form for asked in agent.server.asked] == ["json_schema"] * 3


@pytest.mark.parametrize("model", ["openai/o3-mini", "openai/gpt-5-mini"])
def test_a_reasoning_model_has_a_larger_limit_and_no_temperature(agent: Agent, model: str) -> None:
    agent.remember(a_fact())
    agent.sleep()
    usual = agent.server.asked[0].body["max_tokens"]
    agent.server.forget()
    agent.remember(a_fact(JONAH))
    assert states(agent.sleep(agent.writer(model), now=TOMORROW)) == {"applied": 1}
    body = agent.server.asked[0].body
    assert "temperature" not in body
    assert body["max_completion_tokens"] >= max(4_000, 3 * usual)


# ----------------------------------------------------------------- budgets


def test_after_a_budget_of_calls_the_next_night_does_the_rest(agent: Agent) -> None:
    agent.remember(facts(5))
    outcome = agent.sleep(agent.writer(concurrency=4, limits=UsageLimits(calls=2)))
    assert (states(outcome), answered(outcome)) == ({"applied": 2}, {"applied": 2, "skipped": 3})
    assert {question.why for question in outcome.asked if question.state == "skipped"} == {
        "the budget of 2 calls is used up"
    }
    assert len(agent.server.asked) == outcome.usage.calls == 2
    agent.server.forget()
    rest = agent.sleep(now=TOMORROW)
    assert states(rest) == {"applied": 3}
    assert len(agent.server.asked) == 3


def test_a_correction_beyond_the_budget_is_requested_the_next_night(agent: Agent) -> None:
    agent.remember(a_fact())
    agent.server.responder = in_turn(says("no JSON"), then=oracle)
    with unchanged(agent.picture):
        outcome = agent.sleep(agent.writer(limits=UsageLimits(calls=1)))
    assert answered(outcome) == {"skipped": 1}
    again = agent.sleep(now=TOMORROW)
    assert states(again) == {"applied": 1}
    # What cannot be read is not kept.
    assert (again.usage.calls, again.usage.cached) == (1, 0)
    assert [asked.repair is None for asked in agent.server.asked] == [True, True]


def test_every_request_counts_against_the_budget_of_calls(agent: Agent) -> None:
    agent.remember(facts(4))
    counted = itertools.count()
    agent.server.responder = lambda asked: refuses(500) if next(counted) % 2 else oracle(asked)
    outcome = agent.sleep(agent.writer(limits=UsageLimits(calls=4)))
    assert len(agent.server.asked) == outcome.usage.calls == 4
    assert states(outcome) == {"applied": 2}
    # One was answered with an error, and could not be asked again.
    assert answered(outcome) == {"applied": 2, "failed": 1, "skipped": 1}


def test_a_budget_of_tokens_is_kept_to_the_call(agent: Agent) -> None:
    agent.remember(facts(6))
    planned = agent.sleep(dry_run=True).plan.windows
    most = sum(window.tokens for window in planned) // 2
    outcome = agent.sleep(agent.writer(concurrency=4, limits=UsageLimits(tokens=most)))
    assert states(outcome)["applied"] >= 2
    assert answered(outcome)["skipped"] >= 3
    skipped = [question.why for question in outcome.asked if question.state == "skipped"]
    assert all(str(why).startswith(f"the budget of {most:,} tokens has no room") for why in skipped)
    used = outcome.usage.prompt_tokens + outcome.usage.completion_tokens
    # By at most the error of an estimate.
    assert used <= most + 0.2 * max(window.tokens for window in planned)


def test_a_budget_of_money_is_kept_to_the_call(agent: Agent) -> None:
    agent.remember(facts(6))
    # What two calls cost at 0.15 and 0.60 USD a million, and a little more.
    limits = UsageLimits(cost_usd=0.0006)
    outcome = agent.sleep(agent.writer("openai/gpt-4o-mini", 4, limits))
    assert states(outcome)["applied"] >= 2
    assert answered(outcome)["skipped"] >= 2
    assert outcome.usage.cost_usd is not None
    assert 0.0004 < outcome.usage.cost_usd <= 0.0006 * 1.05
    costs = [row["cost_usd"] for row in agent.rows("SELECT cost_usd FROM derivations")]
    assert outcome.usage.cost_usd == pytest.approx(sum(costs))


def test_an_unexpectedly_expensive_call_is_the_last(agent: Agent) -> None:
    agent.remember(facts(3))
    agent.server.responder = lambda asked: says(write(asked), prompt_tokens=1_000_000)
    outcome = agent.sleep(agent.writer("openai/gpt-4o-mini", limits=UsageLimits(cost_usd=0.1)))
    assert (states(outcome), answered(outcome)) == ({"applied": 1}, {"applied": 1, "skipped": 2})
    assert "the budget of 0.1 USD has no room for another call" in str(outcome.asked[-1].why)


NOT_ASKED = {
    "unknown price": (
        UsageLimits(cost_usd=5.0),
        "the model's price is unknown, so a budget of 5 USD cannot be enforced",
    ),
    "no time": (UsageLimits(seconds=0), "the budget is 0 seconds"),
}


@pytest.mark.parametrize(("limits", "why"), NOT_ASKED.values(), ids=NOT_ASKED)
def test_no_call_is_made_that_no_budget_allows(agent: Agent, limits: UsageLimits, why: str) -> None:
    agent.remember(facts(2))
    outcome = agent.sleep(agent.writer(limits=limits))
    assert [(asked.state, asked.why) for asked in outcome.asked] == [("skipped", why)] * 2
    assert agent.server.asked == []


# ----------------------------------------------------------------- several calls at a time


@pytest.mark.parametrize("concurrency", [1, 3])
def test_concurrency_is_the_number_of_calls_in_flight(agent: Agent, concurrency: int) -> None:
    agent.remember(facts(6))
    # No answer is given until this number of requests wait.
    together = threading.Barrier(concurrency, timeout=20)

    def respond(asked: Asked) -> Reply:
        together.wait()
        return oracle(asked)

    agent.server.responder = respond
    outcome = agent.sleep(agent.writer(concurrency=concurrency))
    assert states(outcome) == {"applied": 6}
    assert agent.server.peak == concurrency


def test_calls_do_not_wait_for_the_reader_of_answers(agent: Agent) -> None:
    agent.remember(facts(6))
    asked_for_all = threading.Event()

    def respond(asked: Asked) -> Reply:
        if len(agent.server.asked) == 6:
            asked_for_all.set()
        return oracle(asked)

    agent.server.responder = respond
    looked_at = []

    class Looking(ModelWriter):
        def write(self, jobs: Any, answers: Any) -> Any:
            for answer in super().write(jobs, answers):
                # The reader of the first answer takes all the time in the world.
                looked_at.append(asked_for_all.wait(MAX_SECONDS))
                yield answer

    endpoint = Endpoint("openai/scripted", agent.server.base)
    writer = Looking(endpoint, concurrency=2, checker="none")
    assert states(agent.sleep(writer)) == {"applied": 6}
    assert set(looked_at) == {True}
    assert agent.server.peak <= 2


def test_answers_are_applied_while_other_calls_are_in_flight(agent: Agent) -> None:
    agent.remember(facts(3))
    applied = []

    def respond(asked: Asked) -> Reply:
        if len(agent.server.asked) == 3:
            # The last answer waits until the two before are in the file.
            ends = time.monotonic() + MAX_SECONDS
            while len(applied) < 2 and time.monotonic() < ends:
                applied[:] = agent.rows("SELECT key FROM proposals WHERE state = 'applied'")
                time.sleep(0.01)
        return oracle(asked)

    agent.server.responder = respond
    assert states(agent.sleep(agent.writer(concurrency=2))) == {"applied": 3}
    assert len(applied) == 2


# ----------------------------------------------------------------- keys


@pytest.mark.parametrize("model", ["openai/scripted", "mistral/scripted"])
def test_a_local_server_needs_no_key(agent: Agent, model: str) -> None:
    agent.remember(a_fact())
    assert states(agent.sleep(agent.writer(model))) == {"applied": 1}
    assert agent.server.asked[0].headers["authorization"] == "Bearer none"


def test_no_provider_gets_the_key_of_another(agent: Agent, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    agent.remember(a_fact())
    agent.sleep(agent.writer("mistral/scripted"))
    assert len(agent.server.asked) == 1
    assert KEY not in str(agent.server.asked[0].headers)


def test_an_unready_model_is_reported_before_any_memory_changes(agent: Agent) -> None:
    # The merge of twins needs no model.
    agent.remember([*a_fact(), *daily(["The kettle is blue."] * 2, "twins")])
    with unchanged(agent.picture), pytest.raises(ModelError, match="No API key is set"):
        agent.sleep(ModelWriter(Endpoint("openai/gpt-4o-mini")))
    assert agent.rows("SELECT * FROM proposals") == []


def test_a_blank_key_counts_as_missing(agent: Agent, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MISTRAL_API_KEY", " ")
    with pytest.raises(ModelError, match="The variable MISTRAL_API_KEY is empty"):
        ModelWriter(Endpoint("mistral/mistral-large")).make_ready()
    agent.remember(a_fact())
    assert states(agent.sleep(agent.writer("mistral/scripted"))) == {"applied": 1}
    assert agent.server.asked[0].headers["authorization"] == "Bearer none"


_LOADING = """
import socket
from slowwave.consolidation.model.litellm_client import load_litellm

hosts = []
def look_up(host, *rest, **options):
    hosts.append(host)
    raise OSError("offline")
socket.getaddrinfo = look_up

load_litellm()
print("loaded", *hosts)
"""


def test_litellm_is_loaded_without_a_price_list() -> None:
    variables = {name: value for name, value in os.environ.items() if "LITELLM" not in name}
    in_a_process(sys.executable, "-c", _LOADING, env=variables).ends(0).says("loaded\n")
