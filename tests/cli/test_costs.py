"""Estimated costs of a run, and the monthly budget."""

from __future__ import annotations

import json
import re
import socket
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
import tenacity
from cli_calls import Cli
from commands import configure, setting
from model_nights import Agent, facts
from model_server import SILENT, says
from nights import execute, rows

from slowwave.cli.arguments.monthly_budget import month_so_far
from slowwave.store.records import timestamp

PRICED = "openai/gpt-4o-mini"


def test_a_dry_run_estimates_tokens_price_and_seconds(agent: Agent, cli: Cli) -> None:
    agent.remember(facts(2))
    shown = cli("maintain", agent.path, "--dry-run", "--model", PRICED).out
    windows, price = shown.splitlines()[-2:]
    assert windows.startswith("With a model: 2 questions, up to ")
    assert "with 4 calls at a time." in windows
    assert price.startswith("Price: up to 0.00")
    assert f"USD with {PRICED}. All are estimates" in price
    report = cli("maintain", agent.path, "--dry-run", "--model", PRICED, "--json").json
    estimate: dict[str, Any] = report["estimate"]
    assert estimate["windows"] == 2
    assert estimate["prompt_tokens"] > estimate["answer_tokens"] > 0
    assert 0 < estimate["prices"][PRICED] < 0.01
    assert estimate["seconds"] >= 1


def test_a_dry_run_without_a_model_prices_example_models(agent: Agent, cli: Cli) -> None:
    agent.remember(facts(2))
    report = cli("maintain", agent.path, "--dry-run", "--json").json
    plain = report["estimate"]
    assert report["undecided"]["tokens"] == plain["prompt_tokens"] + plain["answer_tokens"]
    asked = cli("maintain", agent.path, "--dry-run", "--model", PRICED, "--json").json["estimate"]
    for name in ("windows", "prompt_tokens", "answer_tokens"):
        assert plain[name] == asked[name]
    assert len(plain["prices"]) == 3
    assert all(usd > 0 for usd in plain["prices"].values())


def test_an_unknown_price_is_reported_as_unknown(agent: Agent, cli: Cli) -> None:
    agent.remember(facts(2))
    shown = cli("maintain", agent.path, "--dry-run", "--model", "openai/scripted")
    assert shown.out.splitlines()[-1].startswith("Price: unknown for openai/scripted.")


def test_a_dry_run_without_questions_names_no_price(memory_file: Path, cli: Cli) -> None:
    assert "Price" not in cli("maintain", memory_file, "--dry-run", "--model", PRICED).out


# ----------------------------------------------------------------- a budget of a month


def test_answers_beyond_the_budget_exit_3(agent: Agent, cli: Cli) -> None:
    agent.remember(facts(1))
    answer = {"groups": [], "conflicts": []}
    agent.server.responder = lambda _: says(answer, prompt_tokens=95_000_000)
    configure(agent.path, api_base=agent.server.base)
    ended = cli("maintain", agent.path, "--model", PRICED, "--max-cost", 0.5, "--quiet").ends(3)
    assert ended.err.startswith("Error: The model used 14.25")
    assert ended.err.endswith(" USD, more than the budget of 0.5 USD.\n")


@pytest.fixture
def priced(agent: Agent, cli: Cli) -> Agent:
    """Provide a file whose model has a price, and two windows."""
    agent.remember(facts(2))
    configure(agent.path, api_base=agent.server.base, checker="none", concurrency=1)
    return agent


def night(cli: Cli, agent: Agent, budget: str, *arguments: object) -> Any:
    model = ("--model", PRICED, setting("monthly_budget", budget))
    return cli("maintain", agent.path, *model, *arguments)


def spend(agent: Agent, usd: float | None, started: str, tokens: int = 0) -> None:
    """Record a night that cost something."""
    used = {"prompt_tokens": tokens, "completion_tokens": 0, "cost_usd": usd}
    report = json.dumps({"before": {}, "after": {}, "states": {}, "model": used})
    execute(
        agent.path,
        "INSERT INTO runs (id, started_at, version, options, outcome, report) VALUES (?,?,?,?,?,?)",
        *(f"run-{started}-{usd}", started, "1", json.dumps({"model": PRICED}), "done", report),
    )


def test_earlier_runs_reduce_the_monthly_budget(priced: Agent, cli: Cli) -> None:
    spend(priced, 1.25, timestamp(datetime.now(UTC)))
    spend(priced, 0.75, timestamp(datetime.now(UTC)))
    line, todo = night(cli, priced, "2 USD/month").ends(3).err.splitlines()
    assert todo == "What is left of the budget does not cover another call: raise the limit."
    why = "the budget of 2 USD a month (2.0000 USD spent) has no room for another call"
    assert f"2 questions not answered. First error: {why}" in line
    assert priced.server.asked == []
    assert night(cli, priced, "3.00 USD").code == 0


def test_each_month_has_its_own_budget(priced: Agent, cli: Cli) -> None:
    spend(priced, 50.0, "2020-01-31T23:59:59.000Z")
    assert night(cli, priced, "2 USD / month").code == 0


def test_a_run_of_unknown_cost_counts_by_its_tokens(priced: Agent) -> None:
    now = datetime.now(UTC)
    spend(priced, None, timestamp(now), tokens=1_000_000)
    assert month_so_far(priced.path, 2.0, now).spent == pytest.approx(0.15)


def test_a_killed_run_counts_by_its_stored_answers(priced: Agent, cli: Cli) -> None:
    ended, now = night(cli, priced, "2 USD", "--json"), datetime.now(UTC)
    spent = ended.json["model"]["cost_usd"]
    assert (ended.code, ended.err, spent > 0) == (0, "", True)
    assert month_so_far(priced.path, 2.0, now).spent == pytest.approx(spent)
    assert cli("log", priced.path, "--stats", "--json").json["month_usd"] == pytest.approx(spent)
    assert "this month" in cli("log", priced.path, "--stats").out
    execute(priced.path, "UPDATE runs SET report = NULL, outcome = 'interrupted'")
    assert month_so_far(priced.path, 2.0, now).spent == pytest.approx(spent)


def test_the_smaller_limit_counts(priced: Agent, cli: Cli) -> None:
    ended = night(cli, priced, "2 USD/month", "--max-cost", "0")
    assert "the budget of 0 USD has no room" in ended.err
    spend(priced, 2.0, timestamp(datetime.now(UTC)))
    assert "a month" in night(cli, priced, "2 USD/month", "--max-cost", "1").err


def test_a_monthly_budget_requires_a_known_price(priced: Agent, cli: Cli) -> None:
    arguments = ("--model", "openai/scripted", setting("monthly_budget", "2 USD"))
    ended = cli("maintain", priced.path, *arguments)
    ended.ends(1, "The price of 'openai/scripted' is unknown", "max_tokens or max_calls")
    assert priced.server.asked == []
    assert rows(priced.path, "SELECT * FROM runs") == []


@pytest.mark.parametrize("budget", ["2", "2 EUR", "2 USD/year", "-1 USD/month"])
def test_a_malformed_budget_exits_2(budget: str, memory_file: Path, cli: Cli) -> None:
    configure(memory_file, monthly_budget=budget)
    cli("maintain", memory_file, "--model", PRICED).ends(2, "is not an amount such as 2 USD")
    assert rows(memory_file, "SELECT * FROM runs") == []


def test_an_unanswered_call_counts_by_its_estimate(priced: Agent, cli: Cli) -> None:
    priced.server.responder = lambda _: SILENT
    configure(priced.path, api_base=priced.server.base, checker="none", max_time=1.5)
    ended, now = night(cli, priced, "2 USD", "--json"), datetime.now(UTC)
    used = ended.json["model"]
    assert (ended.code, used["cost_usd"]) == (3, None)
    estimate = 0.15 * used["prompt_tokens"] + 0.6 * used["completion_tokens"]
    assert 0 < month_so_far(priced.path, 2.0, now).spent == pytest.approx(estimate / 1e6)


def test_an_unreachable_server_costs_nothing(
    priced: Agent, cli: Cli, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tenacity.wait_exponential", lambda **_: tenacity.wait_none())
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))
        configure(priced.path, api_base=f"http://127.0.0.1:{unused.getsockname()[1]}/v1")
        ended = night(cli, priced, "2 USD", "--json").ends(1, "the call to the model failed")
    assert ended.json["model"]["calls"] > 0
    assert month_so_far(priced.path, 2.0, datetime.now(UTC)).spent == 0.0


def test_a_limit_below_the_price_of_a_call_names_that_price(priced: Agent, cli: Cli) -> None:
    small = cli("maintain", priced.path, "--model", PRICED, "--max-cost", 0.0001)
    line, todo = small.err.splitlines()
    needed = re.search(r"no room for another call of about (0\.\d{4}) USD", line)
    assert needed is not None
    assert todo == "What is left of the budget does not cover another call: raise the limit."
    enough = float(needed[1]) + 0.0001
    assert cli("maintain", priced.path, "--model", PRICED, "--max-cost", enough).code == 3
    assert len(priced.server.asked) >= 1
