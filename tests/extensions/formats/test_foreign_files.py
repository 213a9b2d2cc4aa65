"""Files of other agents: kills and disk faults at any write, missing permissions, live agents."""

from __future__ import annotations

import os
import shutil
import sqlite3
import subprocess
import sys
from collections.abc import Callable
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

import live_agent
import pytest
from agents_files import RECORDED, recorded, texts_in
from cli_calls import Cli
from disturbed import undo_all
from nights import of_one_thing
from real_vec0 import make_memory_service
from reliability.crashing import Ended, Job, run
from reliability.disk import Fault, What, linked_library
from reliability.test_storage import is_reported
from search_tables import UPDATED, check_search_tables, dated_rows, vectors_in, visible

from slowwave.consolidation.vectors.embedder import SentenceEmbedder

Rounds = Callable[[int, int], int]
needs_a_disk = pytest.mark.skipif(
    linked_library() is None or os.geteuid() != 0,
    reason="it takes a SQLite to listen to, and root to lay permissions down",
)
VECTORS = "mcp-memory-service, vectors"
FAULTS: tuple[What, ...] = ("kill", "tear", "full", "error")
# The last one has vectors, so that texts are added and rows are deleted.
KINDS = [*(name for name in RECORDED if name != "claude-mem"), VECTORS]
# Each fault once: with a file, a folder and two databases.
OFTEN = dict(
    zip(("markdown", "claude-code", "mcp-memory-service", "langgraph"), FAULTS, strict=True)
)
# A file, a folder and a database.
FEW = ("markdown", "claude-code", "langgraph")


@dataclass(frozen=True)
class AgentFile:
    """The memory file of another agent, in a folder of its own."""

    name: str
    path: Path
    # What it holds, where that is not recorded.
    content_before: bytes = b""

    @property
    def format(self) -> str:
        """The name of its format."""
        return self.name.partition(",")[0]

    @property
    def folder(self) -> Path:
        """The folder whose writes are counted: that of the file and of its mirror."""
        return self.path.parent

    def renew(self) -> None:
        """Restore the file as its agent left it, and delete everything else in the folder."""
        shutil.rmtree(self.folder, ignore_errors=True)
        self.folder.mkdir(parents=True)
        if self.content_before:
            self.path.write_bytes(self.content_before)
        else:
            recorded(self.name, self.path)

    def content(self) -> object:
        """Return what its agent reads."""
        if self.path.is_dir():
            texts = {item.name: item.read_text() for item in sorted(self.path.iterdir())}
            # After a kill, its lines may be in another order.
            return texts | {"MEMORY.md": sorted(texts["MEMORY.md"].splitlines())}
        if not self.name.startswith(("mcp-memory", "langgraph")):
            return self.path.read_bytes()
        if self.name == VECTORS:
            # New rows come in any order, with any numbers.
            texts = visible(self.path)
            check_search_tables(self.path)
            return sorted(texts), len(vectors_in(self.path))
        with closing(sqlite3.connect(self.path)) as db:
            assert db.execute("PRAGMA integrity_check").fetchone() == ("ok",)
            return sorted(db.iterdump())

    def night(self, *more: str, fault: Fault | None = None, unprivileged: bool = False) -> Ended:
        """Maintain it, with a fault of the disk."""
        command = ("maintain", str(self.path), "--format", self.format, "--quiet", *more)
        return run(Job(command, fault or Fault(str(self.folder)), unprivileged=unprivileged))


@pytest.fixture(params=KINDS)
def agent_file(
    request: pytest.FixtureRequest, tmp_path: Path, embedder: SentenceEmbedder
) -> AgentFile:
    """Provide a file of each format."""
    name = str(request.param)
    # Hermes' files are recognized by their folder.
    folder, content = tmp_path / "memories", b""
    if name == VECTORS:
        request.getfixturevalue("long_only")
        path = tmp_path / "sqlite_vec.db"
        make_memory_service(path, dated_rows(*of_one_thing(), *UPDATED), embedder.encode)
        content = path.read_bytes()
    file = Path(RECORDED.get(name, "agent.sql"))
    file_of_agent = AgentFile(name, folder / (file.name.replace(".sql", ".db")), content)
    file_of_agent.renew()
    return file_of_agent


@pytest.fixture
def of_few(agent_file: AgentFile, rounds: Rounds) -> AgentFile:
    """Provide a file of each format in make test-long, otherwise of a few."""
    if agent_file.name not in FEW and rounds(1, 0):
        pytest.skip("in make test-long: here a file, a folder and a database")
    return agent_file


def moments(writes: int, count: int) -> list[int]:
    """Return writes spread over a run, the last ones among them: those to the agent's file."""
    early = range(1, writes, max(1, writes // max(1, count // 2)))
    late = range(max(1, writes - 30), writes + 1, max(1, 60 // count))
    return sorted({*early, *late})


@needs_a_disk
@pytest.mark.parametrize("what", FAULTS)
def test_the_run_after_a_fault_of_the_disk_ends_as_without_it(
    agent_file: AgentFile, what: What, cli: Cli, rounds: Rounds
) -> None:
    if OFTEN.get(agent_file.name) != what and rounds(1, 0):
        pytest.skip("each fault with each format: in make test-long")
    before = agent_file.content()
    touches = agent_file.night().touches
    after = agent_file.content()
    assert after != before
    for touch in moments(touches, rounds(1, 10)):
        agent_file.renew()
        fault = Fault(str(agent_file.folder), what, touch, lasting=what == "full")
        ended = agent_file.night(fault=fault)
        if what in ("kill", "tear"):
            assert ended.code == -9
        elif ended.code:
            is_reported(ended, 1, 3, 10)
        if not agent_file.path.is_dir():
            assert agent_file.content() in (before, after)
        cli("maintain", agent_file.path, "--format", agent_file.format, "--quiet").ends(0)
        assert agent_file.content() == after, touch
        undo_all(cli, agent_file.path)
        assert agent_file.content() == before, touch


@needs_a_disk
def test_a_read_only_folder_is_reported(of_few: AgentFile, tmp_path: Path) -> None:
    before, files = of_few.content(), sorted(of_few.folder.iterdir())
    folders = [of_few.folder, *([of_few.path] if of_few.path.is_dir() else [])]
    try:
        for folder in folders:
            folder.chmod(0o555)
        is_reported(of_few.night(unprivileged=True), 1, 10)
        ended = of_few.night("--dry-run", unprivileged=True)
        assert ended.code == 0, ended
        ended = of_few.night("--state", str(tmp_path / "state.db"), unprivileged=True)
        assert (ended.code, of_few.path.name in ended.err) == (1, True), ended
        assert sorted(of_few.folder.iterdir()) == files
    finally:
        for folder in folders:
            folder.chmod(0o755)
    assert of_few.content() == before


@needs_a_disk
def test_a_read_only_file_is_reported(of_few: AgentFile, cli: Cli) -> None:
    before = of_few.content()
    for path in [of_few.path, *sorted(of_few.path.glob("[!n]*.md"))]:  # notes.md is not a memory
        mode = path.stat().st_mode
        path.chmod(mode & ~0o222)
        ended = of_few.night(unprivileged=True)
        is_reported(ended, 1, 10)
        assert f"{path} is read-only. Nothing was changed." in " ".join(ended.err.split())
        assert of_few.content() == before
        path.chmod(mode)
    assert cli("maintain", of_few.path, "--format", of_few.format).code == 0
    assert of_few.content() != before


def test_an_agent_that_keeps_writing_loses_nothing(
    agent_file: AgentFile, cli: Cli, rounds: Rounds
) -> None:
    if agent_file.name not in ("markdown", "langgraph") and rounds(1, 0):
        pytest.skip("in make test-long: here a file and a database")
    night = ("maintain", agent_file.path, "--format", agent_file.format, "--quiet")
    command = [sys.executable, live_agent.__file__, agent_file.format, str(agent_file.path)]
    with subprocess.Popen(command) as agent:
        while agent.poll() is None:
            assert cli(*night).code in (0, 3, 11)
    assert agent.returncode == 0
    assert cli(*night).code == 0
    texts = [text.rstrip(".") for text in texts_in(agent_file.name, agent_file.path)]
    sheds = [text for text in texts if text.startswith("Shed ")]
    assert sorted(sheds) == sorted(map(live_agent.fact_about_shed, range(live_agent.COUNT)))
