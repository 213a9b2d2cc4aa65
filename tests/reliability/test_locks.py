"""Concurrent threads, servers and agents: no acknowledged write is lost.

A plain SQL writer runs next to each of them, and opens and closes the file for each write: the last
connection to close deletes the log, also of connections whose locks are gone.
"""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import anyio
import pytest
from mcp import Client
from mcp_client import ask, over_a_pipe, over_http, serving
from nights import TWINS, daily, fill, rows
from reliability.processes import in_background

from slowwave.cli.app import run
from slowwave.store.file import create_file

Rounds = Callable[[int, int], int]
WRITES = "--allow-writes"
AT_ONCE = 3

WRITER = """
import json, select, sqlite3, sys
from contextlib import closing
path, pause = sys.argv[1], float(sys.argv[2])
kept = []
print("ready", flush=True)
while not select.select([sys.stdin], [], [], pause)[0]:
    with closing(sqlite3.connect(path, timeout=60, isolation_level=None)) as db:
        row = (f"sql-{len(kept)}", f"The plain writer noted number {len(kept)}.")
        db.execute("INSERT INTO memories (id, content) VALUES (?, ?)", row)
        kept.append(row[0])
print(json.dumps({"kept": kept}))
"""

# An agent with a connection of its own, which it keeps, and in a transaction of which it calls
# what its second argument names. What has come back from COMMIT is acknowledged.
AGENT = """
import json, sqlite3, sys, time
from slowwave.consolidation.agent import AgentMemory
path, call = sys.argv[1:]
kept = []
db = sqlite3.connect(path, timeout=60, isolation_level=None)
with AgentMemory(path) as memory:
    for number in range(25):
        db.execute("BEGIN IMMEDIATE")
        row = (f"agent-{number}", f"The agent noted number {number}.")
        db.execute("INSERT INTO memories (id, content) VALUES (?, ?)", row)
        if number == 12 and call == "stats":
            memory.stats()
        db.execute("COMMIT")
        kept.append(row[0])
        if number == 12 and call == "add":
            db.execute("BEGIN")
            db.execute("SELECT count(*) FROM memories").fetchone()
            kept.append(memory.add("The agent added this by the interface."))
            db.execute("COMMIT")
        time.sleep(0.01)
print(json.dumps(kept))
"""


def assert_all_there(path: Path, acknowledged: Iterable[str]) -> None:
    """Require that the file has every acknowledged write and consistent runs."""
    assert run(["check", str(path), "--quiet"]) == 0
    expected = set(acknowledged)
    there = {row["id"] for row in rows(path, "SELECT id FROM memories")}
    assert sorted(expected - there) == []
    assert rows(path, "SELECT id FROM runs WHERE outcome = 'running'") == []


async def remember(client: Client, who: str, count: int) -> list[str]:
    """Make concurrent calls, and return the acknowledged ids."""
    ids: list[str] = []

    async def calls(index: int) -> None:
        for number in range(count):
            text = f"{who} remembers number {number} of row {index}."
            ids.append((await ask(client, "remember", text=text))["id"])

    async with anyio.create_task_group() as tasks:
        for index in range(AT_ONCE):
            tasks.start_soon(calls, index)
    return ids


def test_two_servers_lose_no_write(memory_file: Path, rounds: Rounds) -> None:
    def server(who: str) -> list[str]:
        async def conversation(client: Client) -> list[str]:
            return await remember(client, who, rounds(40, 400))

        return over_a_pipe(conversation, memory_file, WRITES)

    with in_background(WRITER, memory_file, 0.05) as writer, ThreadPoolExecutor() as pool:
        acknowledged = [memory_id for ids in pool.map(server, ("Ada", "Ben")) for memory_id in ids]
    assert_all_there(memory_file, acknowledged + writer()["kept"])


def test_a_server_over_http_loses_no_acknowledged_write(memory_file: Path, rounds: Rounds) -> None:
    async def conversation(client: Client) -> list[str]:
        return await remember(client, "Cleo", rounds(40, 400))

    with (
        serving(memory_file, WRITES) as (address, _),
        in_background(WRITER, memory_file, 0.002) as writer,
    ):
        acknowledged = over_http(conversation, address)
    assert_all_there(memory_file, acknowledged + writer()["kept"])


def test_runs_of_a_server_survive_concurrent_reads(memory_file: Path, rounds: Rounds) -> None:
    fill(memory_file, daily(TWINS, "twin"))
    runs: list[str] = []

    async def conversation(client: Client) -> None:
        async def nights() -> None:
            for number in range(rounds(2, 8)):
                await ask(client, "remember", text=f"The kettle has {number} holes.")
                runs.append((await ask(client, "consolidate_run"))["run"])
            looking.cancel()

        async def looks() -> None:
            while True:
                await ask(client, "memory_stats")

        with anyio.CancelScope() as looking:
            async with anyio.create_task_group() as tasks:
                for _ in range(AT_ONCE):
                    tasks.start_soon(looks)
                tasks.start_soon(nights)

    with in_background(WRITER, memory_file, 0.1) as writer:
        over_a_pipe(conversation, memory_file, WRITES)
    assert_all_there(memory_file, writer()["kept"])
    there = {row["id"] for row in rows(memory_file, "SELECT id FROM runs")}
    assert set(filter(None, runs)) <= there


@pytest.mark.parametrize("call", ["stats", "add"])
def test_commits_around_calls_last(call: str, tmp_path: Path, rounds: Rounds) -> None:
    for number in range(rounds(1, 12)):
        path = tmp_path / f"memory-{number}.db"
        create_file(path)
        with in_background(WRITER, path, 0.01) as writer:
            agent = subprocess.run(
                [sys.executable, "-c", AGENT, str(path), call],
                capture_output=True,
                text=True,
                check=False,
            )
        assert agent.returncode == 0, agent.stderr
        assert_all_there(path, json.loads(agent.stdout) + writer()["kept"])
