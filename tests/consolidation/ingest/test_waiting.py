"""What waits in a file for a model: how long, after how many tries, and how it is thrown away."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from cli_calls import Cli
from commands import setting
from conversations import (
    COFFEE,
    EVERY_TABLE,
    LYON,
    OTHER,
    asking,
    contents,
    is_about_a_conversation,
    let_wait,
    maintain,
    remembering,
)
from model_server import ModelServer, model_server, refuses
from nights import fill, picture, rows

from slowwave.consolidation.evaluation.trial import Trial, Trials
from slowwave.consolidation.options import CycleOptions
from slowwave.consolidation.runtime.interruption import Interruption
from slowwave.consolidation.writing.writer import Writer
from slowwave.store.file import maintenance_lock


def waiting(cli: Cli, path: Path, *more: object) -> list[dict[str, Any]]:
    found = cli("ingest", path, "--waiting", "--json", *more).json
    assert found["waiting"] == len(found["parts"])
    parts: list[dict[str, Any]] = found["parts"]
    return parts


def run_of(cli: Cli, path: Path) -> dict[str, Any]:
    """Return the last run of a file."""
    last: dict[str, Any] = cli("log", path, "--json").json["runs"][-1]
    return last


def test_what_waits_is_listed_with_where_it_stands_and_how_it_begins(
    memory_file: Path, chat: Path, cli: Cli
) -> None:
    assert "no conversation is queued" in cli("ingest", memory_file, "--waiting").out
    let_wait(cli, memory_file, chat)
    let_wait(cli, memory_file, chat, options=("--tenant", "ines"))
    first, second = waiting(cli, memory_file)
    assert (first["conversation"], first["tenant"], first["format"]) == (
        "chat.txt",
        "default",
        "text",
    )
    assert chat.read_text().startswith(f"User: {first['begins']}")
    assert first["messages"] == list(range(1, len(first["messages"]) + 1))
    assert (first["tries"], first["last_tried_at"]) == (0, None)
    assert [one["id"] for one in waiting(cli, memory_file, "--tenant", "ines")] == [second["id"]]
    told = cli("ingest", memory_file, "--waiting").out
    assert f"--drop {first['id'][:12]}" in told
    # A command for each tenant of which something waits.
    assert f"ingest {memory_file} --model NAME; slowwave ingest {memory_file} --tenant ines" in told
    assert "not tried yet: the budget of 0 calls" in told


def test_parts_of_one_conversation_wait_in_their_order(
    memory_file: Path, tmp_path: Path, cli: Cli
) -> None:
    said = [{"role": "user", "content": f"My locker {n} is in hall {n}."} for n in range(24 * 5)]
    (tmp_path / "long.json").write_text(json.dumps(said))
    with model_server() as nobody:
        cli("ingest", memory_file, tmp_path / "long.json", *asking(nobody),
            setting("max_calls", 0), "--whole")  # fmt: skip
        told = cli("ingest", memory_file, tmp_path / "long.json", "--model", "openai/scripted",
                   setting("api_base", nobody.base), setting("max_calls", 0),
                   "--whole", "--again")  # fmt: skip
    assert "120 messages, 0 read, 120 not read yet." in told.out
    first = [one["messages"][0] for one in waiting(cli, memory_file)]
    assert first == sorted(first)
    assert len(first) == 5


@pytest.mark.parametrize("by", ["id", "start", "name", "all"])
def test_what_is_thrown_away_is_read_by_nobody_and_waits_again_after_an_undo(
    by: str, memory_file: Path, chat: Path, cli: Cli, server: ModelServer
) -> None:
    let_wait(cli, memory_file, chat)
    before = picture(memory_file, EVERY_TABLE)
    (part,) = waiting(cli, memory_file)
    named = {"id": part["id"], "start": part["id"][:8], "name": "chat.txt", "all": "all"}[by]
    dry = cli("ingest", memory_file, "--drop", named, "--dry-run", "--json").json
    assert (dry["run"], [one["id"] for one in dry["dropped"]]) == (None, [part["id"]])
    assert picture(memory_file, EVERY_TABLE) == before
    done = cli("ingest", memory_file, "--drop", named, "--json")
    assert (done.code, done.json["waiting"], waiting(cli, memory_file)) == (0, 0, [])
    server.responder = remembering(LYON)
    assert maintain(cli, memory_file, *asking(server)).code == 0
    assert cli("ingest", memory_file, chat, *asking(server)).code == 0
    assert (server.asked, contents(memory_file)) == ([], [])
    run = done.json["run"]
    assert "1 part of conversations that waited for a model, thrown away: chat.txt" in (
        cli("log", memory_file, run).out
    )
    undone = cli("undo", memory_file, run)
    assert (undone.code, "What had waited for a model waits again" in undone.err) == (0, True)
    assert picture(memory_file, EVERY_TABLE) == before
    assert maintain(cli, memory_file, *asking(server)).code == 0
    assert contents(memory_file) == [LYON["content"]]


def test_only_what_is_named_is_thrown_away_and_of_no_other_tenant(
    memory_file: Path, chat: Path, cli: Cli
) -> None:
    other = chat.with_name("other.txt")
    other.write_text(OTHER)
    let_wait(cli, memory_file, chat, other)
    let_wait(cli, memory_file, chat, options=("--tenant", "ines"))
    done = cli("ingest", memory_file, "--drop", "chat.txt", "--tenant", "default", "--json").json
    assert (len(done["dropped"]), done["waiting"]) == (1, 1)
    left = {(one["tenant"], one["conversation"]) for one in waiting(cli, memory_file)}
    assert left == {("default", "other.txt"), ("ines", "chat.txt")}


def test_what_is_thrown_away_is_read_with_again(
    memory_file: Path, chat: Path, cli: Cli, server: ModelServer
) -> None:
    let_wait(cli, memory_file, chat)
    cli("ingest", memory_file, "--drop", "all")
    server.responder = remembering(LYON)
    cli("ingest", memory_file, chat, "--again", *asking(server))
    assert contents(memory_file) == [LYON["content"]]


@pytest.mark.parametrize(
    ("arguments", "code", "sentence"),
    [
        (("--drop", "nothing-such"), 1, "matches 'nothing-such'"),
        (("--drop", ""), 1, "matches ''"),
        (("--drop", "chat.txt", "--drop", "nothing-such"), 1, "matches 'nothing-such'"),
        (("--drop", "chat.txt", "chat.txt"), 2, "--drop cannot be combined with conversations"),
        (("--waiting", "--drop", "chat.txt"), 2, "--waiting cannot be combined with --drop"),
        (("--waiting", "--watch", "."), 2, "--waiting cannot be combined with --watch"),
        (("--drop", "all", "--model", "x"), 2, "--drop cannot be combined with --model"),
    ],
)
def test_what_cannot_be_thrown_away_is_told_and_nothing_is_changed(
    arguments: tuple[str, ...],
    code: int,
    sentence: str,
    memory_file: Path,
    chat: Path,
    cli: Cli,
) -> None:
    let_wait(cli, memory_file, chat)
    before = picture(memory_file, (*EVERY_TABLE, "runs"))
    ended = cli("ingest", memory_file, *arguments)
    said = " ".join(ended.err.replace("\u2502", " ").split())
    assert (ended.code, sentence in said) == (code, True), said
    assert picture(memory_file, (*EVERY_TABLE, "runs")) == before


def test_nothing_is_thrown_away_while_another_run_holds_the_file(
    memory_file: Path, chat: Path, cli: Cli
) -> None:
    let_wait(cli, memory_file, chat)
    with maintenance_lock(memory_file):
        assert cli("ingest", memory_file, "--drop", "all").code == 11
    assert len(waiting(cli, memory_file)) == 1


def test_each_night_in_which_a_model_fails_says_since_when_it_waits_and_counts_the_tries(
    memory_file: Path, chat: Path, cli: Cli, server: ModelServer
) -> None:
    let_wait(cli, memory_file, chat)
    server.responder = lambda asked: refuses(401)
    plain = ("--model", "openai/scripted", setting("api_base", server.base))
    for tries in ("1 try", "2 tries", "3 tries"):
        ended = maintain(cli, memory_file, *plain)
        assert (ended.code, f"after {tries}: " in ended.out) == (3, True)
        assert maintain(cli, memory_file, "--dry-run").out.count(f"after {tries}") == 1
    (part,) = waiting(cli, memory_file)
    assert (part["tries"], bool(part["why"]), part["last_tried_at"] > part["since"]) == (
        3,
        True,
        True,
    )
    # Each is a run that failed, and says what it did not read.
    assert [one["outcome"] for one in cli("log", memory_file, "--json").json["runs"]] == [
        "partial",
        *["failed"] * 3,
    ]
    logged = cli("log", memory_file, run_of(cli, memory_file)["id"])
    assert "1 conversation part waits for a model: " in logged.out
    assert "after 3 tries" in cli("log", "--stats", memory_file).out
    stats = cli("log", "--stats", memory_file, "--json").json
    assert stats["conversations_waiting_since"] == part["since"]


def test_a_night_in_which_nobody_read_what_waits_closes_no_gate(
    memory_file: Path, chat: Path, cli: Cli, server: ModelServer
) -> None:
    let_wait(cli, memory_file, chat)
    server.responder = lambda asked: refuses(401)
    gated = (memory_file, *asking(server), setting("min_interval", "12h"))
    assert maintain(cli, *gated).code == 3
    server.responder = remembering(LYON)
    assert maintain(cli, *gated).json["conversations"]["read"] == 1


def test_what_was_read_meanwhile_without_a_model_waits_no_more(
    memory_file: Path, chat: Path, cli: Cli, server: ModelServer
) -> None:
    let_wait(cli, memory_file, chat)
    read = cli("ingest", memory_file, chat, "--json").json
    assert (read["waiting"], waiting(cli, memory_file)) == (0, [])
    cli("undo", memory_file, read["run"])
    assert len(waiting(cli, memory_file)) == 1


def test_what_was_to_be_read_again_waits_to_be_read_again(
    memory_file: Path, chat: Path, cli: Cli, server: ModelServer
) -> None:
    server.responder = remembering(LYON)
    cli("ingest", memory_file, chat, *asking(server))
    let_wait(cli, memory_file, chat, options=("--again",))
    server.responder = remembering(COFFEE)
    # Another option, another question: else the first answer stood for it.
    assert maintain(cli, memory_file, *asking(server)).json["conversations"]["read"] == 1
    assert waiting(cli, memory_file) == []


def test_a_run_that_read_and_found_nothing_can_be_taken_back_too(
    memory_file: Path, chat: Path, cli: Cli, server: ModelServer
) -> None:
    let_wait(cli, memory_file, chat)
    before = picture(memory_file, EVERY_TABLE)
    server.responder = remembering()
    (run,) = maintain(cli, memory_file, *asking(server)).json["conversations"]["runs"]
    assert waiting(cli, memory_file) == []
    undone = cli("undo", memory_file, run)
    assert (undone.code, "messages count as read" in undone.out) == (0, True)
    assert picture(memory_file, EVERY_TABLE) == before


def test_tries_are_kept_by_an_export_of_everything(
    memory_file: Path, chat: Path, cli: Cli, server: ModelServer, tmp_path: Path
) -> None:
    let_wait(cli, memory_file, chat)
    server.responder = lambda asked: refuses(401)
    maintain(cli, memory_file, *asking(server))
    (tmp_path / "all.jsonl").write_text(cli("export", memory_file, "--all").out)
    other = tmp_path / "other.db"
    assert cli("import", other, tmp_path / "all.jsonl").code == 0
    assert waiting(cli, other) == waiting(cli, memory_file)
    assert rows(other, "SELECT count(*) AS n FROM waiting_messages") == [{"n": 1}]


def test_a_guarded_night_reads_what_waits_once_and_takes_nothing_of_it_back(
    memory_file: Path, chat: Path, cli: Cli, server: ModelServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    tried: list[CycleOptions] = []
    night = Trials.night

    def counted(
        trials: Trials, options: CycleOptions, writer: Writer, interruption: Interruption
    ) -> Trial:
        tried.append(options)
        return night(trials, options, writer, interruption)

    monkeypatch.setattr(Trials, "night", counted)
    fill(memory_file, ["The wiki is backed up at night.", "The wiki is backed up at night"])
    let_wait(cli, memory_file, chat)
    server.responder = remembering(LYON, COFFEE)
    done = maintain(cli, memory_file, *asking(server), setting("guard", "self"))
    assert done.code == 0, done.err
    told = done.json["conversations"]
    assert (told["read"], told["waiting"], told["memories"]["stored"]) == (1, 0, 2)
    # Tried on a copy first: what was answered there is not asked again.
    assert sum(is_about_a_conversation(one) for one in server.asked) == 1
    assert done.json["guard"]["calls"] == done.json["model"]["calls"] == len(server.asked)
    # Recall did not fall: nobody has to find out whose fault that would be.
    assert len(tried) == 1
    assert {str(LYON["content"]), str(COFFEE["content"])} <= set(contents(memory_file))
    assert cli("check", memory_file).code == 0


def test_what_was_read_before_a_guarded_night_is_not_blamed_on_its_proposals(
    memory_file: Path, tmp_path: Path, cli: Cli, server: ModelServer
) -> None:
    locker = {"id": "old", "content": "The lockers of the staff are painted green somewhere."}
    twins = "The wiki is backed up at night.", "The wiki is backed up at night"
    fill(memory_file, [locker, *twins])
    said = [f"My locker {n} is in hall {n}." for n in range(1, 11)]
    talk = [{"role": "user", "content": one} for one in said]
    (tmp_path / "talk.json").write_text(json.dumps(talk))
    let_wait(cli, memory_file, tmp_path / "talk.json", options=("--whole",))
    asked = {"id": "q", "question": "In which hall is my locker?", "evidence_ids": ["old"]}
    (tmp_path / "questions.jsonl").write_text(json.dumps(asked))
    server.responder = remembering(*({**LYON, "content": one, "quotes": [one]} for one in said))
    done = maintain(
        cli, memory_file, *asking(server), setting("guard", tmp_path / "questions.jsonl")
    )
    assert done.code == 0, done.err
    assert done.json["conversations"]["memories"]["stored"] == 10
    # The question's evidence is not among the first ten any more, and the twins are merged.
    assert done.json["guard"]["recall@10"]["before"] == 0
    assert done.json["after"]["active"] == 12


def test_a_guarded_dry_run_reads_nothing_that_waits_from_the_file(
    memory_file: Path, chat: Path, cli: Cli, server: ModelServer
) -> None:
    fill(memory_file, ["The wiki is backed up at night.", "The wiki is backed up at night"])
    let_wait(cli, memory_file, chat)
    before = picture(memory_file, (*EVERY_TABLE, "runs"))
    server.responder = remembering(LYON)
    dry = maintain(
        cli, memory_file, *asking(server), setting("guard", "self"), "--dry-run", "--ask"
    )
    assert (dry.code, dry.json["conversations"]["waiting"]) == (0, 1)
    assert picture(memory_file, (*EVERY_TABLE, "runs")) == before
