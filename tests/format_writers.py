"""Files as the programs of other agents write them, with given memories."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Callable, Sequence
from contextlib import closing
from datetime import datetime
from pathlib import Path

from places import FORMATS

from fixtures.real_vec0 import make_memory_service
from slowwave.consolidation.vectors.embedder import SentenceEmbedder

Row = dict[str, str]


def _server_memory(folder: Path, memories: Sequence[Row]) -> Path:
    entity = {"type": "entity", "name": "notes", "entityType": "agent"}
    entity["observations"] = [memory["content"] for memory in memories]  # type: ignore[assignment]  # JSON
    path = folder / "memory.jsonl"
    path.write_text(json.dumps(entity, ensure_ascii=False), "utf-8")
    return path


def _markdown(folder: Path, memories: Sequence[Row]) -> Path:
    path = folder / "MEMORY.md"
    path.write_text(
        "# Notes\n\n" + "".join(f"- {memory['content']}\n" for memory in memories), "utf-8"
    )
    return path


def _claude_code(folder: Path, memories: Sequence[Row]) -> Path:
    path = folder / "memory"
    path.mkdir()
    for number, memory in enumerate(memories):
        (path / f"note-{number}.md").write_text(
            f"---\nname: note-{number}\ndescription: a note\nmetadata:\n  type: project\n"
            f"  originSessionId: {memory['session']}\n  modified: {memory['observed_at']}\n---\n\n"
            f"{memory['content']}\n",
            "utf-8",
        )
    return path


def _hermes(folder: Path, memories: Sequence[Row]) -> Path:
    path = folder / "memories" / "MEMORY.md"
    path.parent.mkdir()
    path.write_text("\n§\n".join(memory["content"] for memory in memories), "utf-8")
    return path


def _database(folder: Path, name: str) -> Path:
    """Create the recorded database of a package."""
    path = folder / "agent.db"
    with closing(sqlite3.connect(path)) as db:
        db.executescript((FORMATS / f"{name}.sql").read_text("utf-8"))
    return path


def _memory_service(folder: Path, memories: Sequence[Row]) -> Path:
    path = folder / "agent.db"
    make_memory_service(
        path,
        [
            {
                "content": memory["content"],
                "created_at": datetime.fromisoformat(memory["observed_at"]).timestamp(),
            }
            for memory in memories
        ],
        SentenceEmbedder().encode,
    )
    return path


def _langgraph(folder: Path, memories: Sequence[Row]) -> Path:
    path = _database(folder, "langgraph")
    with closing(sqlite3.connect(path)) as db, db:
        db.execute("DELETE FROM store")
        db.executemany(
            "INSERT INTO store (prefix, key, value, created_at) VALUES ('memories', ?, ?, ?)",
            [
                (
                    memory["id"],
                    json.dumps({"content": memory["content"]}).encode(),
                    memory["observed_at"],
                )
                for memory in memories
            ],
        )
    return path


def _langgraph_with_vectors(folder: Path, memories: Sequence[Row]) -> Path:
    path = _langgraph(folder, memories)
    vectors = SentenceEmbedder().encode([memory["content"] for memory in memories])
    with closing(sqlite3.connect(path)) as db, db:
        db.execute(
            "CREATE TABLE store_vectors (prefix, key, field_name, embedding, created_at, "
            "updated_at, PRIMARY KEY (prefix, key, field_name))"
        )
        db.executemany(
            "INSERT INTO store_vectors VALUES ('memories', ?, 'content', ?, NULL, NULL)",
            [
                (memory["id"], vector.tobytes())
                for memory, vector in zip(memories, vectors, strict=True)
            ],
        )
    return path


WRITERS: dict[str, Callable[[Path, Sequence[Row]], Path]] = {
    "mcp-server-memory": _server_memory,
    "markdown": _markdown,
    "claude-code": _claude_code,
    "hermes": _hermes,
    "mcp-memory-service": _memory_service,
    "langgraph": _langgraph,
    "langgraph, vectors": _langgraph_with_vectors,
}
