"""An agent as the model: `questions`, `answer` and `dream`."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Callable
from io import BytesIO, TextIOWrapper
from pathlib import Path
from shutil import copyfile
from typing import Any

import pytest
from answerers import answers_to, from_recording, honestly, lines_of, result_of
from builders import OLDER_VERSION, older_file
from cli_calls import SLOWWAVE, Cli, Ended
from commands import configure, setting
from model_nights import a_fact, facts
from nights import TWINS, daily, fill, rows, unchanged
from places import FIXTURES

ANSWERS = FIXTURES / "retold.answers.jsonl"
NOTHING = json.dumps({"groups": [], "conflicts": []})

# Writes answers to a file, and calls `answer` with it.
Give = Callable[..., Ended]
# Puts a line on stdin, and ends it.
Given = Callable[[str | bytes], None]


@pytest.fixture
def give(memory_file: Path, tmp_path: Path, cli: Cli) -> Give:
    def call(text: str, *more: object) -> Ended:
        path = tmp_path / "answers.jsonl"
        path.write_text(text, "utf-8")
        return cli("answer", memory_file, path, *more)

    return call


@pytest.fixture
def stdin(monkeypatch: pytest.MonkeyPatch) -> Given:
    def give(line: str | bytes) -> None:
        text = line if isinstance(line, bytes) else line.encode()
        monkeypatch.setattr("sys.stdin", TextIOWrapper(BytesIO(text + b"\n")))

    return give


@pytest.fixture
def retold(memory_file: Path, cli: Cli) -> Path:
    assert cli("import", memory_file, FIXTURES / "retold.jsonl", "--quiet").code == 0
    return memory_file


def asked(cli: Cli, path: Path, *more: object) -> list[dict[str, Any]]:
    """Return what `questions` prints."""
    return [json.loads(line) for line in cli("questions", path, *more).ends(0).out.splitlines()]


def test_answers_equal_a_replay(retold: Path, tmp_path: Path, cli: Cli, give: Give) -> None:
    replayed = tmp_path / "replayed.db"
    copyfile(retold, replayed)
    cli("maintain", replayed, setting("replay", ANSWERS))
    answer = from_recording(ANSWERS)
    kinds = []
    while questions := asked(cli, retold):
        kinds += [question["kind"] for question in questions]
        ended = give(answers_to(questions, answer)).ends(0)
    assert kinds == ["write", "check"]
    assert result_of(retold) == result_of(replayed)
    ended.says("Kept 1 answer.", "2 answers from the agent.")
    (run,) = rows(retold, "SELECT id FROM runs")
    assert f"slowwave undo {retold} {run['id']}" in ended.out
    assert cli("undo", retold).code == 0


def test_a_question_contains_all_that_an_answer_needs(retold: Path, cli: Cli, give: Give) -> None:
    with unchanged(retold.read_bytes):
        (question,) = asked(cli, retold)
    assert set(question) == {"id", "kind", "messages", "schema", "tokens"}
    assert [message["role"] for message in question["messages"]] == ["system", "user"]
    give(answers_to([question], from_recording(ANSWERS)))
    (check,) = asked(cli, retold)
    assert "fresh context that sees nothing else" in check["note"]
    listing = cli("questions", retold, "--json").json
    assert (listing["format"], listing["questions"], listing["windows"]) == (1, [check], 1)
    assert (listing["answered"], listing["tokens"]) == (0, check["tokens"])


def test_an_invalid_line_is_named_and_nothing_is_kept(retold: Path, cli: Cli, give: Give) -> None:
    (question,) = asked(cli, retold)
    good = answers_to([question], from_recording(ANSWERS))
    for broken in ("{", "[]", '{"id": "x"}', '{"answer": {}}', '{"id": "x", "answer": 3}', "\x00"):
        give(f"{good}\n{broken}\n").ends(1, "Line 3 is not an answer")
        assert rows(retold, "SELECT * FROM answers") == []
    ended = give(f"{broken}\n{good}", "--skip-invalid", "--json")
    assert (ended.code, len(ended.json["kept"])) == (3, 1)
    assert [skipped["line"] for skipped in ended.json["skipped"]] == [1]


def test_stdin_accepts_objects_and_short_ids(retold: Path, cli: Cli, stdin: Given) -> None:
    (question,) = asked(cli, retold)
    text = from_recording(ANSWERS)(question["messages"])
    stdin(json.dumps({"id": question["id"][:8], "answer": json.loads(text)}))
    assert cli("answer", retold, "-", "--json").json["kept"] == [question["id"]]


def test_unusable_answers_are_reported_with_reasons(retold: Path, cli: Cli, give: Give) -> None:
    (question,) = asked(cli, retold)
    ended = give(lines_of({question["id"]: "Sure, here it is!", "gone": NOTHING})).ends(3)
    unknown = "gone: this id is unknown, or its question is no longer open."
    ended.says(unknown, "not in the requested JSON format")
    assert asked(cli, retold) == [question]
    reply = give(lines_of({question["id"]: "{}", "gone": NOTHING}), "--json").json
    assert (reply["stale"], reply["kept"], reply["night"]) == (["gone"], [], None)
    assert [fault["id"] for fault in reply["faults"]] == [question["id"]]
    assert reply["questions"] == [question]


@pytest.mark.slow
def test_review_queues_the_drafts_of_an_agent(retold: Path, cli: Cli, give: Give) -> None:
    answer = from_recording(ANSWERS)
    while questions := asked(cli, retold, "--review", "always"):
        ended = give(answers_to(questions, answer), "--review", "always", "--json")
    states = {each["state"] for each in ended.json["night"]["proposals"]}
    assert states == {"pending"}
    assert cli("review", "approve", retold, "--all").code == 0


def test_questions_are_limited_to_a_tenant(memory_file: Path, cli: Cli) -> None:
    fill(memory_file, facts(2))
    assert len(asked(cli, memory_file)) == 2
    assert len(asked(cli, memory_file, "--tenant", "lease")) == 1


def test_the_kill_switch_stops_answers_and_no_questions(retold: Path, cli: Cli, give: Give) -> None:
    configure(retold, enabled=False)
    (question,) = asked(cli, retold)
    give(answers_to([question], from_recording(ANSWERS))).ends(0).says("switched off by")
    assert cli("dream", retold, "--json").json["gate"]["name"] == "enabled"
    assert rows(retold, "SELECT * FROM answers") == []


@pytest.mark.parametrize("command", ["answer", "dream"])
def test_without_questions_duplicates_are_merged_and_the_wiki_is_updated(
    memory_file: Path, tmp_path: Path, cli: Cli, command: str
) -> None:
    fill(memory_file, daily(TWINS, "twin"))
    assert asked(cli, memory_file) == []
    done = cli(command, memory_file, "--json", "--wiki", tmp_path / "wiki").json
    assert done["night"]["proposals"][0]["state"] == "applied"
    assert done["wiki"]["written"] == len(list((tmp_path / "wiki").rglob("*.md")))


def test_maintain_refuses_the_agent_as_its_model(memory_file: Path, cli: Cli) -> None:
    cli("maintain", memory_file, "--model", "agent").ends(2, "slowwave dream")


def dreaming(path: Path, answer: Callable[[dict[str, Any]], str], *more: str) -> Ended:
    """Run `slowwave dream`, answering line by line."""
    with subprocess.Popen(
        [*SLOWWAVE, "dream", str(path), *more],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        lines = []
        for line in process.stdout:
            if not line.startswith('{"id"'):
                lines.append(line)
                continue
            process.stdin.write(f"{answer(json.loads(line))}\n")
            process.stdin.flush()
        _, err = process.communicate(timeout=60)
    return Ended(process.returncode, "".join(lines), err)


@pytest.mark.slow
def test_dream_asks_until_the_night_is_done(memory_file: Path, tmp_path: Path, cli: Cli) -> None:
    fill(memory_file, facts(2))
    alone = tmp_path / "alone.db"
    copyfile(memory_file, alone)
    seen: list[str] = []

    def answer(question: dict[str, Any]) -> str:
        """Answer first with rubbish, then with the object, with an id and without."""
        seen.append(question["id"])
        if len(seen) == 1:
            return "let me think"
        assert ("fault" in question) == (len(seen) == 2)
        bare = honestly(question["messages"])
        named = json.dumps({"id": question["id"], "answer": json.loads(bare)})
        return named if len(seen) % 2 else bare

    ended = dreaming(memory_file, answer, "--json").ends(0)
    report = ended.json
    assert {each["state"] for each in report["night"]["proposals"]} == {"applied"}
    assert (len(seen), seen[0]) == (5, seen[1])
    while questions := asked(cli, alone):
        (tmp_path / "a.jsonl").write_text(answers_to(questions, honestly), "utf-8")
        cli("answer", alone, tmp_path / "a.jsonl")
    assert result_of(memory_file) == result_of(alone)


def test_dream_resumes_after_its_input_ended(memory_file: Path, cli: Cli, stdin: Given) -> None:
    fill(memory_file, a_fact())
    before = result_of(memory_file)
    stdin('{"groups": [], "conflicts": [["Brändt"]]}'.encode("latin-1"))
    ended = cli("dream", memory_file).ends(3, "The input ended before all", "1 question is open")
    first, again = map(json.loads, ended.out.splitlines())
    assert again == {**first, "fault": "the answer is not UTF-8"}
    for unusable, why in (("garbage", "was not used: the answer is not in"), ("", "open")):
        stdin(unusable)
        cli("dream", memory_file, "--quiet").ends(3, why)
    assert rows(memory_file, "SELECT * FROM answers") == []
    stdin(honestly(first["messages"]))
    ended = cli("dream", memory_file)
    _, second = map(json.loads, ended.out.splitlines())
    assert (second["kind"], result_of(memory_file)) == ("check", before)
    assert "given answers are kept" in ended.err
    stdin(honestly(second["messages"]))
    cli("dream", memory_file).says("1 applied")
    assert result_of(memory_file) != before


def test_a_run_reports_that_it_migrated_the_file(tmp_path: Path, cli: Cli) -> None:
    path = older_file(tmp_path)
    assert cli("maintain", path, "--json").json["migrated_from"] == OLDER_VERSION
    assert cli("maintain", path, "--json").json["migrated_from"] is None
    path.unlink()
    migrated = f"migrated from schema version {OLDER_VERSION}."
    cli("maintain", older_file(tmp_path), "--quiet").ends(0, migrated)


@pytest.mark.parametrize("command", ["answer", "dream", "add", "undo", "forget", "ingest", "list"])
def test_only_maintain_migrates_an_older_schema(
    command: str, tmp_path: Path, cli: Cli, stdin: Given
) -> None:
    path = older_file(tmp_path)
    stdin("")
    values = {"add": ["A text."], "forget": ["294d0e56"], "ingest": [path.with_name("chat.txt")]}
    path.with_name("chat.txt").write_text(
        "User: I teach in Graz.\nAssistant: ok\nUser: On Mondays.\n"
    )
    with unchanged(path.read_bytes):
        ended = cli(command, path, *values.get(command, ()))
        ended.ends(10, f"has schema version {OLDER_VERSION}", f"slowwave maintain {path} --backup")
