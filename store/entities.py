"""Store and read the names that were supplied with memories.

Names that a text mentions are not stored: `names_in` computes them.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from .file import MemoryFile
from .records import json_text


def store_entities(file: MemoryFile, tenant: str, memory_id: str, names: Iterable[str]) -> None:
    """Store the names of a memory in the caller's transaction."""
    names = sorted(set(names))
    file.conn.executemany(
        "INSERT INTO entities (tenant, name) VALUES (?, ?) ON CONFLICT (tenant, name) DO NOTHING",
        [(tenant, name) for name in names],
    )
    file.conn.executemany(
        "INSERT INTO memory_entities (memory_id, entity_id) "
        "SELECT ?1, id FROM entities WHERE tenant = ?2 AND name = ?3 "
        "ON CONFLICT (memory_id, entity_id) DO NOTHING",
        [(memory_id, tenant, name) for name in names],
    )


def mentioned_names(file: MemoryFile, memory_ids: Sequence[str]) -> list[int]:
    """Return the ids of the names of memories."""
    return file.column(
        "SELECT DISTINCT entity_id FROM memory_entities "
        "WHERE memory_id IN (SELECT value FROM json_each(?))",
        [json_text(memory_ids)],
    )


def read_entities(file: MemoryFile, tenant: str) -> dict[str, list[str]]:
    """Return the names of a tenant's memories, sorted, by memory id."""
    names_by_memory: dict[str, list[str]] = {}
    rows = file.conn.execute(
        "SELECT memory_id, name FROM memory_entities JOIN entities ON id = entity_id "
        "WHERE tenant = ? ORDER BY memory_id, name",
        [tenant],
    )
    for memory_id, name in rows:
        names_by_memory.setdefault(memory_id, []).append(name)
    return names_by_memory


def read_memory_entities(file: MemoryFile, memory_id: str) -> list[str]:
    """Return the names of a memory, sorted."""
    return file.column(
        "SELECT name FROM memory_entities JOIN entities ON id = entity_id "
        "WHERE memory_id = ? ORDER BY name",
        [memory_id],
    )
