"""A program of the user as the model: its arguments, its answers, and what it leaves behind."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from cli_calls import Cli
from commands import setting
from model_nights import Agent, a_fact, answered, by_model, facts, only_question, states
from stand_ins import COST_USD, SERVED, StandIns, stand_ins

from slowwave.consolidation.errors import ModelError
from slowwave.consolidation.model.cli_model import ProgramModel
from slowwave.consolidation.model.model_writer import ModelWriter
from slowwave.consolidation.model.usage_limits import UsageLimits

PROGRAMS = ("cli:claude", "cli:codex")
HIDDEN = "secret-in-the-environment"


@pytest.fixture
def programs(tmp_path: Path) -> Iterator[StandIns]:
    """Provide both programs on the PATH."""
    with stand_ins(tmp_path / "programs") as installed:
        yield installed


def writer(
    model: str, limits: UsageLimits | None = None, concurrency: int = 1, timeout_s: float = 30.0
) -> ModelWriter:
    return ModelWriter(ProgramModel(model, timeout_s), concurrency, limits)


def value_of(option: str, started: dict[str, Any]) -> str:
    """Return the value of an option that a program was started with."""
    return str(started["arguments"][started["arguments"].index(option) + 1])


@pytest.mark.parametrize("model", [*PROGRAMS, "cli:claude/haiku", "cli:codex/gpt-5.5"])
def test_a_program_answers_all_questions(agent: Agent, programs: StandIns, model: str) -> None:
    agent.remember(a_fact())
    outcome = agent.sleep(writer(model))
    assert states(outcome) == {"applied": 1}
    (claim,) = by_model(outcome)[0].proposal.draft.claims
    served = f"{model} ({SERVED})" if "claude" in model else model
    assert (claim.written_by, claim.checked_by) == (served, served)
    calls = len(programs.started)
    assert outcome.usage.calls == calls == 2
    assert outcome.usage.prompt_tokens == 100 * calls
    assert outcome.usage.completion_tokens == 50 * calls
    cost = COST_USD * calls if "claude" in model else None
    assert outcome.usage.cost_usd == (None if cost is None else pytest.approx(cost))
    _, slash, wanted = model.partition("/")
    for each in programs.started:
        assert (value_of("--model", each) if slash else "") == wanted
        # The question comes by stdin, in an empty folder.
        assert "LeaseKeeper" in each["stdin"]
        assert "LeaseKeeper" not in json.dumps(each["arguments"])
        assert "LeaseKeeper" not in json.dumps(each["environment"])
        assert each["around"] == []
        assert not Path(each["folder"]).parent.exists()
    # The answers are kept: the same question is not asked twice.
    assert agent.rows("SELECT DISTINCT model FROM answers") == [{"model": model}]


def test_claude_runs_in_safe_mode_with_its_own_login(agent: Agent, programs: StandIns) -> None:
    agent.remember(a_fact())
    agent.sleep(writer("cli:claude"))
    for each in programs.started:
        assert "--safe-mode" in each["arguments"]
        assert value_of("--tools", each) == ""
        assert each["environment"]["HOME"] == str(programs.home)
        # Another folder would have no login; and a session around it is left out.
        assert {"CLAUDE_CONFIG_DIR", "CLAUDECODE"}.isdisjoint(each["environment"])


def test_codex_gets_a_folder_with_links_to_the_login_only(agent: Agent, programs: StandIns) -> None:
    agent.remember(a_fact())
    agent.sleep(writer("cli:codex"))
    for each in programs.started:
        assert each["home"] == {"auth.json": True, "auth.json.lock": True}
        assert not Path(each["environment"]["CODEX_HOME"]).exists()
        assert "token-of-the-user" not in json.dumps(each)
    login = programs.home / ".codex" / "auth.json"
    assert login.read_text() == '{"OPENAI_API_KEY": "token-of-the-user"}'


def test_without_a_login_file_codex_uses_its_own_folder(agent: Agent, programs: StandIns) -> None:
    (programs.home / ".codex" / "auth.json").unlink()
    agent.remember(a_fact())
    assert states(agent.sleep(writer("cli:codex"))) == {"applied": 1}
    assert all("CODEX_HOME" not in each["environment"] for each in programs.started)


def test_verbose_output_of_claude_is_read(agent: Agent, programs: StandIns) -> None:
    programs.play("verbose")
    agent.remember(a_fact())
    assert states(agent.sleep(writer("cli:claude"))) == {"applied": 1}


# What a program prints, what is reported, and whether every call would end that way.
FAILURES: list[tuple[str, dict[str, Any], str, bool]] = [
    ("claude", {"result": "Not logged in · Please run /login"}, "Please run /login", True),
    ("claude", {"result": "Invalid API key", "api_error_status": 401}, "key (HTTP 401)", True),
    ("claude", {"result": "An issue with the model", "api_error_status": 404}, "404", True),
    ("claude", {"result": "You've hit your session limit · resets 3pm"}, "resets 3pm", True),
    ("claude", {"result": "Credit balance is too low"}, "Credit balance", True),
    ("claude", {"result": "Overloaded", "api_error_status": 529}, "Overloaded (HTTP 529)", False),
    ("claude", {"result": "", "subtype": "success"}, "claude: it has no answer", False),
    ("codex", {"message": "unexpected status 401 Unauthorized"}, "401 Unauthorized", True),
    ("codex", {"message": "You’ve hit your usage limit. Try again later."}, "usage limit", True),
    (
        *("codex", {"message": '{"error": {"message": "The model nope does not exist"}}'}),
        *("codex: The model", True),
    ),
    ("codex", {"message": "stream disconnected before completion"}, "stream disconnected", False),
]


@pytest.mark.parametrize(("program", "printed", "why", "refuses"), FAILURES)
def test_a_failure_is_reported_and_a_refusal_ends_the_night(
    agent: Agent, programs: StandIns, program: str, printed: dict[str, Any], why: str, refuses: bool
) -> None:
    programs.play("error", result=printed, error=printed)
    agent.remember(facts(2))
    asking = writer(f"cli:{program}")
    outcome = agent.sleep(asking)
    assert why in str(outcome.asked[0].why)
    assert answered(outcome) == ({"failed": 1, "skipped": 1} if refuses else {"failed": 2})
    assert len(programs.started) == (1 if refuses else 2)
    assert str(asking.refused).startswith(f"{program}: ") is refuses
    assert outcome.usage.cost_usd == 0


@pytest.mark.parametrize("model", PROGRAMS)
@pytest.mark.parametrize("code", [0, 7])
def test_unreadable_output_is_reported_without_secrets(
    agent: Agent, programs: StandIns, monkeypatch: pytest.MonkeyPatch, model: str, code: int
) -> None:
    monkeypatch.setenv("SOME_API_KEY", HIDDEN)
    programs.play("garbage", code=code)
    agent.remember(a_fact())
    why = str(only_question(agent.sleep(writer(model))).why)
    assert ("its answer cannot be read" if code == 0 else "it ended with 7") in why
    assert "$SOME_API_KEY" in why
    assert HIDDEN not in why


@pytest.mark.parametrize("model", PROGRAMS)
def test_a_huge_answer_is_cut_off(agent: Agent, programs: StandIns, model: str) -> None:
    programs.play("huge")
    agent.remember(a_fact())
    assert "longer than 4,194,304 bytes" in str(only_question(agent.sleep(writer(model))).why)
    programs.wait_until_none_runs()
    assert programs.running() == []


@pytest.mark.parametrize(
    ("model", "limits", "timeout_s", "why"),
    [
        *((model, None, 2.0, "did not answer within 2 seconds") for model in PROGRAMS),
        ("cli:claude", UsageLimits(seconds=2.0), 30.0, " seconds"),
    ],
    ids=[*PROGRAMS, "at the end of the time"],
)
def test_a_hanging_program_is_killed_with_its_children(
    agent: Agent,
    programs: StandIns,
    model: str,
    limits: UsageLimits | None,
    timeout_s: float,
    why: str,
) -> None:
    programs.play("hang")
    agent.remember(a_fact())
    outcome = agent.sleep(writer(model, limits, timeout_s=timeout_s))
    assert why in str(only_question(outcome).why)
    programs.wait_until_none_runs()
    assert len(list((programs.folder / "pids").iterdir())) == 2
    assert programs.running() == []


def test_claude_gets_the_remaining_budget(agent: Agent, programs: StandIns) -> None:
    agent.remember(a_fact())
    outcome = agent.sleep(writer("cli:claude", UsageLimits(cost_usd=3.0)))
    assert states(outcome) == {"applied": 1}
    budgets = [float(value_of("--max-budget-usd", each)) for each in programs.started]
    assert budgets == [3.0, 3.0 - COST_USD]


def test_a_budget_that_claude_exceeds_ends_the_night(agent: Agent, programs: StandIns) -> None:
    programs.play("over budget", cost=0.9)
    agent.remember(facts(2))
    outcome = agent.sleep(writer("cli:claude", UsageLimits(cost_usd=1.0)))
    assert answered(outcome) == {"skipped": 2}
    assert outcome.usage.cost_usd == pytest.approx(0.9)
    assert len(programs.started) == 1


def test_codex_is_not_called_under_a_budget_in_usd(agent: Agent, programs: StandIns) -> None:
    agent.remember(a_fact())
    outcome = agent.sleep(writer("cli:codex", UsageLimits(cost_usd=3.0)))
    assert "price is unknown" in str(only_question(outcome).why)
    assert programs.started == []
    limited = agent.sleep(writer("cli:codex", UsageLimits(calls=1)))
    assert len(programs.started) == 1
    assert limited.usage.calls == 1


@pytest.mark.parametrize("model", ["cli:gemini", "cli:", "cli:claude/", "cli:claude/--help"])
def test_unknown_programs_are_refused(model: str) -> None:
    with pytest.raises(ModelError, match="not a supported program"):
        ProgramModel(model).open()


def test_a_missing_program_exits_1(agent: Agent, cli: Cli, programs: StandIns) -> None:
    agent.remember(a_fact())
    (programs.folder / "bin" / "claude").unlink()
    ended = cli("maintain", agent.path, "--model", "cli:claude")
    assert ended.ends(1, "no program 'claude' on the PATH", "Install Claude Code").out == ""


@pytest.mark.parametrize("lacking", ["its interpreter", "a folder for temporary files"])
def test_a_program_that_cannot_run_is_refused_once(
    agent: Agent, programs: StandIns, monkeypatch: pytest.MonkeyPatch, lacking: str
) -> None:
    if lacking == "its interpreter":
        (programs.folder / "bin" / "claude").write_text("#!/no/such/interpreter\n")
    else:
        monkeypatch.setattr(tempfile, "tempdir", "/no/such/folder")
    agent.remember(facts(2))
    asking = writer("cli:claude")
    outcome = agent.sleep(asking)
    assert answered(outcome) == {"failed": 1, "skipped": 1}
    assert "claude cannot be run" in str(asking.refused)


@pytest.mark.parametrize(("settings", "most"), [((), 2), ((setting("concurrency", 3),), 3)])
def test_two_programs_run_at_a_time_by_default(
    agent: Agent, cli: Cli, programs: StandIns, settings: tuple[object, ...], most: int
) -> None:
    programs.play("slow", seconds=2.0)
    agent.remember(facts(3))
    night = ("maintain", agent.path, "--model", "cli:claude", "--dry-run", "--ask")
    assert cli(*night, setting("checker", "none"), *settings).code == 0
    began = [each["began"] for each in programs.started]
    assert sum(moment < began[0] + 1.5 for moment in began) == most


def test_an_interrupted_night_kills_its_programs(agent: Agent, programs: StandIns) -> None:
    programs.play("hang")
    agent.remember(facts(2))
    command = [sys.executable, "-m", "slowwave.cli", "maintain", str(agent.path)]
    with subprocess.Popen(
        [*command, "--model", "cli:claude"], stdout=subprocess.PIPE, stderr=subprocess.PIPE
    ) as night:
        until = time.monotonic() + 60
        while len(list((programs.folder / "pids").iterdir())) < 4:
            assert night.poll() is None and time.monotonic() < until
            time.sleep(0.05)
        night.send_signal(signal.SIGTERM)
        night.communicate(timeout=30)
    assert night.returncode == 128 + signal.SIGTERM
    programs.wait_until_none_runs()
    assert programs.running() == []
    assert [each for each in programs.started if Path(each["folder"]).exists()] == []
