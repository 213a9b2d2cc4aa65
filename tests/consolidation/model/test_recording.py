"""Answers on record: written line by line, and answered from there without a model."""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import stat
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from cli_calls import Cli, Ended
from commands import setting, split
from model_nights import (
    KEY,
    UNTOUCHED,
    Agent,
    a_fact,
    a_pair,
    a_rule,
    facts,
)
from model_server import Asked, Reply, in_turn, oracle, says
from nights import picture

from slowwave.consolidation.model.recording import read_recording
from slowwave.store.file import create_file

# Nobody checks what is written: one question a window.
UNREAD = (setting("checker", "none"),)


@pytest.fixture
def record(tmp_path: Path) -> Path:
    return tmp_path / "answers.jsonl"


def another(agent: Agent) -> Agent:
    """Return an agent with a new file, in a folder of its own."""
    folder = agent.path.parent / f"other-{len(list(agent.path.parent.iterdir()))}"
    folder.mkdir()
    create_file(folder / "memory.db")
    return Agent(folder / "memory.db", agent.embedder, agent.server, agent.vectors)


def maintained(cli: Cli, agent: Agent, *arguments: object) -> Ended:
    """Run a night by the command line, for JSON."""
    return cli("maintain", agent.path, "--consolidate", "--json", *arguments)


def asking(agent: Agent) -> tuple[object, ...]:
    """Return the options that ask the scripted server, one question a window."""
    return ("--model", "openai/scripted", setting("api_base", agent.server.base), *UNREAD)


def lines(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text("utf-8").splitlines()]


def missing(path: Path) -> Path:
    return path.with_name(f"{path.name}.missing")


def made(ended: Ended) -> list[tuple[Any, ...]]:
    """Return what a night made of each proposal; answers come in any order."""
    names = ("operation", "sources", "state", "why", "draft")
    return sorted(tuple(one[name] for name in names) for one in ended.json["proposals"])


def several() -> list[dict[str, Any]]:
    """Return memories of three tenants, of each kind that a model makes something of."""
    return [
        memory | {"tenant": tenant}
        for tenant, memories in (("one", a_fact()), ("two", a_pair()), ("three", a_rule()))
        for memory in memories
    ]


def recorded(cli: Cli, agent: Agent, record: Path) -> Ended:
    """Record a night of three questions."""
    agent.remember(several())
    ended = maintained(
        cli, agent, *asking(agent), setting("record", record), setting("concurrency", 1)
    )
    assert (ended.code, ended.err) == (0, "")
    return ended


def test_each_prompt_is_recorded_with_its_answer_and_what_it_took(
    agent: Agent, record: Path, cli: Cli
) -> None:
    recorded(cli, agent, record)
    assert len(lines(record)) == len(agent.server.asked) == 3
    by_prompt = {json.dumps(one["messages"]): one for one in lines(record)}
    for asked, (prompt, answer) in zip(agent.server.asked, agent.server.taken, strict=True):
        one = by_prompt[json.dumps(asked.messages)]
        text = json.dumps(
            ["openai/scripted", asked.messages],
            ensure_ascii=False,
            sort_keys=True,
            separators=(",", ":"),
        )
        assert one["key"] == hashlib.sha256(text.encode()).hexdigest()
        assert list(one) == [
            *("key", "model", "messages", "answer"),
            *("prompt_tokens", "completion_tokens", "cost_usd"),
        ]
        assert (one["prompt_tokens"], one["completion_tokens"]) == (prompt, answer)
        assert one["model"] == "openai/scripted"
    # Prompts hold memories.
    assert stat.S_IMODE(record.stat().st_mode) == 0o600


def test_a_recorded_night_is_the_same_again_without_a_model(
    agent: Agent, record: Path, cli: Cli
) -> None:
    first = recorded(cli, agent, record)
    other = another(agent)
    other.remember(several())
    agent.server.forget()
    again = maintained(cli, other, setting("replay", record), *UNREAD)
    assert (again.code, again.err) == (0, "")
    assert made(again) == made(first)
    assert agent.server.asked == []
    assert not missing(record).exists()
    assert again.json["model"] == {
        "writer": "model",
        "name": "openai/scripted",
        "checker": None,
        "calls": 0,
        "cached": len(lines(record)),
        "prompt_tokens": 0,
        "completion_tokens": 0,
        "cost_usd": 0.0,
    }


def test_a_replayed_night_needs_neither_litellm_nor_a_key_nor_a_budget(
    agent: Agent, record: Path, cli: Cli
) -> None:
    recorded(cli, agent, record)
    other = another(agent)
    other.remember(several())
    program = (
        "import sys\n"
        "from slowwave.cli.app import run\n"
        "code = run(sys.argv[1:])\n"
        "assert 'litellm' not in sys.modules\n"
        "assert 'openai' not in sys.modules\n"
        "sys.exit(code)\n"
    )
    limits = (setting("max_calls", 0), setting("max_tokens", 0), "--max-cost", 0)
    words, variables = split(("maintain", other.path, setting("replay", record), *UNREAD, *limits))
    ended = subprocess.run(
        [sys.executable, "-c", program, *words],
        capture_output=True,
        text=True,
        env=os.environ | variables,
        check=False,
    )
    assert (ended.returncode, ended.stderr) == (0, "")
    assert len(other.rows("SELECT * FROM derivations")) == 3


def test_a_prompt_that_is_not_on_record_fails_its_question_and_is_written_down(
    agent: Agent, record: Path, cli: Cli
) -> None:
    agent.remember(facts(1))
    maintained(cli, agent, *asking(agent), setting("record", record))
    other = another(agent)
    other.remember(facts(3))
    before = len(record.read_bytes())
    ended = maintained(cli, other, setting("replay", record), *UNREAD)
    assert ended.code == 3
    assert [one["state"] for one in ended.json["proposals"]] == ["applied"]
    states = sorted((one["state"], one["why"] or "") for one in ended.json["questions"])
    assert [state for state, _ in states] == ["applied", "failed", "failed"]
    assert all(str(missing(record)) in why for state, why in states if state == "failed")
    assert [set(one) for one in lines(missing(record))] == [{"key", "model", "messages"}] * 2
    assert len(record.read_bytes()) == before
    assert stat.S_IMODE(missing(record).stat().st_mode) == 0o600


def test_what_is_missing_is_said_anew_by_each_run(agent: Agent, record: Path, cli: Cli) -> None:
    agent.remember(facts(2))
    record.touch()
    model = ("--model", "openai/scripted")
    maintained(cli, agent, setting("replay", record), *model, *UNREAD)
    maintained(cli, agent, setting("replay", record), *model, *UNREAD)
    unknown = lines(missing(record))
    assert len(unknown) == 2
    # Whoever answers them by hand puts the answer into the line.
    agent.server.responder = oracle
    other = another(agent)
    other.remember(facts(2))
    maintained(cli, other, *asking(agent), setting("record", record))
    answers = {one["key"]: one["answer"] for one in lines(record)}
    by_hand = [one | {"answer": answers[one["key"]]} for one in unknown]
    record.write_text("".join(json.dumps(one) + "\n" for one in by_hand))
    ended = maintained(cli, agent, setting("replay", record), *UNREAD)
    assert [one["state"] for one in ended.json["proposals"]] == ["applied"] * 2
    assert not missing(record).exists()


def test_a_dry_run_writes_to_no_file_of_answers(agent: Agent, record: Path, cli: Cli) -> None:
    agent.remember(facts(1))
    assert maintained(cli, agent, *asking(agent), setting("record", record), "--dry-run").code == 0
    assert not record.exists()
    maintained(cli, agent, *asking(agent), setting("record", record))
    other = another(agent)
    other.remember(facts(1))
    missing(record).write_text("of an earlier run\n")
    ended = maintained(cli, other, setting("replay", record), *UNREAD, "--dry-run")
    assert ended.json["model"]["name"] == "openai/scripted"
    assert missing(record).read_text() == "of an earlier run\n"


def test_with_both_what_is_not_on_record_is_asked_and_recorded(
    agent: Agent, record: Path, cli: Cli
) -> None:
    agent.remember(facts(1))
    maintained(cli, agent, *asking(agent), setting("record", record))
    agent.server.forget()
    other = another(agent)
    other.remember(facts(3))
    both = (setting("record", record), setting("replay", record))
    ended = maintained(cli, other, *asking(agent), *both, setting("max_calls", 2))
    assert {one["state"] for one in ended.json["proposals"]} == {"applied"}
    assert len(agent.server.asked) == ended.json["model"]["calls"] == 2
    assert len({one["key"] for one in lines(record)}) == len(lines(record)) == 3
    assert not missing(record).exists()


def test_what_is_replayed_is_recorded_in_another_file_too(
    agent: Agent, record: Path, cli: Cli
) -> None:
    agent.remember(facts(2))
    maintained(cli, agent, *asking(agent), setting("record", record))
    other = another(agent)
    other.remember(facts(2))
    copy = record.with_name("copy.jsonl")
    maintained(
        cli, other, *asking(agent), setting("record", copy), setting("replay", record), *UNREAD
    )
    assert sorted(copy.read_text().splitlines()) == sorted(record.read_text().splitlines())


def test_answers_from_the_memory_file_are_recorded_too(
    agent: Agent, record: Path, cli: Cli
) -> None:
    agent.remember(facts(2))
    run_id = maintained(cli, agent, *asking(agent)).json["run"]
    assert cli("undo", agent.path, run_id).code == 0
    agent.server.forget()
    maintained(cli, agent, *asking(agent), "--reconsider", setting("record", record))
    assert agent.server.asked == []
    assert len(lines(record)) == 2
    other = another(agent)
    other.remember(facts(2))
    ended = maintained(cli, other, setting("replay", record), *UNREAD)
    assert {one["state"] for one in ended.json["proposals"]} == {"applied"}


def test_a_bad_answer_and_its_repair_are_recorded_as_they_came(
    agent: Agent, record: Path, cli: Cli
) -> None:
    agent.remember(a_fact())
    agent.server.responder = in_turn(says("no JSON"), then=oracle)
    first = maintained(cli, agent, *asking(agent), setting("record", record))
    assert [one["answer"] == "no JSON" for one in lines(record)] == [True, False]
    other = another(agent)
    other.remember(a_fact())
    assert made(maintained(cli, other, setting("replay", record), *UNREAD)) == made(first)


def test_an_answer_that_is_no_utf_8_is_recorded_as_what_can_be_read_again(
    agent: Agent, record: Path, cli: Cli
) -> None:
    agent.remember(a_fact())
    agent.server.responder = in_turn(Reply(half_a_letter()), then=oracle)
    first = maintained(cli, agent, *asking(agent), setting("record", record))
    assert [one["state"] for one in first.json["proposals"]] == ["applied"]
    other = another(agent)
    other.remember(a_fact())
    assert made(maintained(cli, other, setting("replay", record), *UNREAD)) == made(first)


def half_a_letter() -> str:
    """Return a completion whose text holds half a surrogate pair."""
    choice = {"index": 0, "message": {"role": "assistant", "content": "\ud83d"}}
    head = {"id": "c", "object": "chat.completion", "created": 1, "model": "m"}
    return json.dumps(head | {"choices": [choice | {"finish_reason": "stop"}]})


@pytest.mark.parametrize("end", ['{"key":"half a li', '{"k', "\n\n", ""])
def test_a_record_goes_on_behind_a_line_that_broke_off_and_removes_nothing(
    agent: Agent, record: Path, cli: Cli, end: str
) -> None:
    agent.remember(facts(1))
    maintained(cli, agent, *asking(agent), setting("record", record))
    whole = record.read_bytes()
    before = whole[: -1 if not end else None] + end.encode()
    record.write_bytes(before)
    other = another(agent)
    other.remember(facts(2))
    assert maintained(cli, other, *asking(agent), setting("record", record)).code == 0
    assert record.read_bytes().startswith(before)
    assert len(read_recording(record).answers) == 2


def test_an_answer_is_not_glued_to_what_another_run_could_not_end(
    agent: Agent, record: Path, cli: Cli
) -> None:
    agent.remember(several())

    def respond(asked: Asked) -> Reply:
        with record.open("ab") as other:
            other.write(b'{"key":"half a li')
        return oracle(asked)

    agent.server.responder = respond
    assert maintained(cli, agent, *asking(agent), setting("record", record)).code == 0
    assert len(read_recording(record).answers) == len(agent.server.asked) > 1


def no_recording(path: Path) -> None:
    path.write_text('{"model": "m", "messages": []}\n')


def of_two_models(path: Path) -> None:
    line = {"messages": [], "answer": ""}
    path.write_text("".join(json.dumps(line | {"model": name}) + "\n" for name in "ab"))


def with_another_key(path: Path) -> None:
    path.write_text('{"key": "0", "model": "m", "messages": [], "answer": ""}\n')


BAD = {
    "missing": (lambda path: None, "Cannot read"),
    "a folder": (lambda path: path.mkdir(), "Cannot read"),
    "no JSON": (lambda path: path.write_text("Dear diary\n"), "Line 1"),
    "no JSON and no line end": (lambda path: path.write_text("Dear diary"), "Line 1"),
    "no answer": (no_recording, "answer: Field required"),
    "another key": (with_another_key, "its key is that of another prompt"),
    "two models": (of_two_models, "several models: a, b"),
    "empty": (lambda path: path.touch(), "--model"),
}


@pytest.mark.parametrize("kind", BAD)
def test_a_recording_that_cannot_be_replayed_ends_with_2_before_anything_is_changed(
    agent: Agent, record: Path, cli: Cli, kind: str
) -> None:
    agent.remember(facts(1))
    before = picture(agent.path, UNTOUCHED)
    make, sentence = BAD[kind]
    make(record)
    ended = cli("maintain", agent.path, "--consolidate", setting("replay", record), *UNREAD)
    assert (ended.code, ended.out) == (2, "")
    assert sentence in ended.err
    assert "Traceback" not in ended.err
    assert picture(agent.path, UNTOUCHED) == before


@pytest.mark.parametrize(
    "kind",
    [
        "a folder",
        "no JSON",
        "no JSON and no line end",
        "in no folder",
        "the memory file",
        "a device",
    ],
)
def test_a_record_that_cannot_be_written_ends_with_2_before_anything_is_asked(
    agent: Agent, record: Path, cli: Cli, kind: str
) -> None:
    agent.remember(facts(1))
    before = picture(agent.path, UNTOUCHED)
    if kind == "in no folder":
        record = record / "none" / "answers.jsonl"
    elif kind == "the memory file":
        record = agent.path
    elif kind == "a device":
        record = Path("/dev/full")
    else:
        BAD[kind][0](record)
    held = record.read_bytes() if record.is_file() else None
    ended = cli("maintain", agent.path, "--consolidate", *asking(agent), setting("record", record))
    assert (ended.code, ended.out) == (2, "")
    assert ended.err.startswith(("Error: Cannot write", "Error: Line 1 of"))
    assert agent.server.asked == []
    assert picture(agent.path, UNTOUCHED) == before
    assert held is None or kind == "the memory file" or record.read_bytes() == held


def test_a_record_that_fails_within_the_night_costs_no_answer_and_is_said_so(
    agent: Agent, tmp_path: Path, cli: Cli
) -> None:
    agent.remember(facts(2))
    folder = tmp_path / "records"
    folder.mkdir()

    def respond(asked: Asked) -> Reply:
        shutil.rmtree(folder, ignore_errors=True)
        return oracle(asked)

    agent.server.responder = respond
    record = folder / "answers.jsonl"
    ended = maintained(cli, agent, *asking(agent), setting("record", record))
    assert ended.code == 3
    assert "Not all answers were recorded in" in ended.err
    assert {one["state"] for one in ended.json["proposals"]} == {"applied"}
    assert len(agent.rows("SELECT * FROM answers")) == 2


def escaped(key: str) -> str:
    return "".join(f"\\u{ord(letter):04x}" for letter in key)


@pytest.mark.parametrize("written", [str, str.upper, escaped], ids=["as is", "upper", "escaped"])
def test_a_key_never_goes_on_record_nor_into_the_file_or_a_report(
    agent: Agent,
    record: Path,
    cli: Cli,
    monkeypatch: pytest.MonkeyPatch,
    written: Callable[[str], str],
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    agent.remember(facts(1))
    claim = f'{{"claims": [{{"text": "The key is {written(KEY)}.", "sources": ["m1"]}}]}}'
    agent.server.responder = in_turn(says(claim), then=oracle)
    ended = maintained(cli, agent, *asking(agent), setting("record", record))
    answers = [one["answer"] for one in lines(record)]
    assert "$OPENAI_API_KEY" in answers[0]
    # What an answer says once it is parsed, too.
    said = [ended.out, ended.err, record.read_text(), *map(str, map(json.loads, answers))]
    said += [str(row) for row in agent.rows("SELECT * FROM proposals")]
    said += [str(row) for row in agent.rows("SELECT * FROM answers")]
    assert [one for one in said if KEY.lower() in one.lower() or escaped(KEY) in one] == []
