"""`model-check`, and the same check at the start of a run."""

from __future__ import annotations

import json
import socket
import sys
from pathlib import Path

import pytest
import tenacity
from cli_calls import Cli, in_a_process
from commands import setting
from model_nights import Agent, near_pairs
from model_server import ModelServer, answering, approval, groups, refuses, says
from nights import unchanged

from slowwave.consolidation.errors import ModelError
from slowwave.consolidation.model.known_models import EXAMPLES, price_of, refuse_unready
from slowwave.consolidation.model.litellm_client import load_litellm
from slowwave.consolidation.model.litellm_model import Endpoint
from slowwave.consolidation.model.samples import ask_samples

OPENAI = ("--model", "openai/scripted")
HEAVY = ("sentence_transformers", "torch", "onnxruntime", "sklearn")


def check(server: ModelServer, *arguments: object) -> tuple[object, ...]:
    return ("model-check", *OPENAI, "--api-base", server.base, *arguments)


def test_a_model_that_answers_both_questions_is_ready(cli: Cli, server: ModelServer) -> None:
    ended = cli(*check(server, "--json"))
    assert (ended.code, ended.err) == (0, "")
    report = ended.json
    assert (report["ready"], report["why"], report["checker"]) == (True, None, "openai/scripted")
    assert [each["kind"] for each in report["answers"]] == ["write", "check"]
    assert all(each["why"] is None and each["seconds"] >= 0 for each in report["answers"])
    assert report["window"]["prompt_tokens"] > 6_000
    assert report["window"]["cost_usd"] is None
    assert [asked.kind for asked in server.asked] == ["write", "check"]
    assert {asked.form for asked in server.asked} == {"json_schema"}


def test_model_check_prints_the_price_of_a_window(cli: Cli, server: ModelServer) -> None:
    shown = cli("model-check", "--model", "openai/gpt-4o-mini", "--api-base", server.base)
    write, read, window = shown.out.splitlines()
    assert write.startswith("write: openai/gpt-4o-mini, answered in the requested format")
    assert read.startswith("check: ")
    assert "USD, with checks and repairs up to" in window
    unknown = cli(*check(server)).out.splitlines()[-1]
    assert "price unknown, so max_cost and monthly_budget refuse it" in unknown


def test_only_a_configured_checker_is_asked_to_check(cli: Cli, server: ModelServer) -> None:
    report = cli(*check(server, "--json", setting("checker", "openai/reader"))).json
    assert [each["model"] for each in report["answers"]] == ["openai/scripted", "openai/reader"]
    server.forget()
    report = cli(*check(server, "--json", setting("checker", "none"))).json
    assert (report["checker"], len(server.asked)) == (None, 1)


def test_an_answer_in_another_form_is_requested_again(cli: Cli, server: ModelServer) -> None:
    server.responder = lambda _: says("Certainly! Both are about backups.")
    (line,) = cli(*check(server)).ends(1).err.splitlines()
    assert line.startswith("Error: openai/scripted cannot be used to write: ")
    assert len(server.asked) == 2
    ended = cli(*check(server, "--json"))
    assert (ended.json["ready"], ended.code, json.loads(ended.err)["code"]) == (False, 1, 1)


@pytest.mark.parametrize("key", ["sk-abc\r", "sk-abc ", "ключ"])
def test_a_key_that_cannot_be_sent_is_named(
    cli: Cli, server: ModelServer, monkeypatch: pytest.MonkeyPatch, key: str
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", key)
    ended = cli(*check(server)).ends(1, "The key in OPENAI_API_KEY has a character that no key has")
    assert (key.strip() in ended.err, server.asked) == (False, [])


@pytest.mark.parametrize("base", ["foo", "ftp://127.0.0.1/", "http://", "127.0.0.1:8000"])
def test_an_address_that_is_not_a_url_is_wrong_usage(
    cli: Cli, base: str, memory_file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SLOWWAVE_API_BASE", base)
    for command in (("model-check",), ("maintain", memory_file)):
        cli(*command, *OPENAI).ends(2, "--api-base must be a URL (http:// or https://), not")


@pytest.mark.parametrize(("base", "key"), [("foo", "sk-abc"), (None, "sk-abc\r")])
def test_a_request_that_could_not_be_sent_used_no_tokens(
    base: str | None, key: str, server: ModelServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", key)
    endpoint = Endpoint("openai/scripted", base or server.base, first_wait_s=0)
    (answer,), _ = ask_samples(endpoint, None)
    assert answer.why is not None
    assert (answer.usage.prompt_tokens, answer.usage.completion_tokens) == (0, 0)
    assert server.asked == []


def test_an_unreadable_check_or_a_refusal_is_a_single_line(cli: Cli, server: ModelServer) -> None:
    server.responder = answering(
        lambda _: groups(), lambda asked: approval(asked) | {"groups": "all fine"}
    )
    (line,) = cli(*check(server)).ends(1).err.splitlines()
    assert "cannot be used to check" in line
    server.forget()
    server.responder = lambda _: refuses(401, "not for you")
    (line,) = cli(*check(server)).ends(1).err.splitlines()
    assert ("not for you" in line, len(server.asked)) == (True, 1)


@pytest.mark.parametrize("model", ["openai/scripted", "ollama/scripted"])
def test_an_address_that_cannot_be_reached_is_named(
    cli: Cli, model: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tenacity.wait_exponential", lambda **_: tenacity.wait_none())
    with socket.create_server(("127.0.0.1", 0)) as closed:
        address = f"127.0.0.1:{closed.getsockname()[1]}"
    base = f"http://user:pass@{address}/v1"
    ended = cli("model-check", "--model", model, "--api-base", base).ends(1, "at http://")
    assert (address in ended.err, "pass" in ended.err) == (True, False)


def test_the_config_file_names_the_model(cli: Cli, server: ModelServer, tmp_path: Path) -> None:
    config = tmp_path / "night.toml"
    config.write_text(f'model = "openai/scripted"\napi_base = "{server.base}"\nchecker = "none"\n')
    assert cli("model-check", "--config", config).code == 0
    assert len(server.asked) == 1


# ----------------------------------------------------------------- before a night


@pytest.mark.parametrize(
    ("command", "model", "message"),
    [
        ("maintain", "anthropic/claude-haiku-4-5", "Set ANTHROPIC_API_KEY."),
        ("maintain", "nowhere/nonsense", "litellm does not know the model 'nowhere/nonsense'."),
        ("model-check", "nonsense", "litellm does not know the model 'nonsense'."),
    ],
)
def test_unready_models_end_at_once(
    command: str, model: str, message: str, agent: Agent, cli: Cli, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("ANTHROPIC_API_KEY", raising=False)
    agent.remember(near_pairs(1))
    with unchanged(agent.picture):
        file = [agent.path] if command == "maintain" else []
        cli(command, *file, "--model", model).ends(1, message)


def test_an_unready_model_loads_litellm_and_nothing_else_heavy(memory_file: Path) -> None:
    code = (
        "import sys\nfrom slowwave.cli.app import run\n"
        f"code = run(['maintain', {str(memory_file)!r}, '--model', 'nowhere/nonsense'])\n"
        f"print(*[n for n in {(*HEAVY, 'litellm')!r} if n in sys.modules])\nsys.exit(code)"
    )
    ended = in_a_process(sys.executable, "-c", code).ends(1, "does not know the model")
    assert ended.out.splitlines()[-1] == "litellm"


def test_dry_runs_replays_and_gates_need_no_key(agent: Agent, cli: Cli, tmp_path: Path) -> None:
    agent.remember(near_pairs(1))
    night = ("maintain", agent.path, "--model", "nonsense")
    noted = cli(*night, "--dry-run").ends(0).err
    assert noted.count("slowwave model-check --model nonsense") == 1
    assert cli("maintain", agent.path, *OPENAI, "--dry-run").err == ""
    (tmp_path / "empty.jsonl").write_text("")
    replayed = cli(*night, setting("replay", tmp_path / "empty.jsonl"))
    assert "the recording does not know the question" in replayed.err
    cli(*night, "--dry-run", "--ask").ends(1, "litellm does not know")
    assert cli(*night, setting("enabled", "false")).code == 0


def test_known_and_local_models_are_ready_without_litellm() -> None:
    code = (
        "import os, sys\n"
        "from slowwave.consolidation.model.litellm_model import Endpoint\n"
        "from slowwave.consolidation.model.known_models import refuse_unready\n"
        "refuse_unready(Endpoint('openai/anything', 'http://127.0.0.1:1/v1'))\n"
        "refuse_unready(Endpoint('ollama/llama3.2', 'http://127.0.0.1:11434'))\n"
        "os.environ['OPENAI_API_KEY'] = 'sk-test'\n"
        "refuse_unready(Endpoint('openai/gpt-5-mini'))\n"
        "refuse_unready(Endpoint('gpt-5-mini'))\n"
        "assert 'litellm' not in sys.modules"
    )
    in_a_process(sys.executable, "-c", code).ends(0)


def test_a_local_model_needs_no_key() -> None:
    for model in ("ollama/llama3.2", "bedrock/some-model"):
        refuse_unready(Endpoint(model))
    with pytest.raises(ModelError, match="does not know"):
        refuse_unready(Endpoint("nonsense", "http://127.0.0.1:1/v1"))


@pytest.mark.parametrize("model", EXAMPLES)
def test_the_price_table_equals_that_of_litellm(model: str) -> None:
    litellm = load_litellm()

    asked = {"model": model, "prompt_tokens": 1_000, "completion_tokens": 100}
    assert price_of(model, 1_000, 100) == pytest.approx(sum(litellm.cost_per_token(**asked)))


def test_an_unlisted_price_is_unknown() -> None:
    assert price_of("openai/scripted", 1_000, 100) is None
    assert price_of("anthropic/gpt-5-mini", 1_000, 100) is None
