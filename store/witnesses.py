"""Witnesses: what runs still read of purged memories.

Runs also read superseded memories, which show when a text was last stated and what a person
separated; recall finds their successors by them. A purge therefore deletes a memory's row, but
keeps a few columns and its vectors. Its text is in the lineage.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from .file import MemoryFile
from .records import (
    COLUMNS,
    MAX_CHARACTERS,
    Memory,
    content_hash,
    from_values,
    json_text,
    parse_object,
)

# The columns of a superseded memory that plans do not read.
_LEFT_OUT = frozenset(
    {"id", "tenant", "content", "content_hash", "source", "tags", "access_count", "accessed_at"}
)
_KEPT = tuple(name for name in COLUMNS if name not in _LEFT_OUT)
_EMPTY = {"source": None, "tags": "[]", "access_count": 0, "accessed_at": None}
_TEXT = (
    "(SELECT source_content FROM synthesized_from e "
    "WHERE e.source_id = w.id AND source_content IS NOT NULL "
    f"AND length(CAST(source_content AS BLOB)) <= {4 * MAX_CHARACTERS} LIMIT 1)"
)


def store_witnesses(file: MemoryFile, ids: Sequence[str], run_id: str) -> None:
    """Keep what plans read of memories, before their purge, in the caller's transaction."""
    image = ", ".join(
        f"'{name}', " + ("json(metadata)" if name == "metadata" else name) for name in _KEPT
    )
    conn, chosen = file.conn, json_text(ids)
    # A memory that an agent stored by SQL may lack the hash.
    conn.create_function("hash_of", 1, lambda raw: content_hash(raw.decode(errors="replace")))
    conn.execute(
        "INSERT OR REPLACE INTO witnesses (id, tenant, content_hash, image, names, run_id) "
        "SELECT id, tenant, coalesce(content_hash, hash_of(CAST(content AS BLOB))), "
        f"json_object({image}), '[]', ? FROM memories "
        "WHERE id IN (SELECT value FROM json_each(?))",
        [run_id, chosen],
    )
    conn.execute(
        "INSERT OR REPLACE INTO witness_vectors (id, model, dimensions, vector, content_hash) "
        "SELECT memory_id, model, dimensions, vector, content_hash FROM embeddings "
        "WHERE memory_id IN (SELECT value FROM json_each(?))",
        [chosen],
    )


def read_witnesses(file: MemoryFile, tenant: str) -> list[Memory]:
    """Return the purged memories of a tenant with the columns that plans read, ordered by id.

    Omits too long memories, and those whose text is missing from the lineage. Raises
    `UnusableFile`.
    """
    rows = file.conn.execute(
        f"SELECT id, content_hash, image, {_TEXT} FROM witnesses w WHERE tenant = ? ORDER BY id",
        [tenant],
    )
    return [
        _memory(memory_id, tenant, text_hash, image, text)
        for memory_id, text_hash, image, text in rows
        if text is not None and len(text) <= MAX_CHARACTERS
    ]


def _memory(memory_id: str, tenant: str, text_hash: str | None, image: str, text: str) -> Memory:
    stored = parse_object(image, "the image", f"witness {memory_id}")
    metadata = json_text(stored.pop("metadata", {}))
    row: dict[str, Any] = {
        "id": memory_id,
        "tenant": tenant,
        "content": text,
        "content_hash": text_hash,
        **_EMPTY,
        **{name: stored.get(name) for name in _KEPT},
        "metadata": metadata,
    }
    return from_values(tuple(row[name] for name in COLUMNS))


def store_witness_vectors(
    file: MemoryFile, model: str, vectors: Sequence[tuple[str, str, bytes]]
) -> None:
    """Store the vectors of purged memories among (memory id, content hash, blob).

    The caller has a transaction.
    """
    file.conn.executemany(
        "INSERT INTO witness_vectors (id, model, dimensions, vector, content_hash) "
        "SELECT ?1, ?2, ?3, ?4, ?5 WHERE EXISTS (SELECT 1 FROM witnesses WHERE id = ?1) "
        "ON CONFLICT (id, model) DO UPDATE SET dimensions = excluded.dimensions, "
        "vector = excluded.vector, content_hash = excluded.content_hash",
        [
            (memory_id, model, len(blob) // 4, blob, text_hash)
            for memory_id, text_hash, blob in vectors
        ],
    )
