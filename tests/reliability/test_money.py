"""Budgets are exceeded only by calls in flight, and no paid answer is lost."""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from commands import configure
from hypothesis import given
from hypothesis import strategies as st
from model_nights import Agent, answered, facts, near_pairs
from model_server import (
    HANGS_UP,
    MAX_REQUESTS,
    SILENT,
    Asked,
    ModelServer,
    Reply,
    Responder,
    honest,
    oracle,
    refuses,
    says,
)
from nights import rows, states
from reliability.processes import start

from slowwave.consolidation.model.answer_forms import WRITE
from slowwave.consolidation.model.litellm_model import ATTEMPTS
from slowwave.consolidation.model.question import Question
from slowwave.consolidation.model.unanswered import LimitReached
from slowwave.consolidation.model.usage_limits import Call, UsageLimits, UsageMeter
from slowwave.consolidation.planning.estimates import Estimate
from slowwave.store.model_answers import Answer

# Of one question: tries, and two forms of output that a server may not understand.
MAX_A_QUESTION = ATTEMPTS + 2


@pytest.fixture
def agent(agent: Agent) -> Agent:
    """Turn off the checker: one question per window."""
    return replace(agent, checker="none")


def six_tenants() -> list[dict[str, Any]]:
    """Return a pair for each of six tenants: six questions."""
    return [memory | {"tenant": f"t{index // 2}"} for index, memory in enumerate(near_pairs(6))]


# ----------------------------------------------------------------- a provider that fails


def with_usage(**usage: object) -> Reply:
    """Return an answer with an impossible usage, as text, since the server would count it again."""
    choice = {
        "index": 0,
        "message": {"role": "assistant", "content": "{}"},
        "finish_reason": "stop",
    }
    head = {"id": "c", "object": "chat.completion", "created": 1, "model": "m", "choices": [choice]}
    return Reply(json.dumps(head | usage))


BAD: tuple[Reply, ...] = (
    refuses(500),
    refuses(503),
    refuses(429, retry_after="0"),
    refuses(429, retry_after="nonsense"),
    refuses(400, "response_format"),
    HANGS_UP,
    SILENT,
    Reply("<html>garbage"),
    Reply("[1, 2"),
    Reply("null"),
    Reply({"error": {"message": "no", "code": 500}}),
    Reply({"choices": []}),
    Reply({"choices": "none"}),
    says("no JSON at all"),
    says('{"groups": [{"operation": "me', "length"),
    says("[]"),
    with_usage(usage={"prompt_tokens": -5, "completion_tokens": -9, "total_tokens": -14}),
    with_usage(usage={"prompt_tokens": "many", "completion_tokens": None}),
    with_usage(usage={"prompt_tokens": float("nan")}),
    with_usage(usage={"prompt_tokens": 10**400, "completion_tokens": 10**400}),
    with_usage(usage=[]),
    with_usage(),
)


def failing(chance: random.Random) -> Responder:
    """Return a responder that fails half of the time, in every way."""
    lock = threading.Lock()

    def respond(asked: Asked) -> Reply:
        with lock:
            reply = chance.choice(BAD) if chance.random() < 0.5 else None
        return oracle(asked) if reply is None else reply

    return respond


@pytest.mark.parametrize("concurrency", [1, 4])
def test_a_failing_provider_costs_at_most_what_the_retries_allow(
    agent: Agent, concurrency: int, rounds: Callable[[int, int], int]
) -> None:
    agent.remember([*six_tenants(), *facts(3)])
    clean = agent.path.read_bytes()
    for seed in range(rounds(1, 10)):
        agent.path.write_bytes(clean)
        agent.server.forget()
        chance = random.Random(f"{seed} {concurrency}")  # noqa: S311 - failures, not secrets
        agent.server.responder = failing(chance)
        max_calls = chance.choice([None, 3, 7, 12])
        limits = UsageLimits(calls=max_calls)
        writer = agent.writer(concurrency=concurrency, limits=limits, timeout_s=0.5)
        outcome = agent.sleep(writer)
        asked = len(agent.server.asked)
        questions = len(outcome.plan.windows)
        assert asked <= (MAX_REQUESTS if max_calls is None else max_calls)
        # Each window is asked about, and its answer repaired once.
        assert asked <= 2 * MAX_A_QUESTION * questions
        assert asked <= outcome.usage.calls <= 2 * MAX_A_QUESTION * questions
        assert all(question.why for question in outcome.asked if question.state != "applied")
        assert outcome.usage.prompt_tokens >= 0
        assert outcome.usage.completion_tokens >= 0


# ----------------------------------------------------------------- usage that cannot be


@pytest.mark.parametrize("reply", BAD[16:], ids=range(len(BAD) - 16))
def test_an_impossible_usage_frees_no_budget(agent: Agent, reply: Reply) -> None:
    agent.remember(six_tenants())
    planned = agent.sleep(dry_run=True).plan.windows
    agent.server.responder = lambda _: reply
    # Room for two questions, and not for three.
    size = max(window.tokens for window in planned)
    outcome = agent.sleep(agent.writer(limits=UsageLimits(tokens=2 * size + size // 2)))
    assert len(agent.server.asked) <= 2
    assert "skipped" in answered(outcome)


def test_a_cheaper_name_in_the_answer_does_not_reduce_the_cost(agent: Agent) -> None:
    agent.remember(near_pairs(1))

    def respond(asked: Asked) -> Reply:
        reply = says(honest(asked))
        assert not isinstance(reply.body, str)
        return Reply({**reply.body, "model": "gpt-4.1-nano"})

    agent.server.responder = respond
    outcome = agent.sleep(agent.writer("openai/gpt-4o-mini"))
    ((prompt, answer),) = agent.server.taken
    assert outcome.usage.cost_usd == pytest.approx((0.15 * prompt + 0.6 * answer) / 1e6)


# ----------------------------------------------------------------- the books


@given(
    limits=st.tuples(
        st.none() | st.integers(0, 30), st.none() | st.integers(0, 5000), st.none() | st.just(0.003)
    ),
    calls=st.lists(
        st.tuples(
            st.integers(1, 800),  # estimated
            st.integers(0, 900),  # taken
            st.integers(0, 3),  # further requests
            st.booleans(),  # whether an answer came
        ),
        max_size=40,
    ),
    threads=st.integers(1, 4),
)
def test_limits_are_exceeded_only_by_calls_in_flight(
    limits: tuple[int | None, int | None, float | None],
    calls: list[tuple[int, int, int, bool]],
    threads: int,
) -> None:
    max_calls, max_tokens, max_cost = limits
    price = 1e-6
    meter = UsageMeter(UsageLimits(*limits), lambda asked, answered: (asked + answered) * price)

    def make_call(call: tuple[int, int, int, bool]) -> tuple[int, int, int]:
        """Return the requests, the tokens, and by how much they exceed the estimate."""
        estimated, took, more, is_answered = call
        estimate = Estimate(estimated, 10)
        pending = Call(meter, Question("m", WRITE, [], estimate), 10)
        try:
            meter.begin(pending)
        except LimitReached:
            return 0, 0, 0
        sent = _send(pending, more)
        if not is_answered:
            pending.lose()
            took = 0
        meter.end(pending, Answer("", took, 0, took * price))
        return sent, took, max(0, took - estimate.total)

    with ThreadPoolExecutor(threads) as pool:
        used = list(pool.map(make_call, calls))
    taken = sum(tokens for _, tokens, _ in used)
    assert max_calls is None or sum(sent for sent, _, _ in used) <= max_calls
    # Calls in flight when the budget ran out: at most one per thread.
    beyond = sum(sorted(over for _, _, over in used)[-threads:])
    assert max_tokens is None or taken <= max_tokens + beyond
    assert max_cost is None or taken * price <= max_cost + beyond * price + 1e-12


def _send(pending: Call, more: int) -> int:
    pending.permit()
    for _ in range(more):
        try:
            pending.permit()
        except LimitReached:
            break
    return pending.requests


def maintain(path: Path, server: ModelServer, **settings: object) -> list[str]:
    """Return the arguments of a night with a model, with settings next to the file."""
    configure(path, api_base=server.base, checker="none", concurrency=1, **settings)
    return ["maintain", str(path), "--model", "openai/scripted", "--json"]


# ----------------------------------------------------------------- paid for


@pytest.mark.parametrize("answered", [1, 3])
def test_paid_answers_survive_a_kill(
    agent: Agent, answered: int, rounds: Callable[[int, int], int]
) -> None:
    if answered > 1 and rounds(0, 1) == 0:
        pytest.skip("in make test-long")
    agent.remember(six_tenants())
    killed: list[subprocess.Popen[str]] = []
    ready = threading.Event()

    def respond(asked: Asked) -> Reply:
        # One call at a time; the next one leaves while what the last one brought is written.
        if len(agent.server.asked) > answered:
            ready.wait(60)
            time.sleep(1)
            os.kill(killed[0].pid, signal.SIGKILL)
            return HANGS_UP
        return oracle(asked)

    agent.server.responder = respond
    killed.append(start(*maintain(agent.path, agent.server)))
    ready.set()
    killed[0].communicate(timeout=120)
    assert killed[0].returncode == -signal.SIGKILL
    stored = rows(agent.path, "SELECT count(*) AS n FROM answers")
    assert stored == [{"n": answered}]
    agent.server.forget()
    agent.server.responder = oracle
    outcome = agent.sleep()
    assert len(agent.server.asked) == 6 - answered
    assert outcome.usage.calls == 6 - answered
    assert list(states(agent.path).values()).count("superseded") == 6


def test_answers_are_stored_while_another_is_applied(agent: Agent) -> None:
    agent.remember(six_tenants())
    writer = agent.writer(concurrency=6)
    together = threading.Barrier(6, timeout=30)

    def respond(asked: Asked) -> Reply:
        together.wait()
        return oracle(asked)

    agent.server.responder = respond
    counts: list[int] = []
    write = writer.write

    def slowly(*args: Any) -> Iterator[Any]:
        for written in write(*args):
            yield written
            time.sleep(0.5)
            counts.append(rows(agent.path, "SELECT count(*) AS n FROM answers")[0]["n"])

    writer.write = slowly  # type: ignore[method-assign]  # one that looks at the file meanwhile
    agent.sleep(writer)
    # What came while one was applied is in the file before the next one is: not one by one.
    assert counts == sorted(counts)
    assert counts[-1] == 6
    assert len(set(counts)) < 6
