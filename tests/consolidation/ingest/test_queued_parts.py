"""Queued conversation parts: read by the next run within its budget, or counted."""

from __future__ import annotations

import json
import os
import signal
from collections.abc import Callable, Iterator
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from answerers import Messages, answers_to
from cli_calls import Cli
from commands import setting
from conversations import (
    COFFEE,
    EVERY_TABLE,
    LYON,
    OTHER,
    asking,
    batch,
    contents,
    is_about_a_conversation,
    let_wait,
    maintain,
    remembering,
    stated,
)
from mcp import Client
from mcp_client import ask, in_this_process
from metrics import metrics
from model_server import SILENT, Asked, ModelServer, Reply, approval, refuses, says
from nights import NOW, execute, fill, picture, rows, unchanged

from slowwave.consolidation.agent import AgentMemory
from slowwave.consolidation.vectors.embedder import SentenceEmbedder

BIKE = stated("User owns a red Brompton.", "I own a red Brompton")


Queue = Callable[..., None]


def count_queued(cli: Cli, path: Path) -> int:
    return int(cli("log", "--stats", path, "--json").json["conversations_waiting"])


def test_the_parts_of_a_conversation_are_queued_once_and_in_order(
    memory_file: Path, tmp_path: Path, ask: Cli, cli: Cli, server: ModelServer
) -> None:
    lockers = [{"role": "user", "content": f"My locker {n} is in hall {n}."} for n in range(24 * 5)]
    path = tmp_path / "long.json"
    path.write_text(json.dumps(lockers))
    options = setting("max_calls", 0), "--whole"
    ask(path, *options)
    again = cli("ingest", memory_file, path, *asking(server)[:-1], *options, "--again")
    again.says("120 messages, 0 read, 120 not read yet.")
    places = (
        "SELECT min(json_extract(s.value, '$.place')) AS first "
        "FROM waiting_messages w, json_each(content, '$.said') s "
        "WHERE json_extract(s.value, '$.is_new') GROUP BY w.id ORDER BY queued_at, w.rowid"
    )
    first = [part["first"] for part in rows(memory_file, places)]
    assert (first, len(first)) == (sorted(first), 5)


def test_a_failing_part_counts_tries_until_a_model_reads_it_or_its_queuing_is_undone(
    memory_file: Path, chat: Path, queue: Queue, night: Cli, cli: Cli, server: ModelServer
) -> None:
    before = picture(memory_file, EVERY_TABLE)
    queue()
    server.responder = lambda asked: refuses(401)
    gate = setting("min_interval", "12h")
    for tries in ("1 try", "2 tries", "3 tries"):
        # A failed night closes no gate.
        ended = maintain(cli, memory_file, *asking(server)[:-1], gate).ends(1)
        ended.says(f"after {tries}: ", "1 conversation part is still queued, since 2")
        ended.says(f"slowwave maintain {memory_file} --model NAME", f"slowwave log {memory_file}")
        assert maintain(cli, memory_file, "--dry-run").out.count(f"after {tries}") == 1
    # Each is a failed run, and names what it did not read.
    runs = cli("log", memory_file, "--json").json["runs"]
    assert [run["outcome"] for run in runs] == ["partial", *["failed"] * 3]
    cli("log", memory_file, runs[-1]["id"]).says("1 conversation part is queued for a model: ")
    cli("log", "--stats", memory_file).says("after 3 tries")
    stats = cli("log", "--stats", memory_file, "--json").json
    (part,) = rows(memory_file, "SELECT queued_at FROM waiting_messages")
    assert stats["conversations_waiting_since"] == part["queued_at"]
    server.responder = remembering(LYON)
    (read,) = night(gate).json["conversations"]["runs"]
    assert contents(memory_file) == [LYON["content"]]
    cli("undo", memory_file, read).ends(0, "queued for a model again")
    undone = cli("undo", memory_file, runs[0]["id"]).ends(0)
    undone.says("Undid the queuing of 1 conversation part")
    assert night().json["conversations"]["runs"] == []
    assert picture(memory_file, EVERY_TABLE) == before


def test_undoing_a_reading_queues_the_part_again(
    memory_file: Path, chat: Path, ingest: Cli, ask: Cli, cli: Cli, server: ModelServer
) -> None:
    ingest(chat)
    server.responder = remembering(COFFEE)
    # Its conversation is read, or the part itself.
    for named in ((chat,), ()):
        read = ask(*named).json
        assert (read["waiting"], count_queued(cli, memory_file)) == (0, 0)
        assert contents(memory_file) == [COFFEE["content"]]
        cli("undo", memory_file, read["run"])
        assert count_queued(cli, memory_file) == 1


def test_a_part_can_be_queued_again(
    memory_file: Path,
    chat: Path,
    queue: Queue,
    ask: Cli,
    night: Cli,
    cli: Cli,
    server: ModelServer,
) -> None:
    server.responder = remembering(LYON)
    ask(chat)
    queue(chat, "--again")
    server.responder = remembering(COFFEE)
    assert night().json["conversations"]["read"] == 1
    assert count_queued(cli, memory_file) == 0


def test_a_reading_run_that_found_nothing_can_be_undone(
    memory_file: Path, queue: Queue, night: Cli, cli: Cli, server: ModelServer
) -> None:
    queue()
    before = picture(memory_file, EVERY_TABLE)
    server.responder = remembering()
    (run,) = night().json["conversations"]["runs"]
    assert count_queued(cli, memory_file) == 0
    cli("undo", memory_file, run).ends(0).says("the reading of")
    assert picture(memory_file, EVERY_TABLE) == before


def test_a_night_reads_queued_parts_first_in_a_separate_run(
    memory_file: Path, chat: Path, queue: Queue, night: Cli, cli: Cli, server: ModelServer
) -> None:
    queue()
    chat.unlink()
    server.responder = remembering(LYON, COFFEE)
    ended = night()
    assert (ended.code, is_about_a_conversation(server.asked[0])) == (0, True)
    read = ended.json["conversations"]
    assert (read["read"], read["waiting"], read["unread"]) == (1, 0, 0)
    assert read["memories"] == {"stored": 2, "told": 0, "rejected": 0, "raw": 0}
    assert sorted(contents(memory_file)) == sorted([str(LYON["content"]), str(COFFEE["content"])])
    # The counts begin before the parts are read, and the usage includes them.
    assert ended.json["before"]["active"] == 0
    assert ended.json["model"]["calls"] == len(server.asked) == read["model"]["calls"]
    (run,) = read["runs"]
    cli("log", memory_file, run).says("said in chat.txt, message 1")
    # The second night does nothing.
    again = night().json["conversations"]
    assert (again["runs"], len(server.asked)) == ([], read["model"]["calls"])


def test_an_agent_reads_queued_parts_and_then_consolidates(
    memory_file: Path, queue: Queue, cli: Cli, tmp_path: Path
) -> None:
    queue()
    home = "User's home is in Lyon."
    fill(memory_file, [home, "The wiki is backed up at night.", "The wiki is backed up at night"])
    before = picture(memory_file, EVERY_TABLE)
    answers, kinds = tmp_path / "answers.jsonl", []
    responder = remembering(LYON, {**COFFEE, "content": "User loves dark roast coffee."})

    def stated(messages: Messages) -> str:
        reply = responder(Asked({}, {"messages": messages})).body
        return str(reply["choices"][0]["message"]["content"])

    printed: dict[str, Any] = {}
    while not printed.get("night"):
        questions = [json.loads(line) for line in cli("questions", memory_file).out.splitlines()]
        kinds.append([question["kind"] for question in questions])
        answers.write_text(answers_to(questions, stated))
        printed = cli("answer", memory_file, answers, "--json").json
        assert (printed["faults"], printed["stale"]) == ([], [])
        if kinds == [["memories"]]:
            assert (printed["about_conversations"], printed["conversations"]) == (True, None)
            assert "fresh context" in printed["questions"][0]["note"]
            assert contents(memory_file)[3:] == []
        if kinds == [["memories"], ["check"]]:
            assert (printed["conversations"]["read"], printed["conversations"]["waiting"]) == (1, 0)
            assert contents(memory_file)[3:] == [LYON["content"], "User loves dark roast coffee."]
            (run,) = printed["conversations"]["runs"]
    assert kinds[:2] == [["memories"], ["check"]]
    read_by = rows(memory_file, "SELECT DISTINCT model FROM memory_messages")
    assert read_by == [{"model": "agent"}]
    assert count_queued(cli, memory_file) == 0
    for later in rows(memory_file, "SELECT id FROM runs WHERE id >= ? ORDER BY id DESC", run):
        cli("undo", memory_file, later["id"])  # refused if the run applied nothing
    assert picture(memory_file, EVERY_TABLE) == before


def test_only_finished_conversations_are_asked_about(
    memory_file: Path, embedder: SentenceEmbedder
) -> None:
    now = [NOW]
    agent, stranger = (
        AgentMemory(memory_file, tenant, embedder, lambda: now[0]) for tenant in ("ada", "bo")
    )
    stranger.conversation("s-1").say("user", "I play the oboe on Tuesdays.")
    talk, later = agent.conversation("s-1"), agent.conversation("s-2")
    talk.say("user", "I live in Lyon near the river.")
    assert agent.questions().questions == ()
    talk.flush()
    (first,) = agent.questions().questions
    # Later messages do not change the question.
    talk.say("user", "I own a red Brompton.")
    later.say("user", "I teach Spanish in Graz.")
    assert [each.id for each in agent.questions().questions] == [first.id]
    now[0] += timedelta(hours=2)
    asked = [str(each.messages[-1]["content"]) for each in agent.questions().questions]
    words = ("Lyon", "Brompton", "Graz", "oboe")
    assert [sum(word in text for text in asked) for word in words] == [2, 1, 1, 0]
    # Half of a surrogate pair, which no file can hold.
    nothing = json.dumps({"memories": [], "reasoning": "Nothing \ud800."}, ensure_ascii=False)
    reply = agent.answer({each.id: nothing for each in agent.questions().questions})
    assert reply.read is not None and reply.outcome is not None
    assert (reply.read.read, reply.read.waiting, reply.outcome.run_id) == (3, 0, None)
    (part,) = rows(memory_file, "SELECT tenant FROM waiting_messages WHERE state = 'waiting'")
    assert part == {"tenant": "bo"}


def test_a_queued_part_is_read_with_the_options_of_its_first_ingest(
    memory_file: Path, chat: Path, queue: Queue, night: Cli, server: ModelServer
) -> None:
    queue(
        *(chat, "--max-facts", 4, "--instructions", "Coffee above all.", "--ttl", "fact=7"),
        *("--source", "kitchen", "--min-importance", 3),
    )
    server.responder = remembering(LYON, {**COFFEE, "importance": 2})
    assert night().code == 0
    system, question = server.asked[0].messages
    assert str(system["content"]).startswith("Coffee above all.\n\nYou choose")
    assert "At most 4 memories." in str(question["content"])
    assert contents(memory_file) == [LYON["content"]]
    days = "julianday(expires_at) - julianday(created_at) AS days"
    (memory,) = rows(memory_file, f"SELECT source, {days} FROM memories")
    assert memory == {"source": "kitchen", "days": 7.0}


def test_distill_keeps_three_memories_of_all_queued_parts(
    memory_file: Path, tmp_path: Path, ask: Cli, server: ModelServer
) -> None:
    lockers = [f"My locker number {n} is in hall {n}." for n in range(40)]
    lines = [{"role": "user", "content": locker} for locker in lockers]
    (tmp_path / "long.json").write_text(json.dumps(lines))
    waits = ask(tmp_path / "long.json", setting("max_calls", 0), "--distill")
    assert waits.json["waiting"] == 2

    def two_of_each(asked: Asked) -> Reply:
        if asked.drafts:
            return says(approval(asked))
        shown = [locker for locker in lockers if locker in str(asked.messages)]
        return batch(*(stated(locker.replace("My", "User's"), locker) for locker in shown[-2:]))

    server.responder = two_of_each
    ask()
    assert sum(map(is_about_a_conversation, server.asked)) == 2
    assert len(contents(memory_file)) == 3


def test_a_queued_part_of_an_older_version_is_read_with_default_options(
    memory_file: Path, queue: Queue, night: Cli, server: ModelServer
) -> None:
    queue()
    execute(memory_file, "UPDATE waiting_messages SET content = json_remove(content, '$.options')")
    server.responder = remembering(LYON)
    assert contents(Path(night("--backup").json["backup"])) == []
    assert contents(memory_file) == [LYON["content"]]


@pytest.mark.parametrize(
    "damage",
    [
        "json_set(content, '$.options.days', json('{\"fact\": -3}'))",
        "json_set(content, '$.said[0].place', 'first')",
        "json_remove(content, '$.said')",
    ],
    ids=["an option", "a message", "all messages"],
)
def test_a_damaged_queued_part_exits_10_and_changes_nothing(
    damage: str, memory_file: Path, queue: Queue, night: Cli
) -> None:
    queue()
    execute(memory_file, f"UPDATE waiting_messages SET content = {damage}")
    with unchanged(picture, memory_file, (*EVERY_TABLE, "runs")):
        night().ends(10, "the queued part of chat.txt cannot be read")


def test_each_report_counts_queued_and_read_parts(
    memory_file: Path, queue: Queue, night: Cli, cli: Cli, server: ModelServer, tmp_path: Path
) -> None:
    queue()
    message = "1 conversation part is queued for a model"
    metrics_file = tmp_path / "m.prom"
    metered = setting("metrics_file", metrics_file)
    maintain(cli, memory_file, metered).ends(0).says(message)
    parts = metrics(metrics_file)["slowwave_conversation_parts"]
    assert parts == {("read",): 0, ("waiting",): 1}
    assert maintain(cli, memory_file, "--json").json["conversations"]["waiting"] == 1
    cli("log", "--stats", memory_file).says(message)
    maintain(cli, memory_file, "--dry-run").says(message)
    # With a model it is work to do, and a dry run does not ask the model.
    planned = night("--dry-run", "--exit-code")
    assert (planned.code, planned.json["conversations"]["waiting"], server.asked) == (4, 1, [])
    plain = maintain(cli, memory_file, "--dry-run", *asking(server)[:-1])
    plain.says("a real run reads them first")
    server.responder = remembering(LYON)
    read = "1 conversation part was read (2 calls): 1 stored."
    maintain(cli, memory_file, *asking(server)[:-1], metered).says(read)
    parts = metrics(metrics_file)["slowwave_conversation_parts"]
    assert parts == {("read",): 1, ("waiting",): 0}


def test_an_ingest_does_not_count_what_agents_add_meanwhile(
    memory_file: Path, chat: Path, ask: Cli, server: ModelServer
) -> None:
    answer = remembering(LYON)

    def respond(asked: Asked) -> Reply:
        fill(memory_file, ["The kettle is new."])
        reply: Reply = answer(asked)
        return reply

    server.responder = respond
    read = ask(chat).json
    assert (read["before"]["active"], read["after"]["active"]) == (0, 1)
    assert len(contents(memory_file)) > 1


def test_conversations_and_the_night_share_one_budget(
    memory_file: Path, chat: Path, night: Cli, cli: Cli, server: ModelServer
) -> None:
    bike = chat.with_name("bike.txt")
    bike.write_text(OTHER)
    fill(memory_file, ["The wiki is backed up at night.", "The backup of the wiki is at night."])
    let_wait(cli, memory_file, chat, bike)
    server.responder = remembering(LYON)
    ended = night(setting("max_calls", 2), setting("concurrency", 1))
    assert (ended.code, len(server.asked)) == (3, 2)
    read = ended.json["conversations"]
    assert (read["read"], read["unread"], read["waiting"]) == (1, 1, 1)
    assert "budget of 2 calls" in read["why"]
    assert {question["state"] for question in ended.json["questions"]} <= {"skipped"}


def test_the_parts_of_each_tenant_are_read_in_a_separate_run(
    memory_file: Path, chat: Path, queue: Queue, night: Cli, cli: Cli, server: ModelServer
) -> None:
    chat.with_name("other.txt").write_text(OTHER)
    chat.with_name("third.txt").write_text("User: I teach Spanish in Graz.\nAssistant: ok\n")
    queue(chat, "--tenant", "ines")
    queue(chat.with_name("other.txt"), "--tenant", "bo")
    server.responder = remembering(LYON)
    first = night("--tenant", "ines")
    assert (first.code, first.json["conversations"]["read"]) == (0, 1)
    assert rows(memory_file, "SELECT tenant FROM memories") == [{"tenant": "ines"}]
    queue(chat.with_name("third.txt"), "--tenant", "ada")
    server.responder = remembering(BIKE)
    assert len(night().json["conversations"]["runs"]) == 2
    assert count_queued(cli, memory_file) == 0


def test_only_the_phase_consolidate_reads_queued_parts(
    memory_file: Path, queue: Queue, cli: Cli, server: ModelServer
) -> None:
    queue()
    server.responder = remembering(LYON)
    expired = cli("maintain", memory_file, "--phase", "expire", *asking(server))
    assert (expired.json["conversations"]["read"], server.asked) == (0, [])
    every = cli("maintain", memory_file, "--phase", "all", *asking(server))
    assert (every.code, every.json["conversations"]["read"]) == (0, 1)


@pytest.fixture
def _signals() -> Iterator[None]:
    """Restore the handlers of signals, which an interrupted command leaves ignored."""
    before = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)}
    yield
    for number, handler in before.items():
        signal.signal(number, handler)


@pytest.mark.usefixtures("_signals")
def test_an_interrupted_night_leaves_the_part_queued(
    memory_file: Path, queue: Queue, night: Cli, cli: Cli, server: ModelServer
) -> None:
    def interrupted(asked: Asked) -> Reply:
        os.kill(os.getpid(), signal.SIGINT)
        return SILENT

    queue()
    server.responder = interrupted
    night().ends(130)
    assert count_queued(cli, memory_file) == 1
    assert cli("check", memory_file).code == 0


def test_a_night_of_the_server_reads_queued_parts(
    memory_file: Path, queue: Queue, server: ModelServer
) -> None:
    queue()
    server.responder = remembering(LYON)

    async def conversation(client: Client) -> tuple[Any, Any]:
        shown = await ask(client, "consolidate_run", dry_run=True)
        return shown["conversations"], (await ask(client, "consolidate_run"))["conversations"]

    model = asking(server)[:-1]
    shown, done = in_this_process(conversation, memory_file, "--allow-writes", *model)
    assert (shown["waiting"], shown["read"], done["waiting"], done["read"]) == (1, 0, 0, 1)
