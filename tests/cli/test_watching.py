"""Logs in JSON Lines, metrics for Prometheus, and shell completion."""

from __future__ import annotations

import json
import os
import sys
import threading
from pathlib import Path
from typing import Any

import pytest
from cli_calls import SLOWWAVE, Cli, in_a_process
from commands import configure, setting
from metrics import metrics
from model_nights import Agent, near_pairs
from model_server import refuses
from nights import daily, execute, fill
from prometheus_client.parser import text_string_to_metric_families
from readme import ANSWERS, RETOLD

from slowwave.store.lock import maintenance_lock

_TWINS = (
    "Billing listens on port 8080.",
    "Billing listens on port 8080",
    "Refunds need a second signature.",
    "Refunds need a second signature",
)
_PINNED = ("Helvi backs the wiki up at 02:30.", "Helvi backs the wiki up at 02:30")


@pytest.fixture
def filled(memory_file: Path) -> Path:
    """Provide three pairs of duplicates, one with a pinned memory: a risk."""
    fill(memory_file, [*daily(_TWINS, "twin"), *daily(_PINNED[:1], "pinned", pinned=True)])
    fill(memory_file, daily(_PINNED[1:], "again"))
    return memory_file


def events(err: str) -> list[dict[str, Any]]:
    """Return the lines of a log, each of which is an object of JSON."""
    return [json.loads(line) for line in err.splitlines()]


# ---- lines ----


def test_log_lines_contain_no_text_of_a_memory(filled: Path, cli: Cli) -> None:
    ended = cli("maintain", filled, setting("log_format", "json"), "--json").ends(0)
    assert ended.json["command"] == "maintain"
    lines = events(ended.err)
    assert all({"time", "level", "event"} <= line.keys() for line in lines)
    assert [line["event"] for line in lines if line["event"] != "stage"] == [
        *("begin", "proposal", "proposal", "proposal", "outcome", "end")
    ]
    outcome = next(line for line in lines if line["event"] == "outcome")
    assert outcome["states"] == {"applied": 3}
    assert outcome["active"] == {"before": 6, "after": 3}
    assert lines[-1]["code"] == 0
    assert "Helvi" not in ended.err
    assert "wiki" not in ended.err


def test_log_format_is_a_setting(filled: Path, cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    (filled.parent / "slowwave.toml").write_text('log_format = "json"\n')
    assert events(cli("maintain", filled, "--dry-run").err)
    (filled.parent / "slowwave.toml").unlink()
    monkeypatch.setenv("SLOWWAVE_LOG_FORMAT", "json")
    assert events(cli("maintain", filled, "--dry-run").err)
    assert "Error: " in cli("maintain", filled, setting("log_format", "xml")).err


def test_errors_notes_and_usage_errors_are_log_lines(filled: Path, cli: Cli) -> None:
    log = (setting("log_format", "json"),)
    with maintenance_lock(filled):
        ended = cli("maintain", filled, *log)
    *_, end, error = events(ended.err)
    assert (ended.code, end["event"], end["code"]) == (11, "end", 11)
    assert (error["event"], error["level"], error["code"]) == ("error", "error", 11)
    (wrong,) = events(cli("maintain", filled, "--phase", "sleep", *log).err)
    assert (wrong["level"], wrong["code"]) == ("error", 2)
    (unknown,) = events(cli("maintain", filled, "--no-such", *log).err)
    assert unknown["code"] == 2
    remark = events(cli("maintain", filled, "--phase", "purge", "--full", *log).err)[0]
    assert (remark["event"], "no effect" in remark["message"]) == ("note", True)


def test_a_pending_proposal_is_not_logged_as_an_error(memory_file: Path, cli: Cli) -> None:
    cli("import", memory_file, RETOLD)
    ended = cli(
        *("maintain", memory_file, setting("replay", ANSWERS), setting("log_format", "json")),
        *("--quiet", "--review", "always"),
    )
    lines = events(ended.err)
    outcome = next(line for line in lines if line["event"] == "outcome")
    assert outcome["states"].get("pending")
    assert {line["level"] for line in lines if line.get("state") == "pending"} == {"info"}


def test_a_closed_log_does_not_stop_the_run(filled: Path, cli: Cli) -> None:
    ours, theirs = os.pipe()
    os.close(ours)
    in_json = {**os.environ, "SLOWWAVE_LOG_FORMAT": "json"}
    with os.fdopen(theirs, "wb") as broken:
        ended = in_a_process(*SLOWWAVE, "maintain", filled, stderr=broken, env=in_json)
    ended.ends(0).says("3 applied")


# ---- metrics ----


def test_metrics_contain_the_results_of_a_run(filled: Path, cli: Cli, tmp_path: Path) -> None:
    path = tmp_path / "slowwave.prom"
    arguments = ("maintain", filled, setting("metrics_file", path))
    assert cli(*arguments, "--review", "risky").code == 0
    collected = metrics(path)
    assert collected["slowwave_run_exit_code"] == {(): 0}
    assert collected["slowwave_active_memories"] == {("before",): 6, ("after",): 4}
    assert collected["slowwave_proposals"][("applied",)] == 2
    assert collected["slowwave_proposals"][("failed",)] == 0
    assert collected["slowwave_waiting_for_review"] == {(): 1}
    assert collected["slowwave_run_timestamp_seconds"][()] > 1_700_000_000
    # The next night does nothing; what waits, waits still.
    assert cli(*arguments).code == 0
    assert metrics(path)["slowwave_proposals"][("applied",)] == 0
    assert metrics(path)["slowwave_waiting_for_review"] == {(): 1}
    assert [path.name for path in tmp_path.glob("slowwave.prom*")] == ["slowwave.prom"]


def test_metrics_contain_the_code_of_a_failed_run(filled: Path, cli: Cli, tmp_path: Path) -> None:
    path = tmp_path / "slowwave.prom"
    there, missing = str(filled), str(tmp_path / "missing.db")
    cli("maintain", there, missing, setting("metrics_file", path)).ends(10)
    families = text_string_to_metric_families(path.read_text("utf-8"))
    samples = [sample for family in families for sample in family.samples]
    codes = [each for each in samples if each.name == "slowwave_run_exit_code"]
    assert {each.labels["file"]: each.value for each in codes} == {there: 0, missing: 10}


def test_metrics_replace_no_other_file(filled: Path, cli: Cli, tmp_path: Path) -> None:
    before = filled.read_bytes()
    message = "does not contain metrics of slowwave"
    cli("maintain", filled, setting("metrics_file", filled)).ends(1, message)
    cli("maintain", filled, setting("metrics_file", tmp_path / "no" / "x.prom")).ends(1)
    cli("maintain", filled, setting("metrics_file", tmp_path / "x.txt")).ends(2, "in .prom")
    assert filled.read_bytes() == before
    path = tmp_path / "dry.prom"
    assert cli("maintain", filled, "--dry-run", setting("metrics_file", path)).code == 0
    assert not path.exists()


def test_metrics_that_cannot_be_written_exit_3_and_keep_the_run(
    filled: Path, cli: Cli, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "metrics" / "slowwave.prom"
    path.parent.mkdir()
    # A folder has the name of the temporary file.
    path.with_name(f"slowwave.prom.{os.getpid()}.{threading.get_ident()}").mkdir()
    cli("maintain", filled, setting("metrics_file", path)).ends(3, "Cannot write").says("3 applied")


def test_a_damaged_text_is_a_metric_of_each_run(filled: Path, cli: Cli, tmp_path: Path) -> None:
    path = tmp_path / "slowwave.prom"
    command = ("maintain", filled, "--quiet", setting("metrics_file", path))
    for number in (0, 1, 1):
        assert cli(*command).code == 0
        assert metrics(path)["slowwave_damaged_memories"] == {(): number}
        execute(filled, "UPDATE memories SET content_hash = 'x' WHERE id = 'pinned-00'")


def test_metrics_contain_gates_and_failed_questions(agent: Agent, cli: Cli, tmp_path: Path) -> None:
    path = tmp_path / "slowwave.prom"
    agent.remember(near_pairs(1))
    agent.server.responder = lambda _: refuses(401, "revoked")
    configure(agent.path, api_base=agent.server.base, metrics_file=str(path))
    arguments = ("maintain", agent.path, "--model", "openai/scripted")
    assert cli(*arguments).code == 1
    assert metrics(path)["slowwave_model_questions_unanswered"] == {(): 1}
    assert set(metrics(path)["slowwave_gate_closed"].values()) == {0}
    assert cli(*arguments, "--no-enabled").code == 0
    closed = metrics(path)["slowwave_gate_closed"]
    assert closed == {("enabled",): 1, ("min_interval",): 0, ("min_new",): 0}


# ---- completion ----


def test_bash_completes_commands_options_and_their_values(tmp_path: Path) -> None:
    script = tmp_path / "complete.sh"
    program = tmp_path / "bin" / "slowwave"
    program.parent.mkdir()
    program.write_text(f'#!/bin/sh\nexec {sys.executable} -m slowwave.cli "$@"\n')
    program.chmod(0o755)
    script.write_text(
        'eval "$(_SLOWWAVE_COMPLETE=source_bash slowwave)"\n'
        "complete -p slowwave\n"
        'try() { COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); COMPREPLY=(); '
        '_slowwave_completion slowwave; echo "${COMPREPLY[@]}"; }\n'
        "try slowwave rev\ntry slowwave maintain --exit\n"
        "try slowwave maintain x.db --review ''\n"
    )
    path = {**os.environ, "PATH": f"{program.parent}:{os.environ['PATH']}"}
    ended = in_a_process("bash", "--norc", script, env=path)
    registered, command, option, values = ended.out.splitlines()
    assert "slowwave" in registered, ended.err
    assert command.split() == ["review"]
    assert option.split() == ["--exit-code"]
    assert values.split() == ["always", "risky", "never"]
