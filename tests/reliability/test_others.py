"""Agents that write during a run, and two runs at the same time."""

from __future__ import annotations

import json
import os
import shutil
import signal
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import night as fixture
import pytest
from builders import process, whole
from cli_calls import Cli
from nights import fill, night, rows
from reliability.processes import in_background, small_night
from reliability.scenes import in_mode

from slowwave.consolidation.vectors.embedder import SentenceEmbedder
from slowwave.store.file import create_file

# Holds on to the file until it is killed.
LOCKING = """
import sys
from pathlib import Path
from slowwave.store.lock import maintenance_lock
with maintenance_lock(Path(sys.argv[1])):
    print("ready", flush=True)
    sys.stdin.read()
"""

Rounds = Callable[[int, int], int]
MODES = ("wal", "delete")
NAMES = ("ada", "ben", "cleo")

# An agent that knows plain SQL and nothing of slowwave. It keeps a diary of what it did last to
# each memory, and stops when its stdin ends.
AGENT = """
import json, random, select, sqlite3, sys, time
path, name = sys.argv[1:]
chance = random.Random(name)
db = sqlite3.connect(path, isolation_level=None)
diary, mine, failed = {}, [], []

def write(sql, *values):
    try:
        return db.execute(sql, values).rowcount
    except sqlite3.OperationalError as error:
        failed.append(str(error))
        return 0

theirs = [row[0] for row in db.execute("SELECT id FROM memories WHERE id LIKE ?", [name + "-%"])]
print("ready", flush=True)
while not select.select([sys.stdin], [], [], 0)[0]:
    kind = chance.choice(["insert", "insert", "change", "change", "delete", "read"])
    # Not without end, or the nights that follow would have all of it to read.
    if kind == "insert" and len(mine) < 40:
        memory = f"{name}-new-{len(mine)}"
        text = f"{name} wrote note {len(mine)} about shelf {chance.randrange(10**6)}."
        if write("INSERT INTO memories (id, content) VALUES (?, ?)", memory, text):
            diary[memory] = text
            mine.append(memory)
    elif kind == "read" and theirs:
        memory = chance.choice(theirs)
        write("UPDATE memories SET access_count = access_count + 1 WHERE id = ?", memory)
    elif theirs or mine:
        # Its own are always there; those that it only takes part in may be superseded by now.
        memory = chance.choice(mine if mine and chance.random() < 0.5 else theirs)
        if diary.get(memory, "") is None:
            continue
        if kind == "delete" and chance.random() < 0.2:
            if write("DELETE FROM memories WHERE id = ? AND status = 'active'", memory):
                diary[memory] = None
        elif kind != "delete":
            text = f"{name} has now changed {memory} to {chance.randrange(10**9)}."
            sql = "UPDATE memories SET content = ? WHERE id = ? AND status = 'active'"
            if write(sql, text, memory):
                diary[memory] = text
    time.sleep(chance.random() * 0.004)
print(json.dumps({"diary": diary, "failed": failed}))
"""

# Tries for the write lock without waiting, and measures the longest time in which it was refused.
PROBE = """
import json, select, sqlite3, sys, time
db = sqlite3.connect(sys.argv[1], timeout=0, isolation_level=None)
longest, refused_since, tries = 0.0, None, 0
print("ready", flush=True)
while not select.select([sys.stdin], [], [], 0)[0]:
    now = time.monotonic()
    try:
        db.execute("BEGIN IMMEDIATE")
        db.execute("UPDATE memories SET access_count = access_count WHERE id = 'nobody'")
        db.execute("COMMIT")
        tries += 1
        if refused_since is not None:
            longest = max(longest, time.monotonic() - refused_since)
        refused_since = None
    except sqlite3.OperationalError:
        if db.in_transaction:
            db.execute("ROLLBACK")
        refused_since = refused_since or now
    time.sleep(0.0005)
print(json.dumps({"longest": longest, "tries": tries}))
"""


def shared_night(path: Path, count: int, mode: str) -> Path:
    """Make a file of `count` memories; every second one belongs to an agent."""
    create_file(path)
    chosen = fixture.with_duplicates(fixture.lines_of(fixture.load().memories[:count]))
    lines = list(map(json.loads, chosen))
    for index, line in enumerate(lines):
        if index % 2 == 0:
            line["id"] = f"{NAMES[index // 2 % len(NAMES)]}-{index}"
    fill(path, lines)
    return in_mode(path, mode)


def check_diary(path: Path, diary: dict[str, str | None]) -> None:
    """Require that no last write of an agent is lost or overwritten."""
    every = rows(path, "SELECT id, content, status, superseded_by FROM memories")
    now = {row["id"]: row for row in every}
    for memory, text in diary.items():
        if text is None:
            assert memory not in now
            continue
        row = now[memory]
        assert row["content"] == text
        assert row["status"] == "active" or row["superseded_by"] in now
    gone = rows(
        path,
        "SELECT source_id FROM synthesized_from WHERE source_content IS NULL "
        "AND source_id NOT IN (SELECT id FROM memories)",
    )
    assert gone == []


@pytest.fixture
def chosen_mode(mode: str, rounds: Rounds) -> None:
    """Skip the other journal mode unless `make test-long` runs it."""
    if mode not in MODES[: rounds(1, len(MODES))]:
        pytest.skip("part of make test-long")


@contextmanager
def agents_at_work(path: Path) -> Iterator[None]:
    """Run agents that write during the block, then check the file against their diaries."""
    with ExitStack() as stack:
        agents = [stack.enter_context(in_background(AGENT, path, name)) for name in NAMES]
        yield
    for agent in agents:
        item = agent()
        assert item["failed"] == []
        check_diary(path, item["diary"])


def settled(path: Path, embedder: SentenceEmbedder) -> None:
    """Run nights without agents: stale proposals are made again, then none are left."""
    for _ in range(3):
        night(path, embedder)
    assert night(path, embedder).plan.proposals == ()
    assert whole(path)


@pytest.mark.usefixtures("chosen_mode")
@pytest.mark.parametrize("mode", MODES)
def test_agents_lose_no_write_during_a_run(
    mode: str, tmp_path: Path, cli: Cli, embedder: SentenceEmbedder, rounds: Rounds
) -> None:
    path = shared_night(tmp_path / "memory.db", rounds(150, 400), mode)
    with agents_at_work(path):
        for _ in range(rounds(1, 2)):
            ended = cli("maintain", path, "--consolidate", "--json")
            assert ended.code == 0, ended.err
    assert whole(path)
    settled(path, embedder)


@pytest.mark.usefixtures("chosen_mode")
@pytest.mark.parametrize("mode", MODES)
def test_agents_lose_no_write_during_undo_and_import(
    mode: str, tmp_path: Path, cli: Cli, embedder: SentenceEmbedder, rounds: Rounds
) -> None:
    path = shared_night(tmp_path / "memory.db", rounds(150, 400), mode)
    lines = tmp_path / "more.jsonl"
    lines.write_text("".join(f'{{"content": "Line {n} of the import."}}\n' for n in range(2000)))
    night(path, embedder)
    run = rows(path, "SELECT id FROM runs")[-1]["id"]
    with agents_at_work(path):
        memory = rows(path, "SELECT id FROM memories WHERE status = 'superseded'")[0]["id"]
        commands = (["undo", path, memory], ["import", path, lines], ["undo", path, run])
        for command in commands:
            ended = cli(*command, "--json")
            # Later changes of an agent prevent an undo, and stay.
            assert ended.code in ((0, 1) if command[0] == "undo" else (0,)), ended.err
    assert whole(path)


@pytest.mark.usefixtures("chosen_mode")
@pytest.mark.parametrize("mode", MODES)
def test_the_write_lock_is_held_only_briefly(
    mode: str, tmp_path: Path, cli: Cli, rounds: Rounds
) -> None:
    path = tmp_path / "memory.db"
    create_file(path)
    lines_told = fixture.load().memories[: rounds(150, 1000)]
    lines = tmp_path / "lines.jsonl"
    lines.write_text("\n".join(fixture.with_duplicates(fixture.lines_of(lines_told))))
    in_mode(path, mode)
    for command in (["import", path, lines], ["maintain", path, "--consolidate"], ["undo", path]):
        if command[0] == "undo":
            command.append(rows(path, "SELECT id FROM runs")[-1]["id"])
        with in_background(PROBE, path) as probe:
            ended = cli(*command, "--quiet")
            assert ended.code == 0, ended.err
        # Generous: the machine may be busy. What is promised is a fifth of it.
        assert probe()["longest"] < 5.0


@pytest.fixture(scope="module")
def ready(tmp_path_factory: pytest.TempPathFactory, embedder: SentenceEmbedder) -> Path:
    """Provide a file that has all its vectors."""
    return small_night(tmp_path_factory.mktemp("ready") / "memory.db", 60, embedder)


def test_a_second_run_exits_11_but_reads_work(ready: Path, tmp_path: Path, cli: Cli) -> None:
    path = Path(shutil.copyfile(ready, tmp_path / "memory.db"))
    memory = rows(path, "SELECT id FROM memories LIMIT 1")[0]["id"]
    link = tmp_path / "link.db"
    link.symlink_to(path)
    with process(LOCKING, path):
        for command in (
            ["maintain", path, "--consolidate"],
            ["maintain", link, "--consolidate"],
            ["maintain", path, "--phase", "purge"],
            ["undo", path, "0"],
            ["undo", path, memory],
        ):
            ended = cli(*command)
            assert ended.code == 11, (command, ended.err)
            assert "Another maintenance run has locked" in ended.err
        for command in (
            ["maintain", path, "--consolidate", "--dry-run", "--only", "merge"],
            ["check", path],
            ["export", path],
            ["add", path, "The kiln is cold."],
        ):
            ended = cli(*command)
            assert ended.code == 0, (command, ended.err)


def test_a_leftover_lock_file_does_not_block(ready: Path, tmp_path: Path, cli: Cli) -> None:
    path = Path(shutil.copyfile(ready, tmp_path / "memory.db"))
    with process(LOCKING, path) as holder:
        os.kill(holder.pid, signal.SIGKILL)
        holder.wait()
        lock = tmp_path / "memory.db.maintenance.lock"
        assert lock.exists()
        lock.chmod(0o444)
        ended = cli("maintain", path, "--consolidate", "--only", "merge", "--quiet")
        assert (ended.code, ended.err) == (0, "")
