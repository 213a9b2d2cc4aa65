"""Small memories and small files, for tests of the store."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from slowwave.store.exchange import import_lines, new_memory
from slowwave.store.file import MemoryFile, open_reading, open_writing
from slowwave.store.ledger import Decision, begin_run, keep_decision
from slowwave.store.memories import add_memories, read_memories
from slowwave.store.records import Memory, timestamp

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
    """Copy a file that nobody has open."""
    shutil.copyfile(path, to)
    return to


@contextmanager
def changing(path: Path) -> Iterator[MemoryFile]:
    """Open for writing, in one transaction."""
    with open_writing(path) as file, file.transaction():
        yield file


def a_run(path: Path, run_id: str = "run-1", now: datetime = NOW) -> str:
    """Let a run begin."""
    with open_writing(path) as file:
        begin_run(file, run_id, timestamp(now), "0", {})
    return run_id


def a_decision(run_id: str = "run-1", key: str = "proposal-1", **fields: Any) -> Decision:
    """Return a decision; an applied synthesis where nothing else is said."""
    decision = Decision(
        run_id=run_id,
        key=key,
        operation="synthesize",
        tenant="default",
        sources=(),
        survivor=None,
        derived=None,
        state="applied",
        draft=None,
        reason="",
        why=None,
        numbers={},
        decided_at=timestamp(NOW),
    )
    return replace(decision, **fields)


def decide(path: Path, *decisions: Decision) -> None:
    """Write decisions into the ledger."""
    with changing(path) as file:
        for decision in decisions:
            keep_decision(file, decision)


@contextmanager
def process(code: str, *arguments: object) -> Iterator[subprocess.Popen[str]]:
    """Run Python until it prints "ready", and kill it in the end, the way a crash would."""
    command = [sys.executable, "-c", code, *(str(argument) for argument in arguments)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as one:
        try:
            assert one.stdout is not None
            assert one.stdout.readline() == "ready\n"
            yield one
        finally:
            one.kill()


def until_closed(terminal: int) -> list[bytes]:
    """Return what a terminal is sent until the other end is closed."""
    parts = []
    while True:
        try:
            part = os.read(terminal, 65_536)
        except OSError:  # the other end is closed
            return parts
        if not part:
            return parts
        parts.append(part)
