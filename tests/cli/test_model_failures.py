"""Failures of a model: the error and the hint on stderr."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import tenacity
from cli_calls import Cli, Ended
from commands import setting
from model_nights import Agent, a_pair, facts, near_pairs
from model_server import SILENT, Responder, refuses, says

_AT_ONCE = {"retry-after": "0"}
# The reply of a server, and what the error contains.
FAILURES: dict[str, tuple[Responder, str]] = {
    "429": (lambda _: refuses(429, "slow down", **_AT_ONCE), "slow down"),
    "401": (lambda _: refuses(401, "not for you"), "not for you"),
    "an hour": (lambda _: refuses(429, retry_after="3600"), "asks to wait for 3600 seconds"),
    "rubbish": (lambda _: says("I think so."), "not answered"),
}


@pytest.fixture
def maintain(agent: Agent, cli: Cli, monkeypatch: pytest.MonkeyPatch) -> Callable[..., Ended]:
    """Provide a night with the scripted model, which is asked again at once."""
    monkeypatch.setattr("tenacity.wait_exponential", lambda **_: tenacity.wait_none())
    agent.remember(near_pairs(1))

    def call(*arguments: object, base: str = agent.server.base) -> Ended:
        model = ("--model", "openai/scripted", setting("api_base", base))
        return cli("maintain", agent.path, *model, *arguments)

    return call


def assert_failure_reported(
    call: Callable[..., Ended], path: Path, word: str, *settings: object
) -> str:
    """Check how a failed night is reported in each form, and return the line."""
    ended = call(*settings)
    assert ended.code == 1
    assert_reported(ended)
    line, hint = ended.err.splitlines()
    assert line.startswith("Error: ")
    assert word in line
    assert f"{path}: 1 question not answered" in line
    for never in ("nothing to do", "was shown"):
        assert never not in ended.out
    quiet = call(*settings, "--quiet")
    assert (quiet.code, quiet.out) == (1, "")
    assert quiet.err == ended.err
    programs = call(*settings, "--json")
    assert programs.code == 1
    model: dict[str, Any] = programs.json["model"]
    assert model["unanswered"] == 1
    assert word in model["why"]
    error = json.loads(programs.err)
    assert (error["error"], error["hint"], error["code"]) == (model["why"], hint, 1)
    return f"{line} {hint}"


def assert_reported(ended: Ended) -> None:
    """Check that the error and the hint are on stderr only: a terminal shows both streams."""
    assert not {*ended.out.splitlines()} & {*ended.err.removeprefix("Error: ").splitlines()}


@pytest.mark.parametrize("failure", FAILURES)
def test_failures_are_reported(failure: str, agent: Agent, maintain: Callable[..., Ended]) -> None:
    agent.server.responder, word = FAILURES[failure]
    line = assert_failure_reported(maintain, agent.path, word)
    assert "litellm" not in line
    check = f"slowwave model-check --model openai/scripted --api-base {agent.server.base}"
    assert line.endswith(f" The next run asks again. To test server and key: {check}")
    ends = failure in ("401", "an hour")
    assert line.startswith("Error: The model was not called again: ") == ends


def test_the_next_run_retries_a_timeout(agent: Agent, maintain: Callable[..., Ended]) -> None:
    agent.server.responder = lambda _: SILENT
    ended = maintain(setting("max_time", 0.3))
    line, hint = ended.err.splitlines()
    late = "the model did not answer in time; the budget of 0.3 seconds is used up."
    assert line.endswith(f"1 question not answered: {late}")
    assert hint.startswith("The next run asks again, within the same limit: raise it")
    assert_reported(ended)
    assert ended.code == 3


def test_the_log_has_error_and_cost(agent: Agent, maintain: Callable[..., Ended], cli: Cli) -> None:
    maintain()
    agent.server.responder = lambda _: refuses(500, "broken", **_AT_ONCE)
    agent.remember(facts(1))
    maintain()
    done, failed = cli("log", agent.path, "--json").json["runs"]
    why = "failed: the call to the model failed: HTTP 500: broken"
    listed = " ".join(cli("log", agent.path).out.split())
    assert "calls, cost unknown" in listed
    assert "HTTP 500: broken" in listed
    assert why in cli("log", agent.path, failed["id"]).out
    assert "calls, cost unknown" in cli("log", agent.path, done["id"]).out


def test_a_question_missing_from_a_recording_fails(agent: Agent, cli: Cli, tmp_path: Path) -> None:
    agent.remember(near_pairs(1))
    recording = tmp_path / "answers.jsonl"
    recording.write_text("")
    replay = ("--model", "openai/scripted", setting("replay", recording))
    ended = cli("maintain", agent.path, *replay).ends(1)
    assert ended.err.splitlines()[1] == "Add the answers to the recording, and repeat the run."
    assert_reported(ended)


def test_a_partial_run_names_the_failure(agent: Agent, maintain: Callable[..., Ended]) -> None:
    for index, memory in enumerate(a_pair()):
        agent.remember([memory | {"content": "Tea is at four.", "id": f"t{index}"}])
    agent.server.responder = lambda _: refuses(500, "broken", **_AT_ONCE)
    ended = maintain().ends(3).says("1 applied")
    assert_reported(ended)


def test_a_used_up_budget_hides_no_error(agent: Agent, maintain: Callable[..., Ended]) -> None:
    agent.server.responder = lambda _: refuses(500, "broken", **_AT_ONCE)
    agent.remember(facts(2))
    assert "the budget is 0 calls." in maintain(setting("max_calls", 0)).err
    error = json.loads(maintain(setting("max_calls", 1), "--json").ends(1).err)
    why = "First error: the call to the model failed: HTTP 500: broken; the budget of 1 call is "
    why += "used up."
    assert error["error"].endswith(why)
    assert "slowwave model-check --model" in error["hint"]


def test_a_run_without_failures_prints_nothing_to_stderr(maintain: Callable[..., Ended]) -> None:
    ended = maintain("--json")
    assert (ended.code, ended.err) == (0, "")
    model = ended.json["model"]
    assert (model["refused"], model["unanswered"], model["why"]) == (None, 0, None)


def test_a_failed_dry_run_does_not_find_nothing_to_do(
    agent: Agent, maintain: Callable[..., Ended]
) -> None:
    agent.server.responder = lambda _: refuses(404, "no such model")
    ended = maintain("--dry-run", "--ask", "--exit-code").ends(1, "no such model")
    assert_reported(ended)
    assert "nothing to do" not in ended.out


def test_the_log_has_a_line_per_run(agent: Agent, maintain: Callable[..., Ended], cli: Cli) -> None:
    agent.server.responder = lambda _: refuses(401, "not for you " * 20)
    maintain()
    titles, *lines = cli("log", agent.path).out.splitlines()
    assert titles.startswith("run")
    assert len(lines) == 1
    assert "HTTP 401" in lines[0]
    assert "not for you not for you" not in lines[0]
    (run,) = agent.rows("SELECT id FROM runs")
    cli("log", agent.path, run["id"]).says("not for you " * 19)
