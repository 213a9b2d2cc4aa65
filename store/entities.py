"""Store and read the names that memories mention."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from .file import MemoryFile
from .journal import Journal
from .records import json_text
from .rows import delete_rows
from .witnesses import names_of_witnesses


def store_entities(
    file: MemoryFile, tenant: str, mentions: Iterable[tuple[str, Sequence[str]]], run_id: str | None
) -> None:
    """Store (memory id, names) in the caller's transaction.

    run_id: None for names that were supplied with the memory.
    """
    pairs = [(memory_id, name) for memory_id, names in mentions for name in names]
    add_names(file, tenant, {name for _, name in pairs}, run_id)
    file.conn.executemany(
        "INSERT INTO memory_entities (memory_id, entity_id, run_id) "
        "SELECT ?1, id, ?2 FROM entities WHERE tenant = ?3 AND name = ?4 "
        "AND EXISTS (SELECT 1 FROM memories WHERE id = ?1) "
        "ON CONFLICT (memory_id, entity_id) DO NOTHING",
        [(memory_id, run_id, tenant, name) for memory_id, name in pairs],
    )


def add_names(file: MemoryFile, tenant: str, names: Iterable[str], run_id: str | None) -> None:
    """Insert the names that a tenant lacks, in the caller's transaction."""
    file.conn.executemany(
        "INSERT INTO entities (tenant, name, run_id) VALUES (?, ?, ?) "
        "ON CONFLICT (tenant, name) DO NOTHING",
        [(tenant, name, run_id) for name in sorted(names)],
    )


def mentioned_names(file: MemoryFile, memory_ids: Sequence[str]) -> list[int]:
    """Return the ids of the names that memories mention."""
    return file.column(
        "SELECT DISTINCT entity_id FROM memory_entities "
        "WHERE memory_id IN (SELECT value FROM json_each(?))",
        [json_text(memory_ids)],
    )


def record_scans(file: MemoryFile, scans: Iterable[tuple[str, str]], run_id: str) -> None:
    """Record (memory id, content hash) of texts that were searched for names.

    Replaced records of earlier texts are journaled.
    """
    scans = list(scans)
    keys = [{"memory_id": memory_id} for memory_id, _ in scans]
    Journal(file, run_id, "").journal_images("entity_scans", keys)
    file.conn.executemany(
        "INSERT INTO entity_scans (memory_id, content_hash, run_id) "
        "SELECT ?1, ?2, ?3 WHERE EXISTS (SELECT 1 FROM memories WHERE id = ?1) "
        "ON CONFLICT (memory_id) DO UPDATE SET content_hash = excluded.content_hash, "
        "run_id = excluded.run_id",
        [(memory_id, content_hash, run_id) for memory_id, content_hash in scans],
    )


def delete_found_names(file: MemoryFile, memory_ids: Iterable[str], run_id: str) -> None:
    """Delete the names that runs found in changed texts, journaled; supplied names stay."""
    mentions = file.conn.execute(
        "SELECT memory_id, entity_id FROM json_each(?) CROSS JOIN memory_entities "
        "ON memory_id = value WHERE run_id IS NOT NULL",
        [json_text(list(dict.fromkeys(memory_ids)))],
    )
    keys = [{"memory_id": memory_id, "entity_id": entity} for memory_id, entity in mentions]
    Journal(file, run_id, "").journal_images("memory_entities", keys)
    delete_rows(file, "memory_entities", keys)


def read_scans(file: MemoryFile, tenant: str) -> dict[str, str]:
    """Return the hashes of the texts searched for names, by memory id, including purged ones."""
    rows = file.tuples(
        "SELECT memory_id, s.content_hash FROM entity_scans s "
        "JOIN memories m ON m.id = s.memory_id WHERE tenant = ?1 "
        # The texts of all purged memories were searched.
        "UNION ALL SELECT id, content_hash FROM witnesses WHERE tenant = ?1",
        [tenant],
    )
    return dict(rows)


def read_entities(file: MemoryFile, tenant: str) -> dict[str, list[str]]:
    """Return the names that memories mention, sorted, by memory id, including purged ones."""
    names_by_memory = names_of_witnesses(file, tenant)
    rows = file.conn.execute(
        "SELECT memory_id, name FROM memory_entities JOIN entities ON id = entity_id "
        "WHERE tenant = ? ORDER BY memory_id, name",
        [tenant],
    )
    for memory_id, name in rows:
        names_by_memory.setdefault(memory_id, []).append(name)
    return {memory_id: listed for memory_id, listed in names_by_memory.items() if listed}


def read_memory_entities(file: MemoryFile, memory_id: str) -> list[tuple[str, bool]]:
    """Return (name, whether it was supplied with the memory) of a memory, sorted."""
    rows = file.tuples(
        "SELECT name, m.run_id IS NULL FROM memory_entities m "
        "JOIN entities ON id = entity_id WHERE memory_id = ? ORDER BY name",
        [memory_id],
    )
    return [(name, bool(is_given)) for name, is_given in rows]
