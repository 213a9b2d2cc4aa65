"""Files of other agents: killed at any touch, no room, no permission, another file meanwhile."""

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
from cli_calls import Cli
from disturbed import undo_all
from figures import Figures
from nights import of_one_thing
from places import FORMATS
from real_vec0 import make_memory_service
from reliability.crashing import Ended, Job, run
from reliability.disk import Fault, What, linked_library
from reliability.test_storage import is_told
from search_tables import UPDATED, check_search_tables, dated_rows, vectors_in, visible
from test_format_conformance import FILES

from slowwave.consolidation.vectors.embedder import SentenceEmbedder
from slowwave.extensions.formats.known_formats import format_named

Rounds = Callable[[int, int], int]
needs_a_disk = pytest.mark.skipif(
    linked_library() is None or os.geteuid() != 0,
    reason="it takes a SQLite to listen to, and root to lay permissions down",
)
VECTORS = "mcp-memory-service, vectors"
FAULTS: tuple[What, ...] = ("kill", "tear", "full", "error")
# With vectors, so that texts are added and rows are deleted.
SAMPLES = {name: file for name, file in FILES.items() if name != "claude-mem"} | {
    VECTORS: "sqlite_vec.db"
}
# Each fault once: with a file, a folder and two databases.
OFTEN = dict(
    zip(("markdown", "claude-code", "mcp-memory-service", "langgraph"), FAULTS, strict=True)
)
# A file, a folder and a database.
FEW = ("markdown", "claude-code", "langgraph")


@dataclass(frozen=True)
class Other:
    """The memory file of another agent, in a folder of its own."""

    name: str
    path: Path
    # What it holds, where that is not recorded.
    made: bytes = b""

    @property
    def format(self) -> str:
        """Its format's name."""
        return self.name.partition(",")[0]

    @property
    def folder(self) -> Path:
        """The folder whose touches are counted: that of the file, which is the mirror's, too."""
        return self.path.parent

    def renew(self) -> None:
        """Let the folder hold the file as its agent left it, and nothing else."""
        shutil.rmtree(self.folder, ignore_errors=True)
        self.folder.mkdir(parents=True)
        sample = FORMATS / SAMPLES[self.name]
        if self.made:
            self.path.write_bytes(self.made)
        elif sample.suffix == ".sql":
            with closing(sqlite3.connect(self.path)) as db:
                db.executescript(sample.read_text("utf-8"))
        elif sample.is_dir():
            shutil.copytree(sample, self.path)
        else:
            shutil.copy2(sample, self.path)

    def content(self) -> object:
        """Return what its agent reads."""
        if self.path.is_dir():
            texts = {item.name: item.read_text() for item in sorted(self.path.iterdir())}
            # After a kill, its lines may stand in another order.
            return texts | {"MEMORY.md": sorted(texts["MEMORY.md"].splitlines())}
        if not self.name.startswith(("mcp-memory", "langgraph")):
            return self.path.read_bytes()
        if self.name == VECTORS:
            # New rows come in any order, and their numbers are theirs alone.
            texts = visible(self.path)
            check_search_tables(self.path)
            return sorted(texts), len(vectors_in(self.path))
        with closing(sqlite3.connect(self.path)) as db:
            assert db.execute("PRAGMA integrity_check").fetchone() == ("ok",)
            return sorted(db.iterdump())

    def night(self, fault: Fault | None = None, unprivileged: bool = False) -> Ended:
        """Maintain it, with something going wrong."""
        command = ("maintain", str(self.path), "--format", self.format, "--quiet")
        fault = fault or Fault(str(self.folder))
        return run(Job(command, fault, unprivileged=unprivileged))


@pytest.fixture(params=SAMPLES)
def other(request: pytest.FixtureRequest, tmp_path: Path, embedder: SentenceEmbedder) -> Other:
    """Provide a file of each format."""
    name = str(request.param)
    sample = Path(SAMPLES[name])
    if name == VECTORS:
        request.getfixturevalue("long_only")
        path = tmp_path / sample.name
        make_memory_service(path, dated_rows(*of_one_thing(), *UPDATED), embedder.encode)
        made = Other(name, tmp_path / "memories" / sample.name, path.read_bytes())
        made.renew()
        return made
    file = "agent.db" if sample.suffix == ".sql" else sample.name
    # Hermes' files are known by the folder that they lie in.
    made = Other(name, tmp_path / "memories" / file)
    made.renew()
    return made


@pytest.fixture
def of_few(other: Other, rounds: Rounds) -> Other:
    """Provide a file of each format in make test-long, otherwise of few of them."""
    if other.name not in FEW and rounds(1, 0):
        pytest.skip("in make test-long: here a file, a folder and a database")
    return other


def moments(touches: int, count: int) -> list[int]:
    """Return touches spread over a run, the last ones among them: they write the other file."""
    early = range(1, touches, max(1, touches // max(1, count // 2)))
    late = range(max(1, touches - 30), touches + 1, max(1, 60 // count))
    return sorted({*early, *late})


@needs_a_disk
@pytest.mark.parametrize("what", FAULTS)
def test_whatever_happens_to_the_disk_the_next_run_ends_where_it_should(
    other: Other, what: What, cli: Cli, rounds: Rounds, figures: Figures
) -> None:
    if OFTEN.get(other.name) != what and rounds(1, 0):
        pytest.skip("each fault with each format: in make test-long")
    before = other.content()
    touches = other.night().touches
    after = other.content()
    assert after != before
    for at in moments(touches, rounds(1, 10)):
        other.renew()
        ended = other.night(Fault(str(other.folder), what, at, lasting=what == "full"))
        if what in ("kill", "tear"):
            assert ended.code == -9
        elif ended.code:
            is_told(ended, 1, 3, 10)
        if not other.path.is_dir():
            assert other.content() in (before, after)
        cli("maintain", other.path, "--format", other.format, "--quiet").ends(0)
        assert other.content() == after, at
        undo_all(cli, other.path)
        assert other.content() == before, at
        figures.add("faults beside other agents' files survived")


@needs_a_disk
def test_a_read_only_folder_is_reported(of_few: Other, tmp_path: Path, cli: Cli) -> None:
    other, before, files = of_few, of_few.content(), sorted(of_few.folder.iterdir())
    folders = [other.folder, *([other.path] if other.path.is_dir() else [])]
    elsewhere = ("--format", other.format, "--state", str(tmp_path / "state.db"))
    try:
        for folder in folders:
            folder.chmod(0o555)
        is_told(other.night(unprivileged=True), 1, 10)
        for more, codes in ((("--dry-run",), (0,)), (elsewhere, (1,))):
            command = ("maintain", str(other.path), "--quiet", *more)
            ended = run(Job(command, Fault(str(other.folder)), unprivileged=True))
            assert ended.code in codes, ended
        assert other.path.name in ended.err
        assert sorted(other.folder.iterdir()) == files
    finally:
        for folder in folders:
            folder.chmod(0o755)
    assert other.content() == before


@needs_a_disk
def test_a_file_that_is_read_only_is_told_and_nothing_is_changed(of_few: Other, cli: Cli) -> None:
    other, before = of_few, of_few.content()
    other.path.chmod(0o555 if other.path.is_dir() else 0o444)
    is_told(other.night(unprivileged=True), 1, 10)
    assert other.content() == before
    other.path.chmod(0o755 if other.path.is_dir() else 0o644)
    assert cli("maintain", other.path, "--format", other.format).code == 0
    assert other.content() != before


def test_an_agent_that_keeps_writing_loses_nothing(other: Other, cli: Cli, rounds: Rounds) -> None:
    if other.name not in ("markdown", "langgraph") and rounds(1, 0):
        pytest.skip("in make test-long: here a file and a database")
    night = ("maintain", other.path, "--format", other.format, "--quiet")
    command = [sys.executable, live_agent.__file__, other.format, str(other.path)]
    with subprocess.Popen(command) as agent:
        while agent.poll() is None:
            assert cli(*night).code in (0, 3, 11)
    assert agent.returncode == 0
    assert cli(*night).code == 0
    with format_named(other.format).opened(other.path, writes=False) as file:
        sheds = [
            record.text.rstrip(".") for record in file.records if record.text.startswith("Shed ")
        ]
    assert sorted(sheds) == sorted(map(live_agent.thing, range(live_agent.THINGS)))
