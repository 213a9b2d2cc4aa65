"""SQLite alone opens a database: no command, tool or call opens one by hand, nor its log.

To close such a descriptor drops the locks of every connection of the process. An audit hook sees
each file that Python opens; what SQLite opens by itself it does not see. Children are processes of
their own, and may read what is damaged.
"""

from __future__ import annotations

import json
import os
import re
import sqlite3
import sys
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

import pytest
from mcp import Client
from mcp_client import ask, in_this_process
from model_nights import SMOKE
from nights import TWINS, daily, fill, rows
from places import FIXTURES, FORMATS
from readme import every_command

from slowwave.cli.app import run
from slowwave.consolidation.agent import AgentMemory
from slowwave.consolidation.model.answer_forms import StatedGroup

# In these tests each database is called so, wherever it lies: a mirror and a copy, too.
_DATABASE = re.compile(r".*\.(?:db|copy|new)(?:-wal|-shm|-journal|\.backup-[^.]*)?")
_seen: list[list[str]] = []


def _notice(event: str, arguments: tuple[Any, ...]) -> None:
    if event != "open" or not _seen or isinstance(arguments[0], int):
        return
    name, _, flags = arguments
    path = os.path.realpath(os.fsdecode(name))
    # What is made here, and only if nothing has the name, nobody can have open.
    if _DATABASE.fullmatch(Path(path).name) and not flags & os.O_EXCL:
        _seen[-1].append(path)


sys.addaudithook(_notice)


@contextmanager
def nothing_opened_by_hand(below: Path = Path("/")) -> Iterator[None]:
    """Fail if this process opens a database in a folder other than through SQLite."""
    _seen.append([])
    try:
        yield
    finally:
        opened = _seen.pop()
    assert [path for path in opened if Path(path).is_relative_to(below)] == []


# What each command is called with: a list for each of its calls, and a code other than 0 in front.
CALLS: dict[str, list[str]] = {
    "add": ["add {file} A-new-text"],
    "import": [
        "import {folder}/new.db --empty",
        "import {file} {lines}",
        "import {file} {jsonl} --from mcp-server-memory",
    ],
    "export": ["export {file} --all --vectors", "export {file} --wiki {folder}/wiki"],
    "ingest": [
        "ingest {file} {talk}",
        "ingest {file} {talk} --again --dry-run",
    ],
    "maintain": [
        "maintain {file} --phase all --dry-run --plan-out {folder}/plan.json",
        "maintain {file} --phase all --backup --config {settings}",
        "maintain {file} --backup --config {settings}",
        "maintain {file} --full --config {settings}",
        "maintain {file} {other} --review always",
    ],
    "dream": ["import {folder}/empty.db --empty", "dream {folder}/empty.db"],
    "questions": ["questions {file}"],
    "answer": ["3 answer {file} {answers}"],
    "review list": ["review {pending}"],
    "review show": ["review show {pending} {proposal}"],
    "review approve": ["review approve {pending} {proposal}"],
    "review decline": ["review decline {pending} --all --reason no"],
    "review edit": ["1 review edit {pending} {proposal} --text No."],
    "review apply": ["review apply {pending} {plan}"],
    "list": ["list {file}"],
    "show": ["show {file} {memory}", "show {file} {memory} --lineage"],
    "recall": ["recall {file} kettle", "recall {file} kettle --archived"],
    "eval": ["eval {file} {questions}"],
    "audit": ["audit {file}"],
    "rules": ["rules {file}"],
    "conflicts list": ["conflicts {file}"],
    "conflicts resolve": ["1 conflicts resolve {file} 0000 --both"],
    "correct": [
        "correct {file} {memory} --pin",
        "correct {file} {memory} --text Another-text.",
        "correct {other} {memory} --retract",
    ],
    "log": [
        "log {file}",
        "log {file} {run}",
        "log {file} --diff",
        "log {file} --html {folder}/report.html --md {folder}/report.md",
        "log {file} --stats",
    ],
    "undo": ["undo {file} {superseded}", "undo {other} {run}", "1 undo {file} {memory}"],
    "forget": [
        "forget {file} {memory} --dry-run",
        "forget {file} {memory} --derived --yes",
        "2 forget {other} {memory}",
    ],
    "check": ["check {file}"],
    "shared admit": ["shared admit {file} ada --author ada --human"],
    "shared publish": [
        "shared admit {file} ada --author ada --human",
        "shared publish {file} colour The-colour-is-blue. --author ada",
    ],
    "shared retract": ["1 shared retract {file} colour --author ada"],
    "shared dismiss": ["1 shared dismiss {file} ada --author ada"],
    "shared list": ["shared list {file}"],
    "shared log": ["shared log {file}"],
    "shared authors": ["shared authors {file}"],
    "experience add": ["experience add {file} {traces}"],
    "experience compress": ["experience add {file} {traces}", "experience compress {file}"],
    "formats": ["formats"],
    # Its tools are called below.
    "mcp": ["2 mcp {file} --max-cost 1"],
    "model-check": ["1 model-check --model no/such"],
    "fleet maintain": ["fleet maintain {fleet} --workers 1"],
    "fleet report": [
        "fleet maintain {fleet} --workers 1",
        "fleet report {fleet}/.slowwave-receipts",
    ],
}


@pytest.fixture(scope="module")
def after_a_run(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    """Provide a file after a night."""
    path = tmp_path_factory.mktemp("lived") / "memory.db"
    assert run(["import", str(path), str(SMOKE), "--quiet"]) == 0
    assert run(["maintain", str(path), "--consolidate", "--quiet"]) == 0
    return copied(path)


@pytest.fixture(scope="module")
def waiting(tmp_path_factory: pytest.TempPathFactory) -> tuple[bytes, str]:
    """Provide a file with two pending proposals, and a plan that can be applied."""
    path = tmp_path_factory.mktemp("waiting") / "memory.db"
    plan = path.with_name("plan.json")
    assert run(["import", str(path), str(SMOKE), "--quiet"]) == 0
    fill(path, daily(TWINS, "twin"))
    dry_run = ["maintain", str(path), "--consolidate", "--dry-run", "--plan-out", str(plan)]
    assert run([*dry_run, "--quiet"]) == 0
    assert run(["maintain", str(path), "--consolidate", "--review", "always", "--quiet"]) == 0
    return copied(path), plan.read_text("utf-8")


def copied(path: Path) -> bytes:
    """Return the bytes of a file that nobody has open."""
    with closing(sqlite3.connect(path)) as db:
        db.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    return path.read_bytes()


@pytest.fixture
def places(tmp_path: Path, after_a_run: bytes, waiting: tuple[bytes, str]) -> dict[str, str]:
    """Provide the values for names in braces in the calls."""
    file, pending = tmp_path / "memory.db", tmp_path / "pending.db"
    fleet = tmp_path / "fleet"
    fleet.mkdir()
    for path in (file, tmp_path / "other.db", fleet / "a.db", fleet / "b.db"):
        path.write_bytes(after_a_run)
    pending.write_bytes(waiting[0])
    texts = {
        "plan": waiting[1],
        "lines": '{"content": "A line of an import."}\n',
        "answers": '{"id": "unknown", "answer": {"groups": []}}\n',
        "jsonl": '{"type":"entity","name":"Ada","entityType":"x","observations":["She rows."]}\n',
        "talk": "User: My name is Ada, and I live in Graz.\nAssistant: Noted.\n",
        "traces": (FIXTURES / "experience.jsonl").read_text("utf-8"),
    }
    (memory,) = rows(file, "SELECT id FROM memories WHERE status = 'active' LIMIT 1")
    question = {"id": "q1", "question": "Which kettle?", "evidence_ids": [memory["id"]]}
    texts["questions"] = json.dumps(question)
    texts["settings"] = (
        f"keep_backups = 1\nwiki = '{tmp_path}/wiki'\nreport = '{tmp_path}/night.html'\n"
        f"metrics_file = '{tmp_path}/night.prom'\n"
    )
    values = {
        "memory": memory["id"],
        "folder": str(tmp_path),
        "file": str(file),
        "fleet": str(fleet),
    }
    for name, text in texts.items():
        (tmp_path / f"{name}.txt").write_text(text, "utf-8")
        values[name] = str(tmp_path / f"{name}.txt")
    (superseded,) = rows(file, "SELECT id FROM memories WHERE status = 'superseded' LIMIT 1")
    # Two that the night did not change.
    untouched = "SELECT id FROM memories WHERE id NOT IN (SELECT json_extract(row_key, '$.id') "
    wrong, false = rows(file, f"{untouched} FROM journal WHERE table_name = 'memories') LIMIT 2")
    (night,) = rows(file, "SELECT id FROM runs LIMIT 1")
    (proposal,) = rows(pending, "SELECT key FROM proposals WHERE state = 'pending' LIMIT 1")
    return values | {
        "other": str(tmp_path / "other.db"),
        "pending": str(pending),
        "superseded": superseded["id"],
        "wrong": wrong["id"],
        "false": false["id"],
        "run": night["id"],
        "proposal": proposal["key"],
    }


def test_each_command_is_called() -> None:
    assert set(CALLS) == set(every_command())


@pytest.mark.parametrize("command", CALLS)
def test_a_command_opens_no_database_by_hand(command: str, places: dict[str, str]) -> None:
    if command.startswith("fleet"):
        pytest.importorskip("obstore", reason="with slowwave[fleet]", exc_type=ModuleNotFoundError)
    for call in CALLS[command]:
        code, *words = call.split() if call[0].isdigit() else ("0", *call.split())
        with nothing_opened_by_hand():
            assert run([word.format(**places) for word in words]) == int(code), call


TEXTS = {
    "import {file} {file}": 1,
    "ingest {file} {file}": 1,
    "ingest {file} {talk} --instructions @{file}": 2,
    "experience add {file} {file}": 1,
    "apply {file} {file}": 1,
    "eval {file} {file}": 1,
    "answer {file} {file}": 1,
    "stats {file} --config {file}": 2,
    "maintain {file} --consolidate --replay {file}": 2,
    "maintain {file} --consolidate --model openai/any --record {file}": 2,
    "maintain {file} --consolidate --report {file}": 2,
    "maintain {file} --consolidate --metrics-file {file}": 1,
    "maintain {file} --consolidate --format hermes": 10,
    "maintain {file} --consolidate --format mcp-server-memory": 10,
    "recall {file} kettle --format markdown": 10,
}


@pytest.mark.parametrize("call", TEXTS)
def test_a_memory_file_in_place_of_a_text_is_refused_unopened(
    call: str, places: dict[str, str], capsys: pytest.CaptureFixture[str]
) -> None:
    before = copied(Path(places["file"]))
    with nothing_opened_by_hand():
        code = run([word.format(**places) for word in call.split()])
    assert (code, copied(Path(places["file"])) == before) == (TEXTS[call], True)
    assert capsys.readouterr().err


@pytest.mark.parametrize("name", ["mcp-memory-service", "langgraph", "claude-mem"])
@pytest.mark.parametrize("mode", ["wal", "delete"])
def test_no_database_of_another_agent_is_opened_by_hand(
    name: str, mode: str, tmp_path: Path, memory_file: Path
) -> None:
    path = tmp_path / "agent.db"
    with closing(sqlite3.connect(path)) as db:
        db.executescript((FORMATS / f"{name}.sql").read_text("utf-8"))
        db.execute(f"PRAGMA journal_mode = {mode}")
    calls = [
        ("log", "--stats", path),
        ("maintain", path, "--consolidate", "--dry-run"),
        ("import", memory_file, path, "--from", name),
    ]
    if name != "claude-mem":
        calls += [("maintain", path, "--consolidate", "--format", name), ("log", "--stats", path)]
    for call in calls:
        with nothing_opened_by_hand():
            assert run(list(map(str, call))) == 0


@pytest.mark.parametrize("name", ["mcp-memory-service", "langgraph", "claude-mem"])
def test_detecting_a_format_creates_no_file(name: str, tmp_path: Path) -> None:
    path = tmp_path / "agent.db"
    with closing(sqlite3.connect(path)) as db:
        db.executescript((FORMATS / f"{name}.sql").read_text("utf-8"))
        db.execute("PRAGMA journal_mode = WAL")
    before = path.read_bytes()
    # Found to be another agent's, and refused.
    assert run(["add", str(path), "A text."]) == 2
    assert (list(tmp_path.iterdir()), path.read_bytes()) == ([path], before)


def test_a_damaged_file_is_read_by_a_child_process(places: dict[str, str]) -> None:
    path = Path(places["file"])
    for altered in (b"\0" * 100, b"SQLite format 3\0" + b"\xff" * 84):
        path.write_bytes(altered + path.read_bytes()[100:])
        for words in (["log", "--stats"], ["check"], ["maintain", "--consolidate"]):
            with nothing_opened_by_hand():
                assert run([words[0], str(path), *words[1:]]) == 10
        # What it mends is a copy that lies elsewhere.
        with nothing_opened_by_hand(path.parent):
            assert run(["export", str(path)]) == 10


TOOLS: dict[str, Callable[[dict[str, str]], dict[str, object]]] = {
    "recall": lambda _: {"query": "kettle"},
    "memory_block": lambda _: {"query": "kettle"},
    "trace": lambda places: {"memory_id": places["memory"]},
    "memory_stats": lambda _: {},
    "remember": lambda _: {"text": "The kettle is blue."},
    "ingest": lambda _: {
        "messages": [{"role": "user", "content": "My kettle is blue."}],
        "conversation": "kitchen",
    },
    "consolidate_pending": lambda _: {},
    "consolidate_run": lambda _: {},
    "consolidation_questions": lambda _: {},
    "consolidation_answer": lambda _: {"answers": []},
    "consolidate_propose": lambda places: {"ids": [places["memory"]] * 2, "text": "No."},
    "pin": lambda places: {"memory_id": places["memory"]},
    "correct": lambda places: {"memory_id": places["wrong"], "text": "The kettle is red."},
    "retract": lambda places: {"memory_id": places["false"]},
    "feedback": lambda places: {"memory_id": places["memory"], "helpful": True},
    "undo": lambda places: {"run_or_proposal": places["run"]},
}
ON_PENDING = {"consolidate_apply": {}, "consolidate_decline": {"reason": "no"}}


def test_no_tool_opens_a_database_by_hand(places: dict[str, str]) -> None:
    async def conversation(client: Client) -> set[str]:
        for tool, arguments in TOOLS.items():
            await ask(client, tool, **arguments(places))
        await client.read_resource("slowwave://report/last")
        return {tool.name for tool in (await client.list_tools()).tools}

    async def decide(client: Client) -> None:
        for tool, more in ON_PENDING.items():
            waiting = await ask(client, "consolidate_pending")
            await ask(client, tool, proposal_id=waiting["proposals"][0]["id"], **more)

    with nothing_opened_by_hand():
        offered = in_this_process(conversation, places["file"], "--allow-writes")
        in_this_process(decide, places["pending"], "--allow-writes")
    assert offered == {*TOOLS, *ON_PENDING}


def test_no_method_of_agent_memory_opens_a_database_by_hand(tmp_path: Path) -> None:
    path = tmp_path / "memory.db"
    called = set()

    def call(name: str, *arguments: Any, **named: Any) -> Any:
        called.add(name)
        return getattr(memory, name)(*arguments, **named)

    with nothing_opened_by_hand(), AgentMemory(path) as memory:
        added = call("add", "The kettle is blue.")
        fill(path, daily(TWINS, "twin"))
        call("recall", "kettle")
        call("block", "kettle")
        call("trace", added)
        call("feedback", added, helpful=True)
        call("waiting")
        call("similar", "The kettle is red.")
        call("pin", added)
        call("pin", added, False, by="human")
        corrected = call("correct", added, "The kettle is red.")
        call("retract", corrected.memory.id)
        first = call("consolidate", dry_run=True).results[0]
        call("decline", first.proposal.id, "no")
        ran = call("consolidate")
        call("questions")
        call("answer", {})
        call("propose", StatedGroup(operation="merge", ids=[added], text="No."))
        call("ingest", [{"role": "user", "content": "The kettle is green."}])
        with call("conversation", "s-1") as talk:
            talk.say("user", "The kettle is loud.")
        call("stats")
        if ran.run_id is not None:
            call("undo", ran.run_id)
        with pytest.raises(Exception, match=r"."):
            call("apply", "0" * 32)
        call("forgettable", added)
        call("forget", added)
    assert called == {
        name for name in dir(AgentMemory) if callable(getattr(AgentMemory, name)) and name[0] != "_"
    }
