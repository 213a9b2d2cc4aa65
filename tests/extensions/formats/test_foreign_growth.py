"""A text that a later run extends stays the same entry, can be undone, and survives a kill."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import live_agent
import numpy as np
import pytest
from agents_files import format_of, make_file, stored_in, texts_in
from cli_calls import Cli
from disturbed import assert_kills_leave_all_or_nothing
from format_writers import WRITERS
from nights import execute, more_of_it, of_one_thing, rows, unchanged
from real_vec0 import store_like_the_package, with_extension
from search_tables import check_search_tables, vectors_in

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


def _memory_service(path: Path, text: str, number: int) -> None:
    (vector,) = SentenceEmbedder().encode([text])
    memory = {"content": text, "created_at": 1_775_000_000.0 + number}
    with with_extension(path) as db:
        store_like_the_package(db, memory, vector)


def _langgraph_with_vectors(path: Path, text: str, number: int) -> None:
    live_agent.langgraph(path, text, number)
    (vector,) = SentenceEmbedder().encode([text])
    insert = "INSERT INTO store_vectors VALUES ('memories', ?, 'content', ?, NULL, NULL)"
    execute(path, insert, str(number), vector.tobytes())


# Adds a text as its agent does.
ADD = live_agent.ADD | {
    "mcp-memory-service": _memory_service,
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


def extensible(cli: Cli, name: str, tmp_path: Path, model: Model) -> tuple[Path, str]:
    """Return a file with a memory that the next night extends, and the run that made it."""
    path = make_file(name, tmp_path / "agent", tuple(of_one_thing()))
    first = maintained(cli, name, path, model)
    for number, text in enumerate(more_of_it()):
        ADD[name](path, text, number)
    return path, first


def everything(name: str, path: Path) -> object:
    """Return what a file holds, vectors and all."""
    return stored_in(path), vectors_in(path) if name == "mcp-memory-service" else None


def memories(cli: Cli, path: Path, status: str = "active") -> list[dict[str, Any]]:
    listed = cli("list", path, "--status", status, "--json").json["memories"]
    assert isinstance(listed, list)
    return listed


@pytest.mark.parametrize("name", WRITERS)
def test_an_extended_text_replaces_its_entry_and_each_run_can_be_undone(
    name: str, tmp_path: Path, cli: Cli, scripted: Model, rounds: Callable[[int, int], int]
) -> None:
    if name not in FEW_WRITERS and rounds(1, 0):
        pytest.skip("in make test-long")
    path, first = extensible(cli, name, tmp_path, scripted)
    before, (memory,) = everything(name, path), derived_memories(cli, path)
    second = maintained(cli, name, path, scripted)
    (now,) = derived_memories(cli, path)
    assert now["id"] == memory["id"]
    assert now["content"] != memory["content"]
    assert texts_in(name, path) == [now["content"]]
    with unchanged(everything, name, path):
        assert cli(*command(name, path, scripted)).json["proposals"] == []
    assert cli("undo", path, second).code == 0
    assert everything(name, path) == before
    assert cli("undo", path, first).code == 0
    assert sorted(texts_in(name, path)) == sorted([*of_one_thing(), *more_of_it()])


def derived_memories(cli: Cli, path: Path) -> list[dict[str, Any]]:
    return [memory for memory in memories(cli, path) if memory["generation"] > 0]


@pytest.mark.parametrize("name", DATABASES)
def test_an_extended_text_in_a_database_keeps_its_row(
    name: str, tmp_path: Path, cli: Cli, scripted: Model, embedder: SentenceEmbedder
) -> None:
    path, _ = extensible(cli, name, tmp_path, scripted)
    before = rows(path, OWN_ROW[format_of(name)])
    maintained(cli, name, path, scripted)
    assert rows(path, OWN_ROW[format_of(name)]) == before
    assert len(before) == 1
    (text,) = texts_in(name, path)
    if name == "mcp-memory-service":
        check_search_tables(path)
        hidden = rows(path, "SELECT DISTINCT superseded_by FROM memories WHERE superseded_by <> ''")
        keys = rows(path, "SELECT content_hash FROM memories WHERE metadata LIKE '%slowwave%'")
        assert [item["superseded_by"] for item in hidden] == [key["content_hash"] for key in keys]
    if name != "langgraph":
        vector = derived_vector(name, path)
        assert embedder.encode([text])[0] @ np.frombuffer(vector, "<f4") > 1 - 1e-6


@pytest.mark.parametrize("name", ["mcp-memory-service", "langgraph, vectors"])
def test_notes_survive_an_extension(name: str, tmp_path: Path, cli: Cli, scripted: Model) -> None:
    path, _ = extensible(cli, name, tmp_path, scripted)
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
    path, _ = extensible(cli, name, tmp_path, scripted)
    before, vector = texts_in(name, path), derived_vector(name, path)
    second = maintained(cli, name, path, scripted)
    assert derived_vector(name, path) != vector
    if name == "mcp-memory-service":
        with with_extension(path) as db:
            agents = "SELECT id FROM memories WHERE metadata NOT LIKE '%slowwave%'"
            replacement = np.full(384, 0.1, "<f4").tobytes()
            for (row,) in list(db.execute(agents)):
                changed = "UPDATE memory_embeddings SET content_embedding = ? WHERE rowid = ?"
                db.execute(changed, (replacement, row))
    else:
        execute(path, "UPDATE store_vectors SET embedding = zeroblob(12) WHERE key LIKE 'm%'")
    assert cli("undo", path, second).code == 0
    assert texts_in(name, path) == before
    assert derived_vector(name, path) == vector


def derived_vector(name: str, path: Path) -> bytes:
    if name == "mcp-memory-service":
        (row,) = rows(path, "SELECT id FROM memories WHERE metadata LIKE '%slowwave%'")
        return vectors_in(path)[row["id"]]
    (row,) = rows(path, "SELECT embedding FROM store_vectors WHERE key LIKE 'slowwave-%'")
    return bytes(row["embedding"])


@pytest.mark.usefixtures("long_only")
@pytest.mark.parametrize("name", WRITERS)
def test_a_killed_run_that_extends_a_text_resumes(
    name: str, tmp_path: Path, cli: Cli, scripted: Model, rounds: Callable[[int, int], int]
) -> None:
    path, first = extensible(cli, name, tmp_path, scripted)
    assert_kills_leave_all_or_nothing(
        cli, command(name, path, scripted), path, lambda: everything(name, path), rounds, first
    )
    assert memories(cli, path, "archived") == []
