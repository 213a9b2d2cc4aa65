"""Waiting conversation parts: how long, after how many tries, and how they are dropped."""

from __future__ import annotations

import json
from collections.abc import Callable
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
    let_wait,
    maintain,
    remembering,
)
from model_server import ModelServer, refuses
from nights import picture, unchanged

Queue = Callable[..., None]
TWINS = ["The wiki is backed up at night.", "The wiki is backed up at night"]


def waiting(ingest: Cli, *more: object) -> list[dict[str, Any]]:
    report = ingest("--waiting", *more).json
    assert report["waiting"] == len(report["parts"])
    parts: list[dict[str, Any]] = report["parts"]
    return parts


def test_queued_parts_are_listed_with_the_commands_that_read_them(
    memory_file: Path, chat: Path, queue: Queue, ingest: Cli, cli: Cli
) -> None:
    cli("ingest", memory_file, "--waiting").says("no conversation is queued")
    queue()
    queue(chat, "--tenant", "ines")
    first, second = waiting(ingest)
    assert (first["conversation"], first["tenant"], first["format"]) == (
        "chat.txt",
        "default",
        "text",
    )
    assert chat.read_text().startswith(f"User: {first['begins']}")
    assert first["messages"] == list(range(1, len(first["messages"]) + 1))
    assert (first["tries"], first["last_tried_at"]) == (0, None)
    assert [part["id"] for part in waiting(ingest, "--tenant", "ines")] == [second["id"]]
    # A command for each tenant that has queued parts.
    commands = f"ingest {memory_file} --model NAME; slowwave ingest {memory_file} --tenant ines"
    shown = cli("ingest", memory_file, "--waiting")
    shown.says(f"--drop {first['id'][:12]}", commands, "not read yet: the budget of 0 calls")


def test_the_parts_of_a_conversation_are_queued_in_order(
    memory_file: Path, tmp_path: Path, ask: Cli, ingest: Cli, cli: Cli, server: ModelServer
) -> None:
    lockers = [{"role": "user", "content": f"My locker {n} is in hall {n}."} for n in range(24 * 5)]
    path = tmp_path / "long.json"
    path.write_text(json.dumps(lockers))
    options = setting("max_calls", 0), "--whole"
    ask(path, *options)
    again = cli("ingest", memory_file, path, *asking(server)[:-1], *options, "--again")
    again.says("120 messages, 0 read, 120 not read yet.")
    first = [part["messages"][0] for part in waiting(ingest)]
    assert (first, len(first)) == (sorted(first), 5)


def test_a_dropped_part_is_not_read_until_the_drop_is_undone(
    memory_file: Path,
    chat: Path,
    queue: Queue,
    ingest: Cli,
    night: Cli,
    cli: Cli,
    server: ModelServer,
) -> None:
    queue()
    before = picture(memory_file, EVERY_TABLE)
    (part,) = waiting(ingest)
    for named in (part["id"], part["id"][:8], "chat.txt", "all"):
        dry = ingest("--drop", named, "--dry-run").json
        assert (dry["run"], [dropped["id"] for dropped in dry["dropped"]]) == (None, [part["id"]])
    assert picture(memory_file, EVERY_TABLE) == before
    cli("ingest", memory_file, "--drop", "all", "--dry-run").says("Queued: 0 parts afterwards.")
    done = ingest("--drop", "chat.txt")
    assert (done.code, done.json["waiting"], waiting(ingest)) == (0, 0, [])
    server.responder = remembering(LYON)
    assert (night().code, ingest(chat, *asking(server)).code) == (0, 0)
    assert (server.asked, contents(memory_file)) == ([], [])
    run = done.json["run"]
    logged = cli("log", memory_file, run).out
    assert "1 part of conversations queued for a model, dropped: chat.txt" in logged
    undone = cli("undo", memory_file, run).ends(0, "queued for a model again")
    undone.says("Undid the dropping of 1 conversation part")
    assert picture(memory_file, EVERY_TABLE) == before
    ingest("--drop", "all")
    ingest(chat, *asking(server), "--again")
    assert contents(memory_file) == [LYON["content"]]


def test_drop_affects_only_the_named_part_of_the_chosen_tenant(
    memory_file: Path, chat: Path, queue: Queue, ingest: Cli, cli: Cli
) -> None:
    bike = chat.with_name("bike.txt")
    bike.write_text(OTHER)
    let_wait(cli, memory_file, chat, bike)
    queue(chat, "--tenant", "ines")
    done = ingest("--drop", "chat.txt", "--tenant", "default").json
    assert (len(done["dropped"]), done["waiting"]) == (1, 1)
    remaining = {(part["tenant"], part["conversation"]) for part in waiting(ingest)}
    assert remaining == {("default", "bike.txt"), ("ines", "chat.txt")}


@pytest.mark.parametrize(
    ("arguments", "code", "sentence"),
    [
        (("--drop", "nothing-such"), 1, "no queued part 'nothing-such'"),
        (("--drop", ""), 2, "--drop must not be blank"),
        (("--drop", "chat.txt", "--drop", "nothing-such"), 1, "no queued part 'nothing-such'"),
        (("--drop", "chat.txt", "chat.txt"), 2, "--drop cannot be combined with conversations"),
        (("--waiting", "--drop", "chat.txt"), 2, "--waiting cannot be combined with --drop"),
        (("--waiting", "--watch", "."), 2, "--waiting cannot be combined with --watch"),
        (("--drop", "all", "--model", "x"), 2, "--drop cannot be combined with --model"),
    ],
)
def test_a_part_that_cannot_be_dropped_is_reported(
    arguments: tuple[str, ...], code: int, sentence: str, memory_file: Path, queue: Queue, cli: Cli
) -> None:
    queue()
    with unchanged(picture, memory_file, (*EVERY_TABLE, "runs")):
        ended = cli("ingest", memory_file, *arguments)
    message = " ".join(ended.err.replace("\u2502", " ").split())
    assert (ended.code, sentence in message) == (code, True), message


def test_each_failing_night_counts_a_try_and_closes_no_gate(
    memory_file: Path, queue: Queue, ingest: Cli, night: Cli, cli: Cli, server: ModelServer
) -> None:
    queue()
    server.responder = lambda asked: refuses(401)
    gate = setting("min_interval", "12h")
    for tries in ("1 try", "2 tries", "3 tries"):
        ended = maintain(cli, memory_file, *asking(server)[:-1], gate).ends(1)
        ended.says(f"after {tries}: ", "1 conversation part is still queued, since 2")
        assert maintain(cli, memory_file, "--dry-run").out.count(f"after {tries}") == 1
    (part,) = waiting(ingest)
    assert (part["tries"], bool(part["why"])) == (3, True)
    assert part["last_tried_at"] > part["since"]
    # Each is a failed run, and names what it did not read.
    runs = cli("log", memory_file, "--json").json["runs"]
    assert [run["outcome"] for run in runs] == ["partial", *["failed"] * 3]
    cli("log", memory_file, runs[-1]["id"]).says("1 conversation part is queued for a model: ")
    cli("log", "--stats", memory_file).says("after 3 tries")
    stats = cli("log", "--stats", memory_file, "--json").json
    assert stats["conversations_waiting_since"] == part["since"]
    server.responder = remembering(LYON)
    assert night(gate).json["conversations"]["read"] == 1


def test_undoing_a_reading_queues_the_part_again(
    memory_file: Path, chat: Path, ingest: Cli, ask: Cli, cli: Cli, server: ModelServer
) -> None:
    ingest(chat)
    server.responder = remembering(COFFEE)
    # Its conversation is read, or the part itself.
    for named in ((chat,), ()):
        read = ask(*named).json
        assert (read["waiting"], waiting(ingest)) == (0, [])
        assert contents(memory_file) == [COFFEE["content"]]
        cli("undo", memory_file, read["run"])
        assert len(waiting(ingest)) == 1


def test_a_part_can_be_queued_again(
    chat: Path, queue: Queue, ingest: Cli, ask: Cli, night: Cli, server: ModelServer
) -> None:
    server.responder = remembering(LYON)
    ask(chat)
    queue(chat, "--again")
    server.responder = remembering(COFFEE)
    assert night().json["conversations"]["read"] == 1
    assert waiting(ingest) == []


def test_a_reading_run_that_found_nothing_can_be_undone(
    memory_file: Path, queue: Queue, ingest: Cli, night: Cli, cli: Cli, server: ModelServer
) -> None:
    queue()
    before = picture(memory_file, EVERY_TABLE)
    server.responder = remembering()
    (run,) = night().json["conversations"]["runs"]
    assert waiting(ingest) == []
    cli("undo", memory_file, run).ends(0).says("the reading of")
    assert picture(memory_file, EVERY_TABLE) == before
