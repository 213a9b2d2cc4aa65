"""New texts in databases with vectors: the real sqlite-vec finds them."""

from __future__ import annotations

import json
import random
import sqlite3
import struct
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from agents_files import consolidate, recorded
from cli_calls import Cli
from nights import execute, of_one_thing, rows, unchanged
from numpy.typing import NDArray
from real_vec0 import make_memory_service, store_like_the_package, with_extension
from search_tables import UPDATED, check_search_tables, dated_rows, vectors_in, visible

from slowwave.consolidation.vectors.embedder import SentenceEmbedder
from slowwave.extensions.formats.conformance import faults
from slowwave.extensions.formats.known_formats import format_named
from slowwave.extensions.formats.vec0 import vec0_table
from slowwave.extensions.formats.vector_model import EmbeddingModel


@pytest.fixture
def service(tmp_path: Path, embedder: SentenceEmbedder) -> Path:
    """Provide a file of mcp-memory-service with texts to rewrite."""
    path = tmp_path / "sqlite_vec.db"
    texts = [*of_one_thing(), *UPDATED, "The heron nests at the weir."]
    make_memory_service(path, dated_rows(*texts), embedder.encode)
    return path


def nearest(path: Path, vector: NDArray[np.float32], count: int = 5) -> list[str]:
    """Return what a search of mcp-memory-service's finds, nearest first."""
    sql = (
        "SELECT m.content FROM memories m JOIN ("
        "  SELECT rowid, distance FROM memory_embeddings"
        "  WHERE content_embedding MATCH ? AND k = ? AND store = 'default'"
        ") e ON e.rowid = m.id WHERE m.deleted_at IS NULL "
        "AND coalesce(m.superseded_by, '') = '' ORDER BY e.distance"
    )
    with with_extension(path) as db:
        return [text for (text,) in db.execute(sql, (vector.tobytes(), 4096))][:count]


def langgraph_with(
    path: Path, key: str, value: dict[str, Any], day: str, fields: dict[str, NDArray[np.float32]]
) -> Path:
    """Store a value with its vectors as LangGraph does; create the store if it is missing."""
    is_new = not path.exists()
    if is_new:
        recorded("langgraph", path)
        execute(path, "DELETE FROM store")
        execute(
            path,
            "CREATE TABLE store_vectors (prefix text NOT NULL, key text NOT NULL, "
            "field_name text NOT NULL, embedding BLOB NOT NULL, "
            "created_at TIMESTAMP DEFAULT CURRENT_TIMESTAMP, "
            "updated_at TIMESTAMP DEFAULT CURRENT_TIMESTAMP, "
            "PRIMARY KEY (prefix, key, field_name), "
            "FOREIGN KEY (prefix, key) REFERENCES store(prefix, key) ON DELETE CASCADE)",
        )
    row = json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode()
    columns = "prefix, key, value, created_at, updated_at"
    insert = f"INSERT INTO store ({columns}) VALUES ('memories.helvi', ?1, ?2, ?3, ?3)"
    execute(path, insert, key, row, f"{day} 09:00:00")
    columns = "prefix, key, field_name, embedding"
    for field, vector in fields.items():
        insert = f"INSERT INTO store_vectors ({columns}) VALUES ('memories.helvi', ?, ?, ?)"
        execute(path, insert, key, field, vector.tobytes())
    return path


def langgraph_tables(path: Path) -> list[Any]:
    return [
        rows(path, f"SELECT * FROM {table} ORDER BY 1, 2, 3")
        for table in ("store", "store_vectors")
    ]


def everything(path: Path) -> list[dict[str, Any]]:
    return rows(path, "SELECT * FROM memories ORDER BY id")


Model = tuple[str, ...]


def test_vectors_equal_sqlite_vecs(tmp_path: Path, rounds: Callable[[int, int], int]) -> None:
    chance = random.Random(20261125)  # noqa: S311 - which rows come and go
    path = tmp_path / "vectors.db"
    columns = "content_embedding FLOAT[4] distance_metric=cosine, store TEXT partition key"
    with with_extension(path) as db:
        db.execute(f"CREATE VIRTUAL TABLE v USING vec0({columns}, chunk_size=8)")
    held: dict[int, tuple[bytes, str]] = {}
    for turn in range(rounds(8, 60)):
        steps = [chance.random() < 0.6 for _ in range(15)]
        if turn % 2:
            with with_extension(path) as real:
                for comes in steps:
                    change(held, comes, chance, real_insert(real), real_remove(real))
        else:
            with closing(sqlite3.connect(path, isolation_level=None)) as db:
                table = vec0_table(db, "v", "content_embedding")
                assert table is not None
                for comes in steps:
                    change(held, comes, chance, table.insert, table.remove)
                assert {row: table.read(row) for row in held} == {
                    r: v for r, (v, _) in held.items()
                }
        assert vectors_in(path, "v") == {row: vector for row, (vector, _) in held.items()}
        for store in "ab":
            query = struct.pack("<4f", *(chance.uniform(-1, 1) for _ in range(4)))
            sql = "SELECT rowid FROM v WHERE content_embedding MATCH ? AND k = 3 AND store = ?"
            with with_extension(path) as db:
                hits = [row for (row,) in db.execute(sql, (query, store))]
            of_store = [(cosine(query, v), row) for row, (v, part) in held.items() if part == store]
            assert hits == [row for _, row in sorted(of_store, reverse=True)[:3]]


def change(
    held: dict[int, tuple[bytes, str]],
    comes: bool,
    chance: random.Random,
    insert: Callable[[int, bytes, str], object],
    remove: Callable[[int], object],
) -> None:
    if comes or not held:
        row = chance.choice([item for item in range(1, 400) if item not in held])
        vector = struct.pack("<4f", *(chance.uniform(-1, 1) for _ in range(4)))
        held[row] = vector, chance.choice("ab")
        insert(row, *held[row])
    else:
        row = chance.choice(sorted(held))
        remove(row)
        del held[row]


def real_insert(db: Any) -> Callable[[int, bytes, str], object]:
    sql = "INSERT INTO v (rowid, content_embedding, store) VALUES (?, ?, ?)"
    return lambda row, vector, store: db.execute(sql, (row, vector, store))


def real_remove(db: Any) -> Callable[[int], object]:
    return lambda row: db.execute("DELETE FROM v WHERE rowid = ?", (row,))


def cosine(first_blob: bytes, second_blob: bytes) -> float:
    first, second = (np.frombuffer(blob, "<f4").astype(float) for blob in (first_blob, second_blob))
    return float(first @ second / np.linalg.norm(first) / np.linalg.norm(second))


def test_an_unknown_layout_of_vectors_is_not_written_to(tmp_path: Path) -> None:
    path = tmp_path / "vectors.db"
    columns = ("content_embedding FLOAT[4]", "content_embedding INT8[8], s TEXT partition key")
    with with_extension(path) as db:
        layouts = (*columns, f"{columns[0]}, s TEXT partition key")
        for name, layout in zip("abc", layouts, strict=True):
            db.execute(f"CREATE VIRTUAL TABLE {name} USING vec0({layout})")
        db.execute("UPDATE c_info SET value = 99 WHERE key = 'CREATE_VERSION_MINOR'")
    with closing(sqlite3.connect(path)) as db:
        assert [vec0_table(db, name, "content_embedding") for name in "abcd"] == [None] * 4


def test_a_new_text_is_found_by_its_vector_and_undo_restores_all_tables(
    service: Path, cli: Cli, scripted: Model, embedder: SentenceEmbedder
) -> None:
    before, vectors = everything(service), vectors_in(service)
    asking = ("maintain", service, "--json", *scripted)
    with unchanged(everything, service):
        plan = cli(*asking, "--dry-run", "--ask").json["proposals"]
    run = consolidate(cli, "mcp-memory-service", service, *scripted)
    assert {proposal["operation"] for proposal in plan} >= {"synthesize", "update"}
    new = [row for row in everything(service) if "slowwave" in (row["metadata"] or "")]
    assert new
    for row in new:
        (vector,) = embedder.encode([row["content"]])
        assert nearest(service, vector, 1) == [row["content"]]
        assert np.allclose(np.frombuffer(vectors_in(service)[row["id"]], "<f4"), vector, atol=1e-6)
    check_search_tables(service)
    with unchanged(everything, service):
        assert cli(*asking).json["proposals"] == []
    assert cli("undo", service, run).code == 0
    assert (everything(service), vectors_in(service)) == (before, vectors)
    check_search_tables(service)


def test_a_text_that_was_replaced_may_be_stored_again(
    service: Path, cli: Cli, scripted: Model, embedder: SentenceEmbedder
) -> None:
    consolidate(cli, "mcp-memory-service", service, *scripted)
    assert not {UPDATED[0], UPDATED[1]} & set(visible(service))
    gone = rows(service, "SELECT * FROM memories WHERE content = ?", UPDATED[0])
    assert gone[0]["deleted_at"] is not None
    # As the package does: what was deleted goes, and is stored anew.
    with with_extension(service) as db:
        db.execute("DELETE FROM memories WHERE content = ?", (UPDATED[0],))
        (memory,) = dated_rows(UPDATED[0], first=40)
        store_like_the_package(db, memory, embedder.encode([UPDATED[0]])[0])
    consolidate(cli, "mcp-memory-service", service, *scripted)
    assert any("02:30" in item for item in visible(service))


def test_a_database_with_vectors_of_another_model_gets_only_merges(
    tmp_path: Path, cli: Cli, scripted: Model, embedder: SentenceEmbedder
) -> None:
    path = tmp_path / "sqlite_vec.db"
    twins = ["Billing listens on port 8080.", "Billing listens on port 8080"]

    def turned(texts: Any) -> Any:
        return np.roll(embedder.encode(texts), 1, axis=1)

    make_memory_service(path, dated_rows(*of_one_thing(), *twins), turned)
    count = len(everything(path))
    with unchanged(vectors_in, path):
        options = ("--format", "mcp-memory-service", "--json", *scripted)
        ended = cli("maintain", path, *options)
        ended.ends(0, "allows only merges", "not those of all-MiniLM-L6-v2")
    assert {proposal["operation"] for proposal in ended.json["proposals"]} == {"merge"}
    assert len(everything(path)) == count


def test_a_lent_model_has_no_faults(service: Path, embedder: SentenceEmbedder) -> None:
    format = format_named("mcp-memory-service")
    format.model = EmbeddingModel(embedder.name, embedder.encode)
    assert format.no_new_texts_reason(service) is None
    assert list(faults(format, service)) == []


@pytest.mark.parametrize("field", ["$", "content"])
def test_a_new_text_in_langgraph_has_vectors_of_the_same_fields(
    field: str, tmp_path: Path, cli: Cli, scripted: Model, embedder: SentenceEmbedder
) -> None:
    def vector_of(text: str) -> NDArray[np.float32]:
        whole = json.dumps({"content": text}, sort_keys=True, ensure_ascii=False)
        return embedder.encode([whole if field == "$" else text])[0]

    path = tmp_path / "store.db"
    for index, text in enumerate(of_one_thing()):
        day, value = f"2026-02-{index + 1:02d}", {"content": text}
        langgraph_with(path, f"h{index}", value, day, {field: vector_of(text)})
    with unchanged(langgraph_tables, path):
        run = consolidate(cli, "langgraph", path, *scripted)
        (new,) = rows(path, "SELECT * FROM store WHERE key LIKE 'slowwave-%'")
        (vector,) = rows(path, "SELECT * FROM store_vectors WHERE key = ?", new["key"])
        expected = vector_of(json.loads(new["value"])["content"])
        assert vector["field_name"] == field
        assert np.allclose(np.frombuffer(vector["embedding"], "<f4"), expected, atol=1e-6)
        assert cli("undo", path, run).code == 0
