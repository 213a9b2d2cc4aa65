"""Recorded answers: written line by line, and replayed without a model."""

from __future__ import annotations

import hashlib
import json
import shutil
import stat
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from cli_calls import Cli, Ended
from commands import setting
from model_nights import KEY, Agent, a_fact, a_pair, a_rule, facts
from model_server import Asked, Reply, in_turn, oracle, says
from nights import unchanged

from slowwave.consolidation.model.recording import read_recording
from slowwave.store.file import create_file
from slowwave.store.records import json_text

Memories = list[dict[str, Any]]

# One question per window.
NO_CHECKER = (setting("checker", "none"),)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """Return the path of the recording."""
    return tmp_path / "answers.jsonl"


def another(agent: Agent, memories: Memories) -> Agent:
    """Return an agent with these memories in a new file, in its own folder."""
    folder = agent.path.parent / f"other-{len(list(agent.path.parent.iterdir()))}"
    folder.mkdir()
    create_file(folder / "memory.db")
    agent_of_folder = Agent(folder / "memory.db", agent.embedder, agent.server, agent.vectors)
    agent_of_folder.remember(memories)
    return agent_of_folder


def maintained(cli: Cli, agent: Agent, *arguments: object) -> Ended:
    """Run a night by the command line, for JSON."""
    return cli("maintain", agent.path, "--consolidate", "--json", *arguments)


def asking(agent: Agent) -> tuple[object, ...]:
    """Return the options that ask the scripted server, one question per window."""
    return ("--model", "openai/scripted", setting("api_base", agent.server.base), *NO_CHECKER)


def recorded(cli: Cli, agent: Agent, path: Path, *options: object) -> Ended:
    """Run a night, and record it."""
    return maintained(cli, agent, *asking(agent), setting("record", path), *options)


def replayed(cli: Cli, agent: Agent, path: Path, *options: object) -> Ended:
    """Run a night with recorded answers."""
    return maintained(cli, agent, setting("replay", path), *NO_CHECKER, *options)


def lines(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text("utf-8").splitlines()]


def missing(path: Path) -> Path:
    return path.with_name(f"{path.name}.missing")


def outcomes(ended: Ended) -> list[tuple[Any, ...]]:
    """Return the outcome of each proposal, sorted: answers arrive in any order."""
    names = ("operation", "sources", "state", "why", "draft")
    return sorted(tuple(proposal[name] for name in names) for proposal in ended.json["proposals"])


def states(ended: Ended) -> set[str]:
    return {proposal["state"] for proposal in ended.json["proposals"]}


def three_tenants() -> Memories:
    """Return memories of three tenants, for each kind of result: three questions."""
    return [
        memory | {"tenant": tenant}
        for tenant, memories in (("one", a_fact()), ("two", a_pair()), ("three", a_rule()))
        for memory in memories
    ]


def test_prompts_are_recorded_with_answer_and_usage(agent: Agent, path: Path, cli: Cli) -> None:
    agent.remember(three_tenants())
    ended = recorded(cli, agent, path, setting("concurrency", 1))
    assert (ended.code, ended.err) == (0, "")
    assert len(lines(path)) == len(agent.server.asked) == 3
    by_prompt = {json.dumps(line["messages"]): line for line in lines(path)}
    for asked, (prompt, answer) in zip(agent.server.asked, agent.server.taken, strict=True):
        line = by_prompt[json.dumps(asked.messages)]
        text = json_text(["openai/scripted", asked.messages])
        assert line["key"] == hashlib.sha256(text.encode()).hexdigest()
        assert list(line) == [
            *("key", "model", "messages", "answer"),
            *("prompt_tokens", "completion_tokens", "cost_usd"),
        ]
        assert (line["prompt_tokens"], line["completion_tokens"]) == (prompt, answer)
        assert line["model"] == "openai/scripted"
    # Prompts contain memories.
    assert stat.S_IMODE(path.stat().st_mode) == 0o600


def test_a_replay_has_the_same_results_without_a_model(agent: Agent, path: Path, cli: Cli) -> None:
    agent.remember(three_tenants())
    first = recorded(cli, agent, path)
    agent.server.forget()
    again = replayed(cli, another(agent, three_tenants()), path)
    assert (again.code, again.err) == (0, "")
    assert outcomes(again) == outcomes(first)
    assert agent.server.asked == []
    assert not missing(path).exists()
    assert again.json["model"] == {
        **{"writer": "model", "name": "openai/scripted", "checker": None, "calls": 0, "cached": 3},
        **{"prompt_tokens": 0, "completion_tokens": 0, "cost_usd": 0.0},
        **{"refused": None, "unanswered": 0, "why": None},
    }


def test_a_replay_needs_neither_litellm_nor_a_key_nor_a_budget(
    agent: Agent, path: Path, cli: Cli, monkeypatch: pytest.MonkeyPatch
) -> None:
    agent.remember(three_tenants())
    recorded(cli, agent, path)
    copy = another(agent, three_tenants())
    for name in ("litellm", "openai"):
        monkeypatch.setitem(sys.modules, name, None)  # importing it fails
    limits = (setting("max_calls", 0), setting("max_tokens", 0), "--max-cost", 0)
    ended = replayed(cli, copy, path, *limits)
    assert (ended.code, ended.err) == (0, "")
    assert len(copy.rows("SELECT * FROM derivations")) == 3


def test_prompts_without_an_answer_are_missing(agent: Agent, path: Path, cli: Cli) -> None:
    agent.remember(facts(1))
    recorded(cli, agent, path)
    before = path.read_bytes()
    ended = replayed(cli, another(agent, facts(3)), path)
    assert ended.code == 3
    assert [proposal["state"] for proposal in ended.json["proposals"]] == ["applied"]
    questions = ended.json["questions"]
    whys = [question["why"] for question in questions if question["state"] == "failed"]
    assert len(whys) == 2
    assert all(str(missing(path)) in why for why in whys)
    assert [set(line) for line in lines(missing(path))] == [{"key", "model", "messages"}] * 2
    assert path.read_bytes() == before
    assert stat.S_IMODE(missing(path).stat().st_mode) == 0o600


def test_a_person_can_answer_the_missing_prompts(agent: Agent, path: Path, cli: Cli) -> None:
    agent.remember(facts(2))
    path.touch()
    for _ in range(2):
        replayed(cli, agent, path, "--model", "openai/scripted")
    unknown = lines(missing(path))
    assert len(unknown) == 2
    recorded(cli, another(agent, facts(2)), path)
    answers = {line["key"]: line["answer"] for line in lines(path)}
    answered = [line | {"answer": answers[line["key"]]} for line in unknown]
    path.write_text("".join(json.dumps(line) + "\n" for line in answered))
    ended = replayed(cli, agent, path)
    assert [proposal["state"] for proposal in ended.json["proposals"]] == ["applied"] * 2
    assert not missing(path).exists()


def test_a_dry_run_records_nothing(agent: Agent, path: Path, cli: Cli) -> None:
    agent.remember(facts(1))
    assert recorded(cli, agent, path, "--dry-run").code == 0
    assert not path.exists()
    recorded(cli, agent, path)
    missing(path).write_text("of an earlier run\n")
    ended = replayed(cli, another(agent, facts(1)), path, "--dry-run")
    assert ended.json["model"]["name"] == "openai/scripted"
    assert missing(path).read_text() == "of an earlier run\n"


def test_record_with_replay_asks_unknown_prompts(agent: Agent, path: Path, cli: Cli) -> None:
    agent.remember(facts(1))
    recorded(cli, agent, path)
    agent.server.forget()
    options = (setting("replay", path), setting("max_calls", 2))
    ended = recorded(cli, another(agent, facts(3)), path, *options)
    assert states(ended) == {"applied"}
    assert len(agent.server.asked) == ended.json["model"]["calls"] == 2
    assert len({line["key"] for line in lines(path)}) == len(lines(path)) == 3
    assert not missing(path).exists()


def test_replayed_answers_are_recorded_in_another_file(agent: Agent, path: Path, cli: Cli) -> None:
    agent.remember(facts(2))
    recorded(cli, agent, path)
    copy = path.with_name("copy.jsonl")
    recorded(cli, another(agent, facts(2)), copy, setting("replay", path))
    assert sorted(copy.read_text().splitlines()) == sorted(path.read_text().splitlines())


def test_answers_from_the_memory_file_are_recorded(agent: Agent, path: Path, cli: Cli) -> None:
    agent.remember(facts(2))
    run_id = maintained(cli, agent, *asking(agent)).json["run"]
    assert cli("undo", agent.path, run_id).code == 0
    agent.server.forget()
    recorded(cli, agent, path, "--reconsider")
    assert agent.server.asked == []
    assert len(lines(path)) == 2
    assert states(replayed(cli, another(agent, facts(2)), path)) == {"applied"}


def half_a_letter() -> str:
    """Return a completion whose text contains half a surrogate pair."""
    choice = {"index": 0, "message": {"role": "assistant", "content": "\ud83d"}}
    head = {"id": "c", "object": "chat.completion", "created": 1, "model": "m"}
    return json.dumps(head | {"choices": [choice | {"finish_reason": "stop"}]})


@pytest.mark.parametrize("bad", [says("no JSON"), Reply(half_a_letter())], ids=["text", "no UTF-8"])
def test_unreadable_answers_are_recorded(agent: Agent, path: Path, cli: Cli, bad: Reply) -> None:
    agent.remember(a_fact())
    agent.server.responder = in_turn(bad, then=oracle)
    first = recorded(cli, agent, path)
    assert states(first) == {"applied"}
    assert ["groups" in line["answer"] for line in lines(path)] == [False, True]
    assert outcomes(replayed(cli, another(agent, a_fact()), path)) == outcomes(first)


@pytest.mark.parametrize("end", ['{"key":"half a li', '{"k', "\n\n", ""])
def test_a_truncated_recording_is_continued(agent: Agent, path: Path, cli: Cli, end: str) -> None:
    agent.remember(facts(1))
    recorded(cli, agent, path)
    complete = path.read_bytes()
    before = complete[: -1 if not end else None] + end.encode()
    path.write_bytes(before)
    assert recorded(cli, another(agent, facts(2)), path).code == 0
    assert path.read_bytes().startswith(before)
    assert len(read_recording(path).answers) == 2


def of_two_models(path: Path) -> None:
    line = {"messages": [], "answer": ""}
    path.write_text("".join(json.dumps(line | {"model": name}) + "\n" for name in "ab"))


def writing(text: str) -> Callable[[Path], object]:
    return lambda path: path.write_text(text)


BAD: dict[str, tuple[Callable[[Path], object], str]] = {
    "missing": (lambda path: None, "Cannot read"),
    "a folder": (lambda path: path.mkdir(), "Cannot read"),
    "no JSON": (writing("Dear diary\n"), "Line 1"),
    "no JSON and no line end": (writing("Dear diary"), "Line 1"),
    "no answer": (writing('{"model": "m", "messages": []}\n'), "answer: Field required"),
    "another key": (
        writing('{"key": "0", "model": "m", "messages": [], "answer": ""}\n'),
        "its key is that of another prompt",
    ),
    "two models": (of_two_models, "several models: a, b"),
    "empty": (lambda path: path.touch(), "--model"),
}


@pytest.mark.parametrize(("make", "message"), BAD.values(), ids=BAD.keys())
def test_an_invalid_recording_exits_2_and_changes_nothing(
    agent: Agent, path: Path, cli: Cli, make: Callable[[Path], object], message: str
) -> None:
    agent.remember(facts(1))
    make(path)
    with unchanged(agent.picture):
        assert replayed(cli, agent, path).ends(2, message).out == ""


UNWRITABLE = {
    "a folder": (BAD["a folder"][0], "answers.jsonl", "Cannot write"),
    "no JSON": (BAD["no JSON"][0], "answers.jsonl", "Line 1 of"),
    "in no folder": (BAD["missing"][0], "answers.jsonl/none/answers.jsonl", "Cannot write"),
    "the memory file": (BAD["missing"][0], "memory.db", "Cannot write"),
    "a device": (BAD["missing"][0], "/dev/full", "it is not a regular file"),
}


@pytest.mark.parametrize(("make", "name", "why"), UNWRITABLE.values(), ids=UNWRITABLE.keys())
def test_an_unwritable_recording_exits_2_before_any_call(
    agent: Agent, path: Path, cli: Cli, make: Callable[[Path], object], name: str, why: str
) -> None:
    agent.remember(facts(1))
    make(path)
    content = path.read_bytes() if path.is_file() else b""
    with unchanged(agent.picture):
        ended = recorded(cli, agent, path.parent / name)
    assert (ended.code, ended.out) == (2, "")
    assert why in json.loads(ended.err)["error"]
    assert agent.server.asked == []
    assert not path.is_file() or path.read_bytes() == content


def test_a_recording_that_fails_loses_no_answer(agent: Agent, tmp_path: Path, cli: Cli) -> None:
    agent.remember(facts(2))
    folder = tmp_path / "records"
    folder.mkdir()

    def respond(asked: Asked) -> Reply:
        shutil.rmtree(folder, ignore_errors=True)
        return oracle(asked)

    agent.server.responder = respond
    ended = recorded(cli, agent, folder / "answers.jsonl")
    assert states(ended.ends(3, "Not all answers were recorded in")) == {"applied"}
    assert len(agent.rows("SELECT * FROM answers")) == 2


def escaped(key: str) -> str:
    return "".join(f"\\u{ord(letter):04x}" for letter in key)


@pytest.mark.parametrize("spell", [str, str.upper, escaped], ids=["as is", "upper", "escaped"])
def test_no_key_is_written_to_a_recording_a_file_or_a_report(
    agent: Agent, path: Path, cli: Cli, monkeypatch: pytest.MonkeyPatch, spell: Callable[[str], str]
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    agent.remember(facts(1))
    claim = f'{{"claims": [{{"text": "The key is {spell(KEY)}.", "sources": ["m1"]}}]}}'
    agent.server.responder = in_turn(says(claim), then=oracle)
    ended = recorded(cli, agent, path)
    answers = [line["answer"] for line in lines(path)]
    assert "$OPENAI_API_KEY" in answers[0]
    # Also in an answer that is parsed.
    texts = [ended.out, ended.err, path.read_text(), *map(str, map(json.loads, answers))]
    texts += [str(row) for row in agent.rows("SELECT * FROM proposals")]
    texts += [str(row) for row in agent.rows("SELECT * FROM answers")]
    assert [text for text in texts if KEY.lower() in text.lower() or escaped(KEY) in text] == []
