"""Small memories and small files, for tests of the store."""

from __future__ import annotations

import json
import os
import shutil
import sqlite3
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from dataclasses import replace
from datetime import UTC, datetime
from inspect import signature
from pathlib import Path
from typing import Any

import pytest
from places import TESTS

from slowwave.store import schema_of_file
from slowwave.store.check import check_file
from slowwave.store.exchange import import_lines, new_memory
from slowwave.store.file import MemoryFile, create_file, open_reading, open_writing
from slowwave.store.ledger import Decision, begin_run, record_decision
from slowwave.store.memories import add_memories, read_memories
from slowwave.store.records import Memory, timestamp

# The schema version of `older_file`, which has the tables of all extensions.
OLDER_VERSION = 10

NOW = datetime(2026, 3, 10, 3, 0, tzinfo=UTC)
LATER = "2026-03-11T03:00:00+00:00"


def a_memory(memory_id: str, content: str = "the deploy runs at noon", **fields: Any) -> Memory:
    """Return a memory; `fields` are those of a memory."""
    return replace(new_memory({"id": memory_id, "content": content}, NOW), **fields)


def put(path: Path, *memories: Memory) -> None:
    """Add memories to a file."""
    with open_writing(path) as file, file.transaction():
        add_memories(file, memories)


def a_line(content: object = "the deploy runs at noon", **fields: object) -> bytes:
    """Return a line of an import."""
    return json.dumps({"content": content, **fields}).encode()


def take_in(path: Path, *lines: bytes, **options: Any) -> Any:
    """Import lines."""
    with open_writing(path) as file:
        return import_lines(file, lines, NOW, **options)


def all_memories(path: Path) -> list[Memory]:
    """Read every memory."""
    with open_reading(path) as file:
        return list(read_memories(file))


def copy_of(path: Path, to: Path) -> Path:
    """Copy a file that nobody has open, with its log, and return the copy."""
    for suffix in ("", "-wal", "-journal"):
        Path(f"{to}{suffix}").unlink(missing_ok=True)
        if Path(f"{path}{suffix}").exists():
            shutil.copyfile(f"{path}{suffix}", f"{to}{suffix}")
    return to


def copied(fixture: str) -> Any:
    """Return a fixture that provides a copy of the file that another, `fixture`, provides."""

    @pytest.fixture
    def copy(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
        return copy_of(request.getfixturevalue(fixture), tmp_path / "memory.db")

    return copy


def made_once(make: Callable[..., None]) -> Any:
    """Return a fixture that provides a copy of a new file to which `make` was applied once.

    `make` takes the file, and the fixtures that its other parameters name.
    """
    paths: list[Path] = []
    _, *names = signature(make).parameters

    @pytest.fixture
    def copy(
        request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory, tmp_path: Path
    ) -> Path:
        if not paths:
            path = tmp_path_factory.mktemp("made") / "memory.db"
            create_file(path)
            make(path, *map(request.getfixturevalue, names))
            paths.append(path)
        return copy_of(paths[0], tmp_path / "memory.db")

    return copy


@contextmanager
def changing(path: Path) -> Iterator[MemoryFile]:
    """Open a file for writing, in one transaction."""
    with open_writing(path) as file, file.transaction():
        yield file


def a_run(path: Path, run_id: str = "run-1", now: datetime = NOW) -> str:
    """Begin a run."""
    with open_writing(path) as file:
        begin_run(file, run_id, timestamp(now), "0", {})
    return run_id


def a_decision(run_id: str = "run-1", key: str = "proposal-1", **fields: Any) -> Decision:
    """Return a decision; by default, an applied synthesis."""
    defaults: dict[str, Any] = dict.fromkeys(("survivor", "derived", "draft", "why"))
    defaults |= {"operation": "synthesize", "tenant": "default", "state": "applied", "reason": ""}
    defaults |= {"sources": (), "numbers": {}, "decided_at": timestamp(NOW)}
    return Decision(run_id=run_id, key=key, **defaults | fields)


def decide(path: Path, *decisions: Decision) -> None:
    """Write decisions into the ledger."""
    with changing(path) as file:
        for decision in decisions:
            record_decision(file, decision)


@contextmanager
def process(code: str, *arguments: object) -> Iterator[subprocess.Popen[str]]:
    """Start Python, wait until it prints "ready", and kill it after the block."""
    command = [sys.executable, "-c", code, *(str(argument) for argument in arguments)]
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as running:
        try:
            assert running.stdout is not None
            assert running.stdout.readline() == "ready\n"
            yield running
        finally:
            running.kill()


_ON_A_SMALL_DISK = """
import resource, signal, sys
from slowwave.cli.app import run
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
resource.setrlimit(resource.RLIMIT_FSIZE, (int(sys.argv[1]),) * 2)
sys.exit(run(sys.argv[2:]))
"""


def run_on_a_small_disk(size: int, *arguments: object) -> subprocess.CompletedProcess[str]:
    """Run a command where no file can grow beyond `size` bytes."""
    command = [sys.executable, "-c", _ON_A_SMALL_DISK, str(size), *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, check=False)


def until_closed(terminal: int) -> list[bytes]:
    """Return what a terminal receives until its other end is closed."""
    parts = []
    while True:
        try:
            part = os.read(terminal, 65_536)
        except OSError:  # the other end is closed
            return parts
        if not part:
            return parts
        parts.append(part)


def damage(path: Path) -> None:
    """Overwrite a page in the middle of the file."""
    data = bytearray(path.read_bytes())
    data[3 * 4096 : 4 * 4096] = b"\xff" * 4096
    path.write_bytes(data)


def damage_root(path: Path, name: str) -> None:
    """Overwrite the first page of a table or an index of a file that nobody has open."""
    with closing(sqlite3.connect(path)) as db:
        sql = "SELECT rootpage FROM sqlite_schema WHERE name = ?"
        ((page,),) = db.execute(sql, [name]).fetchall()
    with path.open("r+b") as stream:
        stream.seek((page - 1) * 4096)
        stream.write(b"\xff" * 4096)


def foreign(path: Path) -> None:
    """Make a database that is not a memory file."""
    with closing(sqlite3.connect(path)) as db, db:
        db.execute("CREATE TABLE notes (text)")


def older_file(folder: Path) -> Path:
    """Make a file of an older schema version."""
    path = folder / "older.db"
    with closing(sqlite3.connect(path)) as db:
        script = TESTS / "store" / f"version_{OLDER_VERSION}.sql"
        db.executescript(script.read_text("utf-8"))
    return path


def with_steps(monkeypatch: pytest.MonkeyPatch, *steps: Callable[[Any], None]) -> None:
    """Add migrations, as a newer slowwave has."""
    more = {step.__name__: step for step in steps}
    monkeypatch.setattr(schema_of_file, "STEPS", {**schema_of_file.STEPS, **more})


def whole(path: Path) -> bool:
    """Fail with the problems of a file; without any, return True."""
    with open_reading(path) as file:
        problems = check_file(file).problems
    # pytest explains no assertion outside of tests.
    assert not problems, problems
    return True
