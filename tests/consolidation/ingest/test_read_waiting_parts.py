"""Conversations that wait for a model: taken up by the next run, within its budget, or told."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest
from cli_calls import Cli
from commands import configure, setting
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
)
from mcp import Client
from mcp_client import ask, in_this_process
from metrics import metrics
from model_server import (
    SILENT,
    Asked,
    ModelServer,
    Reply,
    approval,
    model_server,
    refuses,
    says,
)
from nights import execute, fill, picture, rows

BIKE = {**LYON, "content": "User owns a red Brompton.", "quotes": ["I own a red Brompton"]}


def test_a_night_with_a_model_reads_what_waits_first_as_a_run_of_its_own(
    memory_file: Path, chat: Path, cli: Cli, server: ModelServer
) -> None:
    let_wait(cli, memory_file, chat)
    chat.unlink()
    server.responder = remembering(LYON, COFFEE)
    ended = maintain(cli, memory_file, *asking(server))
    assert (ended.code, is_about_a_conversation(server.asked[0])) == (0, True)
    told = ended.json["conversations"]
    assert (told["read"], told["waiting"], told["unread"]) == (1, 0, 0)
    assert told["memories"] == {"stored": 2, "told": 0, "rejected": 0, "raw": 0}
    assert sorted(contents(memory_file)) == sorted([str(LYON["content"]), str(COFFEE["content"])])
    # The night counts from before it, and what it took of the model is told in all.
    assert ended.json["before"]["active"] == 0
    assert ended.json["model"]["calls"] == len(server.asked) == told["model"]["calls"]
    (run,) = told["runs"]
    logged = cli("log", memory_file, run)
    assert "said in chat.txt, message 1" in logged.out
    # The second night does nothing.
    again = maintain(cli, memory_file, *asking(server))
    assert (again.json["conversations"]["runs"], len(server.asked)) == ([], told["model"]["calls"])


def test_what_a_night_took_up_is_taken_back_to_the_bit_and_waits_again(
    memory_file: Path, chat: Path, cli: Cli, server: ModelServer
) -> None:
    let_wait(cli, memory_file, chat)
    before = picture(memory_file, EVERY_TABLE)
    server.responder = remembering(LYON)
    (run,) = maintain(cli, memory_file, *asking(server)).json["conversations"]["runs"]
    undone = cli("undo", memory_file, run)
    assert (undone.code, "What had waited for a model waits again" in undone.err) == (0, True)
    assert picture(memory_file, EVERY_TABLE) == before
    assert cli("log", "--stats", memory_file, "--json").json["conversations_waiting"] == 1


def test_what_waits_is_asked_and_kept_as_it_was_to_be_first(
    memory_file: Path, chat: Path, cli: Cli, server: ModelServer
) -> None:
    options = ("--max-facts", 4, "--instructions", "Coffee above all.", "--ttl", "fact=7",
               "--source", "kitchen", "--min-importance", 3)  # fmt: skip
    let_wait(cli, memory_file, chat, options=options)
    minor = {**COFFEE, "importance": 2}
    server.responder = remembering(LYON, minor)
    assert maintain(cli, memory_file, *asking(server)).code == 0
    first = server.asked[0].messages
    assert str(first[0]["content"]).startswith("Coffee above all.\n\nYou choose")
    assert "At most 4 memories." in str(first[1]["content"])
    assert contents(memory_file) == [LYON["content"]]
    (kept,) = rows(memory_file, "SELECT source, julianday(expires_at) - julianday(created_at) AS "
                   "days FROM memories")  # fmt: skip
    assert kept == {"source": "kitchen", "days": 7.0}


def test_the_next_ingest_asks_about_what_waits_as_it_was_to_be_first_too(
    memory_file: Path, chat: Path, cli: Cli, server: ModelServer
) -> None:
    let_wait(cli, memory_file, chat, options=("--max-facts", 4))
    server.responder = remembering(LYON)
    assert cli("ingest", memory_file, *asking(server), "--max-facts", 9).code == 0
    assert "At most 4 memories." in str(server.asked[0].messages[1]["content"])


def test_of_a_session_to_distill_that_waits_in_parts_three_memories_are_kept_in_all(
    memory_file: Path, tmp_path: Path, cli: Cli, server: ModelServer
) -> None:
    said = [f"My locker number {n} is in hall {n}." for n in range(40)]
    lines = [{"role": "user", "content": one} for one in said]
    (tmp_path / "long.json").write_text(json.dumps(lines))
    with model_server() as nobody:
        ended = cli("ingest", memory_file, tmp_path / "long.json", *asking(nobody),
                    setting("max_calls", 0), "--distill")  # fmt: skip
    assert ended.json["waiting"] == 2

    def two_of_each(asked: Asked) -> Reply:
        if asked.drafts:
            return says(approval(asked))
        shown = [one for one in said if one in str(asked.messages)]
        some = shown[-2:]
        return batch(*({**LYON, "content": one.replace("My", "User's"), "quotes": [one]}
                       for one in some))  # fmt: skip

    server.responder = two_of_each
    cli("ingest", memory_file, *asking(server))
    assert sum(is_about_a_conversation(one) for one in server.asked) == 2
    assert len(contents(memory_file)) == 3


def test_rows_of_before_how_to_read_them_was_kept_are_read_as_by_default(
    memory_file: Path, chat: Path, cli: Cli, server: ModelServer
) -> None:
    let_wait(cli, memory_file, chat)
    execute(memory_file, "UPDATE waiting_messages SET content = json_remove(content, '$.options')")
    server.responder = remembering(LYON)
    assert maintain(cli, memory_file, *asking(server)).code == 0
    assert contents(memory_file) == [LYON["content"]]


def test_a_row_of_which_nobody_knows_how_to_read_it_ends_with_10_and_changes_nothing(
    memory_file: Path, chat: Path, cli: Cli, server: ModelServer
) -> None:
    let_wait(cli, memory_file, chat)
    execute(memory_file, "UPDATE waiting_messages SET content = "
            "json_set(content, '$.options.days', json('{\"fact\": -3}'))")  # fmt: skip
    before = picture(memory_file, (*EVERY_TABLE, "runs"))
    ended = maintain(cli, memory_file, *asking(server))
    assert (ended.code, "the waiting part of chat.txt cannot be read" in ended.err) == (10, True)
    assert picture(memory_file, (*EVERY_TABLE, "runs")) == before


def test_without_a_model_nothing_is_taken_up_and_every_report_says_how_many_wait(
    memory_file: Path, chat: Path, cli: Cli, server: ModelServer, tmp_path: Path
) -> None:
    let_wait(cli, memory_file, chat)
    said = "1 conversation part waits for a model"
    night = maintain(cli, memory_file, setting("metrics_file", tmp_path / "m.prom"),
                     setting("report", tmp_path / "night.html"))  # fmt: skip
    assert (night.code, said in night.out) == (0, True)
    assert said in (tmp_path / "night.html").read_text()
    parts = metrics(tmp_path / "m.prom")["slowwave_conversation_parts"]
    assert parts == {("read",): 0, ("waiting",): 1}
    assert maintain(cli, memory_file, "--json").json["conversations"]["waiting"] == 1
    assert said in cli("log", "--stats", memory_file).out
    dry = maintain(cli, memory_file, "--dry-run", setting("report", tmp_path / "plan.md"))
    assert said in dry.out
    assert said in (tmp_path / "plan.md").read_text()
    # With a model it is work to do, and nobody is asked in a dry run.
    asked = maintain(cli, memory_file, *asking(server), "--dry-run", "--exit-code")
    assert (asked.code, asked.json["conversations"]["waiting"], server.asked) == (4, 1, [])
    plain = maintain(cli, memory_file, "--dry-run", "--model", "openai/scripted",
                     setting("api_base", server.base))  # fmt: skip
    assert "a real run reads that first" in plain.out


def test_a_report_and_metrics_say_what_was_taken_up(
    memory_file: Path, chat: Path, cli: Cli, server: ModelServer, tmp_path: Path
) -> None:
    let_wait(cli, memory_file, chat)
    server.responder = remembering(LYON)
    maintain(cli, memory_file, *asking(server), setting("metrics_file", tmp_path / "m.prom"),
             setting("report", tmp_path / "night.md"))  # fmt: skip
    said = "1 conversation part was read (2 calls): 1 stored."
    assert said in (tmp_path / "night.md").read_text()
    parts = metrics(tmp_path / "m.prom")["slowwave_conversation_parts"]
    assert parts == {("read",): 1, ("waiting",): 0}


@pytest.mark.parametrize("reply", [refuses(401), says("")], ids=["refuses", "says nothing"])
def test_what_a_model_cannot_read_at_night_either_waits_on_and_ends_with_3(
    reply: Reply, memory_file: Path, chat: Path, cli: Cli, server: ModelServer
) -> None:
    let_wait(cli, memory_file, chat)
    server.responder = lambda asked: reply
    failed = maintain(
        cli, memory_file, "--model", "openai/scripted", setting("api_base", server.base)
    )
    assert (failed.code, "1 conversation part waits on since 2" in failed.out) == (3, True)
    assert cli("log", "--stats", memory_file, "--json").json["conversations_waiting"] == 1
    at = setting("api_base", server.base)
    quiet = maintain(cli, memory_file, "--model", "openai/scripted", at, "--quiet")
    assert (quiet.code, quiet.out) == (3, "")
    assert quiet.err
    server.responder = remembering(LYON)
    assert maintain(cli, memory_file, *asking(server)).json["conversations"]["read"] == 1


def test_conversations_and_the_night_share_one_budget(
    memory_file: Path, chat: Path, cli: Cli, server: ModelServer
) -> None:
    chat.with_name("other.txt").write_text(OTHER)
    fill(memory_file, ["The wiki is backed up at night.", "The backup of the wiki is at night."])
    let_wait(cli, memory_file, chat, chat.with_name("other.txt"))
    server.responder = remembering(LYON)
    ended = maintain(
        cli, memory_file, *asking(server), setting("max_calls", 2), setting("concurrency", 1)
    )
    assert (ended.code, len(server.asked)) == (3, 2)
    told = ended.json["conversations"]
    assert (told["read"], told["unread"], told["waiting"]) == (1, 1, 1)
    assert "budget of 2 calls" in told["why"]
    assert {one["state"] for one in ended.json["questions"]} <= {"skipped"}


def test_each_tenants_conversations_are_a_run_of_their_own_and_others_go_on_waiting(
    memory_file: Path, chat: Path, cli: Cli, server: ModelServer
) -> None:
    chat.with_name("other.txt").write_text(OTHER)
    let_wait(cli, memory_file, chat, options=("--tenant", "ines"))
    let_wait(cli, memory_file, chat.with_name("other.txt"), options=("--tenant", "bo"))
    server.responder = remembering(LYON)
    first = maintain(cli, memory_file, *asking(server), "--tenant", "ines")
    assert (first.code, first.json["conversations"]["read"]) == (0, 1)
    assert [one["tenant"] for one in rows(memory_file, "SELECT tenant FROM memories")] == ["ines"]
    third = chat.with_name("third.txt")
    third.write_text("User: I teach Spanish in Graz.\nAssistant: ok\n")
    let_wait(cli, memory_file, third, options=("--tenant", "ada"))
    server.responder = remembering(BIKE)
    second = maintain(cli, memory_file, *asking(server))
    assert len(second.json["conversations"]["runs"]) == 2
    assert cli("log", "--stats", memory_file, "--json").json["conversations_waiting"] == 0


def test_all_phases_take_up_what_waits_and_a_run_of_other_phases_does_not(
    memory_file: Path, chat: Path, cli: Cli, server: ModelServer
) -> None:
    let_wait(cli, memory_file, chat)
    server.responder = remembering(LYON)
    expired = cli("maintain", memory_file, "--phase", "expire", *asking(server))
    assert (expired.json["conversations"]["read"], server.asked) == (0, [])
    every = cli("maintain", memory_file, "--phase", "all", *asking(server))
    assert (every.code, every.json["conversations"]["read"]) == (0, 1)


def test_a_backup_is_made_before_what_waits_is_read(
    memory_file: Path, chat: Path, cli: Cli, server: ModelServer
) -> None:
    let_wait(cli, memory_file, chat)
    server.responder = remembering(LYON)
    ended = maintain(cli, memory_file, *asking(server), "--backup")
    backup = Path(ended.json["backup"])
    assert contents(backup) == []
    assert contents(memory_file) == [LYON["content"]]


def test_answers_about_what_waits_are_recorded_and_replayed(
    memory_file: Path, chat: Path, cli: Cli, server: ModelServer, tmp_path: Path
) -> None:
    let_wait(cli, memory_file, chat)
    copy = tmp_path / "copy.db"
    copy.write_bytes(memory_file.read_bytes())
    server.responder = remembering(LYON)
    record = tmp_path / "answers.jsonl"
    assert maintain(cli, memory_file, *asking(server), setting("record", record)).code == 0
    asked = len(server.asked)
    again = maintain(cli, copy, setting("replay", record), "--json")
    assert (again.code, contents(copy), len(server.asked)) == (0, [LYON["content"]], asked)


def test_a_night_interrupted_while_it_reads_what_waits_leaves_it_waiting(
    memory_file: Path, chat: Path, cli: Cli, server: ModelServer
) -> None:
    let_wait(cli, memory_file, chat)
    server.responder = lambda asked: SILENT
    configure(memory_file, api_base=server.base)
    command = [sys.executable, "-m", "slowwave.cli", "maintain", str(memory_file),
               "--model", "openai/scripted"]  # fmt: skip
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=os.environ
    ) as running:
        try:
            for _ in range(1_200):
                if server.asked:
                    break
                time.sleep(0.05)
            running.send_signal(signal.SIGINT)
            out, err = running.communicate(timeout=30)
        finally:
            running.kill()
    assert (running.returncode, b"Traceback" in err) == (130, False), (out, err)
    assert cli("log", "--stats", memory_file, "--json").json["conversations_waiting"] == 1
    assert cli("check", memory_file).code == 0


def test_an_agents_own_night_takes_up_what_waits_and_says_so(
    memory_file: Path, chat: Path, cli: Cli, server: ModelServer
) -> None:
    let_wait(cli, memory_file, chat)
    server.responder = remembering(LYON)

    async def conversation(client: Client) -> tuple[Any, Any]:
        shown = await ask(client, "consolidate_run", dry_run=True)
        return shown["conversations"], (await ask(client, "consolidate_run"))["conversations"]

    model = ("--model", "openai/scripted", setting("api_base", server.base))
    shown, done = in_this_process(conversation, memory_file, "--allow-writes", *model)
    assert (shown["waiting"], shown["read"], done["waiting"], done["read"]) == (1, 0, 0, 1)


def test_the_log_tells_what_was_taken_up_before_the_night_and_undo_since_takes_both_back(
    memory_file: Path, chat: Path, cli: Cli, server: ModelServer
) -> None:
    fill(memory_file, ["The wiki is backed up at night.", "The wiki is backed up at night"])
    let_wait(cli, memory_file, chat)
    before = picture(memory_file, EVERY_TABLE)
    server.responder = remembering(LYON)
    ended = maintain(cli, memory_file, *asking(server))
    (taken_up,) = ended.json["conversations"]["runs"]
    logged = [one["id"] for one in cli("log", memory_file, "--json").json["runs"]]
    assert logged[-2:] == [taken_up, ended.json["run"]] == sorted(logged)[-2:]
    assert cli("undo", memory_file, "--since", taken_up).code == 0
    assert picture(memory_file, ["memories"]) == {"memories": before["memories"]}
