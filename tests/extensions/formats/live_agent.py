"""An agent that adds memories to its file as its own program does.

python live_agent.py FORMAT PATH: adds a memory after the other, each of them twice.
"""

from __future__ import annotations

import json
import os
import sqlite3
import sys
import time
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import filelock

COUNT = 25


def fact_about_shed(number: int) -> str:
    """Return the fact about a shed."""
    return f"Shed {number} holds the kiln of Ada and {number + 100} tiles"


def replaced(path: Path, text: str) -> None:
    """Replace a file with a complete new one."""
    copy = path.with_name(f"{path.name}.new")
    copy.write_text(text)
    copy.replace(path)


def server_memory(path: Path, text: str, number: int) -> None:
    first, *rest = path.read_text().splitlines()
    entity = json.loads(first)
    entity["observations"].append(text)
    replaced(path, "\n".join([json.dumps(entity), *rest]))


def hermes(path: Path, text: str, number: int) -> None:
    with filelock.FileLock(f"{path}.lock"):
        replaced(path, f"{path.read_text()}\n§\n{text}")


def markdown(path: Path, text: str, number: int) -> None:
    replaced(path, f"{path.read_text()}- {text}\n")


def claude_code(path: Path, text: str, number: int) -> None:
    name = f"shed-{number}"
    front = f"name: {name}\ndescription: a shed\nmetadata:\n  type: project\n"
    front += f"  originSessionId: {name}\n  modified: 2026-02-20T09:00:{number:02d}+00:00\n"
    (path / f"{name}.md").write_text(f"---\n{front}---\n\n{text}\n")
    with (path / "MEMORY.md").open("a") as index:
        index.write(f"- [{name}]({name}.md) — a shed\n")


def executed(path: Path, sql: str, *values: object) -> None:
    with closing(sqlite3.connect(path, timeout=5)) as db, db:
        db.execute(sql, values)


def memory_service(path: Path, text: str, number: int) -> None:
    columns = "content_hash, content, created_at"
    executed(path, f"INSERT INTO memories ({columns}) VALUES (?, ?, 1)", f"h{number}", text)


def langgraph(path: Path, text: str, number: int) -> None:
    value, day = json.dumps({"content": text}).encode(), f"2026-02-20 09:00:{number:02d}"
    columns = "prefix, key, value, created_at"
    executed(
        path, f"INSERT INTO store ({columns}) VALUES ('memories', ?, ?, ?)", f"{number}", value, day
    )


ADD: dict[str, Callable[[Path, str, int], None]] = {
    "mcp-server-memory": server_memory,
    "hermes": hermes,
    "markdown": markdown,
    "claude-code": claude_code,
    "mcp-memory-service": memory_service,
    "langgraph": langgraph,
}

if __name__ == "__main__":
    for count in range(2 * COUNT):
        ADD[sys.argv[1]](Path(sys.argv[2]), fact_about_shed(count // 2) + "." * (count % 2), count)
        time.sleep(0.03)
    os._exit(0)
