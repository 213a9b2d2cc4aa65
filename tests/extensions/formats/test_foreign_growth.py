"""A text that grew in a later night: it stays the same entry, comes back, and survives a kill."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from agents_files import format_of, held, killed, made, told_in
from cli_calls import Cli
from nights import execute, more_of_it, of_one_thing, rows, unchanged
from real_vec0 import store_like_the_package, with_extension
from search_tables import check_search_tables, vectors_in

from benchmarks.quality.formats import WRITERS
from slowwave.consolidation.vectors.embedder import SentenceEmbedder

# A file of text, a folder, and a database with vectors.
FEW_WRITERS = ("markdown", "claude-code", "langgraph, vectors")
DATABASES = ("mcp-memory-service", "langgraph", "langgraph, vectors")
# The row that slowwave added, and what is to stay of it when its text grows.
OWN_ROW = {
    "mcp-memory-service": "SELECT id, tags, memory_type, metadata, created_at, updated_at, store "
    "FROM memories WHERE metadata LIKE '%slowwave%'",
    "langgraph": "SELECT prefix, key, created_at, updated_at, typeof(value) AS kind FROM store "
    "WHERE key LIKE 'slowwave-%'",
}


def _server_memory(path: Path, texts: list[str]) -> None:
    entity = json.loads(path.read_text())
    entity["observations"] += texts
    path.write_text(json.dumps(entity, ensure_ascii=False))


def _claude_code(path: Path, texts: list[str]) -> None:
    for at, text in enumerate(texts):
        front = f"name: more-{at}\ndescription: a note\nmetadata:\n  type: project\n"
        times = f"  originSessionId: more-{at}\n  modified: 2026-02-{20 + at}T09:00:00+00:00\n"
        (path / f"more-{at}.md").write_text(f"---\n{front}{times}---\n\n{text}\n")


def _memory_service(path: Path, texts: list[str]) -> None:
    with with_extension(path) as db:
        for at, vector in enumerate(SentenceEmbedder().encode(texts)):
            store_like_the_package(
                db, {"content": texts[at], "created_at": 1_775_000_000.0 + at}, vector
            )


def _langgraph(path: Path, texts: list[str]) -> None:
    for at, text in enumerate(texts):
        value = json.dumps({"content": text}).encode()
        day = f"2026-02-{20 + at} 09:00:00"
        columns = "prefix, key, value, created_at"
        insert = f"INSERT INTO store ({columns}) VALUES ('memories', ?, ?, ?)"
        execute(path, insert, f"more-{at}", value, day)


def _langgraph_with_vectors(path: Path, texts: list[str]) -> None:
    _langgraph(path, texts)
    for at, vector in enumerate(SentenceEmbedder().encode(texts)):
        insert = "INSERT INTO store_vectors VALUES ('memories', ?, 'content', ?, NULL, NULL)"
        execute(path, insert, f"more-{at}", vector.tobytes())


# What its agent tells after the first night.
TELL: dict[str, Callable[[Path, list[str]], object]] = {
    "mcp-server-memory": _server_memory,
    "markdown": lambda path, texts: path.write_text(
        path.read_text() + "".join(f"- {text}\n" for text in texts)
    ),
    "claude-code": _claude_code,
    "hermes": lambda path, texts: path.write_text("\n§\n".join([path.read_text(), *texts])),
    "mcp-memory-service": _memory_service,
    "langgraph": _langgraph,
    "langgraph, vectors": _langgraph_with_vectors,
}


Model = tuple[str, ...]


def command(name: str, path: Path, model: Model) -> list[str]:
    options = ["--format", format_of(name), "--json", *model]
    return ["maintain", str(path), *options]


def maintained(cli: Cli, name: str, path: Path, model: Model) -> str:
    ended = cli(*command(name, path, model)).ends(0)
    assert ended.json["proposals"]
    assert {proposal["state"] for proposal in ended.json["proposals"]} == {"applied"}
    return str(ended.json["run"])


def grown(cli: Cli, name: str, tmp_path: Path, model: Model) -> tuple[Path, str]:
    """Return a file with a memory that the next night lets grow, and the run that made it."""
    path = made(name, tmp_path / "agent", tuple(of_one_thing()))
    first = maintained(cli, name, path, model)
    TELL[name](path, more_of_it())
    return path, first


def everything(name: str, path: Path) -> object:
    """Return what a file holds, vectors and all."""
    return held(path), vectors_in(path) if name == "mcp-memory-service" else None


def memories(cli: Cli, path: Path, status: str = "active") -> list[dict[str, Any]]:
    found = cli("list", path, "--status", status, "--json").json["memories"]
    assert isinstance(found, list)
    return found


@pytest.mark.parametrize("name", WRITERS)
def test_a_text_that_grew_stands_once_and_each_night_is_taken_back(
    name: str, tmp_path: Path, cli: Cli, scripted: Model, rounds: Callable[[int, int], int]
) -> None:
    if name not in FEW_WRITERS and rounds(1, 0):
        pytest.skip("in make test-long")
    path, first = grown(cli, name, tmp_path, scripted)
    before, (memory,) = everything(name, path), memories_of_ours(cli, path)
    second = maintained(cli, name, path, scripted)
    (now,) = memories_of_ours(cli, path)
    assert now["id"] == memory["id"]
    assert now["content"] != memory["content"]
    assert told_in(name, path) == [now["content"]]
    with unchanged(everything, name, path):
        assert cli(*command(name, path, scripted)).json["proposals"] == []
    assert cli("undo", path, second).code == 0
    assert everything(name, path) == before
    assert cli("undo", path, first).code == 0
    assert sorted(told_in(name, path)) == sorted([*of_one_thing(), *more_of_it()])


def memories_of_ours(cli: Cli, path: Path) -> list[dict[str, Any]]:
    return [memory for memory in memories(cli, path) if memory["generation"] > 0]


@pytest.mark.parametrize("name", DATABASES)
def test_a_text_that_grew_in_a_database_keeps_its_row_and_all_else_that_the_row_says(
    name: str, tmp_path: Path, cli: Cli, scripted: Model, embedder: SentenceEmbedder
) -> None:
    path, _ = grown(cli, name, tmp_path, scripted)
    before = rows(path, OWN_ROW[format_of(name)])
    maintained(cli, name, path, scripted)
    assert rows(path, OWN_ROW[format_of(name)]) == before
    assert len(before) == 1
    (text,) = told_in(name, path)
    if name == "mcp-memory-service":
        check_search_tables(path)
        hidden = rows(path, "SELECT DISTINCT superseded_by FROM memories WHERE superseded_by <> ''")
        keys = rows(path, "SELECT content_hash FROM memories WHERE metadata LIKE '%slowwave%'")
        assert [item["superseded_by"] for item in hidden] == [key["content_hash"] for key in keys]
    if name != "langgraph":
        vector = vector_of_ours(name, path)
        assert embedder.encode([text])[0] @ np.frombuffer(vector, "<f4") > 1 - 1e-6


@pytest.mark.parametrize("name", ["mcp-memory-service", "langgraph, vectors"])
def test_notes_survive_a_growing_text(name: str, tmp_path: Path, cli: Cli, scripted: Model) -> None:
    path, _ = grown(cli, name, tmp_path, scripted)
    if name == "mcp-memory-service":
        noted = "json_set(metadata, '$.access_count', 7)"
        execute(path, f"UPDATE memories SET metadata = {noted} WHERE metadata LIKE '%slowwave%'")
        looked = "SELECT json_extract(metadata, '$.access_count') AS noted FROM memories WHERE "
        looked += "metadata LIKE '%slowwave%'"
    else:
        execute(path, "UPDATE store SET updated_at = 'noted' WHERE key LIKE 'slowwave-%'")
        looked = "SELECT updated_at AS noted FROM store WHERE key LIKE 'slowwave-%'"
    before = rows(path, looked)
    second = maintained(cli, name, path, scripted)
    assert rows(path, looked) == before
    assert cli("undo", path, second).code == 0
    assert rows(path, looked) == before


@pytest.mark.parametrize("name", ["mcp-memory-service", "langgraph, vectors"])
def test_undo_restores_old_vectors(name: str, tmp_path: Path, cli: Cli, scripted: Model) -> None:
    path, _ = grown(cli, name, tmp_path, scripted)
    before, vector = told_in(name, path), vector_of_ours(name, path)
    second = maintained(cli, name, path, scripted)
    assert vector_of_ours(name, path) != vector
    if name == "mcp-memory-service":
        with with_extension(path) as db:
            agents = "SELECT id FROM memories WHERE metadata NOT LIKE '%slowwave%'"
            other = np.full(384, 0.1, "<f4").tobytes()
            for (row,) in list(db.execute(agents)):
                changed = "UPDATE memory_embeddings SET content_embedding = ? WHERE rowid = ?"
                db.execute(changed, (other, row))
    else:
        execute(path, "UPDATE store_vectors SET embedding = zeroblob(12) WHERE key LIKE 'm%'")
    assert cli("undo", path, second).code == 0
    assert told_in(name, path) == before
    assert vector_of_ours(name, path) == vector


def vector_of_ours(name: str, path: Path) -> bytes:
    if name == "mcp-memory-service":
        (row,) = rows(path, "SELECT id FROM memories WHERE metadata LIKE '%slowwave%'")
        return vectors_in(path)[row["id"]]
    (row,) = rows(path, "SELECT embedding FROM store_vectors WHERE key LIKE 'slowwave-%'")
    return bytes(row["embedding"])


@pytest.mark.usefixtures("long_only")
@pytest.mark.parametrize("name", WRITERS)
def test_a_kill_while_a_text_grows_is_not_taken_for_a_deletion(
    name: str, tmp_path: Path, cli: Cli, scripted: Model, rounds: Callable[[int, int], int]
) -> None:
    path, first = grown(cli, name, tmp_path, scripted)
    kept = tmp_path / "kept"
    shutil.copytree(path.parent, kept)
    before = everything(name, path)
    steps = int(killed(0, command(name, path, scripted)).stderr.split()[-1])
    after = everything(name, path)
    # Just after and just before the file itself is written, then each step from the end.
    for at in [steps - 4, steps - 5, *range(steps, 0, -1)][: rounds(1, 16)]:
        shutil.rmtree(path.parent)
        shutil.copytree(kept, path.parent)
        assert killed(at, command(name, path, scripted)).returncode == 9
        assert name == "claude-code" or everything(name, path) in (before, after)
        assert cli(*command(name, path, scripted)).code == 0
        assert len(told_in(name, path)) == 1
        assert everything(name, path) == after
        assert memories(cli, path, "archived") == []
        assert len(memories_of_ours(cli, path)) == 1
        runs = [run["id"] for run in cli("log", path, "--json").json["runs"] if run["states"]]
        for run in reversed([run for run in runs if run != first]):
            assert cli("undo", path, run).code == 0
        assert everything(name, path) == before
