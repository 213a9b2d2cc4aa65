"""Read, count and add memories."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from .errors import DamagedRow, NotFound, StoreError
from .file import MemoryFile
from .intake import SUBJECT_SQL, has_conversations
from .memory_filter import Filter
from .prefixes import find_by_prefix
from .records import (
    COLUMNS,
    LAYERS,
    MARKDOWN,
    MAX_CHARACTERS,
    ROW,
    SUBJECT,
    Memory,
    from_values,
    in_utc,
    json_text,
    to_row,
)
from .rows import add_rows, json_field
from .shared_tenant import SHARED_TENANT, has_log
from .witnesses import read_witnesses

SELECT = f"SELECT {', '.join(COLUMNS)} FROM memories"
# The key in the metadata of a memory that is the trace of a task, kept only for audits.
RAW_EXPERIENCE = "raw_experience"
NO_RAW_EXPERIENCE = f"instr(metadata, '\"{RAW_EXPERIENCE}\":') = 0"
# The bytes of a text; `length(content)` stops at a NUL character.
_BYTES = "length(CAST(content AS BLOB))"
# Whether a text may be short enough: a character has at most four bytes. Longer texts are not
# loaded into Python, where they would take several times as much memory.
LOADABLE = f"{_BYTES} <= {4 * MAX_CHARACTERS}"
_CUT = f"CASE WHEN {LOADABLE} THEN content ELSE substr(content, 1, {MAX_CHARACTERS}) || '…' END"
_SELECT_CUT = SELECT.replace(" content,", f" {_CUT} AS content,", 1)


@dataclass(frozen=True)
class Counts:
    """The numbers of active memories, by layer, and superseded ones, and the size of the texts."""

    active: int
    superseded: int
    layers: dict[str, int]
    # Totals of the active memories.
    characters: int
    tokens: int

    def changed_by(self, before: Counts, after: Counts) -> Counts:
        """Return these counts with what changed from `before` to `after`."""
        layers = {
            layer: count + after.layers[layer] - before.layers[layer]
            for layer, count in self.layers.items()
        }
        return Counts(
            self.active + after.active - before.active,
            self.superseded + after.superseded - before.superseded,
            layers,
            self.characters + after.characters - before.characters,
            self.tokens + after.tokens - before.tokens,
        )


@dataclass(frozen=True)
class LongMemory:
    """A memory that is too long to process, without its text."""

    id: str
    characters: int
    expires_at: str | None


def add_memories(file: MemoryFile, memories: Iterable[Memory]) -> None:
    """Insert memories in the caller's transaction."""
    add_rows(file, "memories", [to_row(memory) for memory in memories])


def read_memory(file: MemoryFile, memory_id: str, tenant: str | None = None) -> Memory:
    """Return the memory whose id is, or starts with, `memory_id`.

    tenant: only memories of this tenant; None means all. Raises `NotFound` or `Ambiguous`.
    """
    found_id = find_id(file, memory_id, tenant)
    return from_values(next(file.tuples(f"{SELECT} WHERE id = ?", [found_id])))


def find_id(file: MemoryFile, prefix: str, tenant: str | None = None) -> str:
    """Return the id of the memory whose id is, or starts with, `prefix`.

    That is also the name of its file, with or without ".md", or the key of its row, if it has one.
    tenant: only memories of this tenant; None means all. Raises `NotFound` or `Ambiguous`.
    """
    try:
        return find_by_prefix(file, "memories", "id", prefix, kind="memory", tenant=tenant)
    except NotFound:
        memory_id = file.value(
            f"SELECT id FROM memories WHERE source IN (?1, ?1 || '.md', '{ROW} ' || ?1) "
            f"AND tenant = ifnull(?2, tenant) AND metadata ->> '$.form' IN ('{MARKDOWN}', '{ROW}') "
            "ORDER BY status <> 'active', rowid DESC",
            [prefix, tenant],
        )
        if memory_id is None:
            raise
        return str(memory_id)


def read_memories(
    file: MemoryFile, ids: Sequence[str] | None = None, status: str | None = None
) -> Iterator[Memory]:
    """Read memories ordered by id: all, those with the given ids, or those of a status."""
    if ids is None:
        where, values = ("WHERE status = ?", [status]) if status else ("", [])
        rows = file.tuples(f"{SELECT} {where} ORDER BY id", values)
    else:
        chosen = "WHERE id IN (SELECT value FROM json_each(?))"
        values = [json_text(list(ids))]
        rows = file.tuples(f"{SELECT} {chosen} ORDER BY id", values) if ids else iter(())
    return map(from_values, rows)


def list_memories(
    file: MemoryFile, wanted: Filter, status: str | None, contains: str | None, limit: int
) -> tuple[int, list[Memory]]:
    """Return the number of matching memories, and the `limit` latest observed of them.

    status: None means any. contains: a part of the text, or of its subject; ignores the case of
    ASCII letters. Texts that are far too long are truncated, and end with "…".
    """
    conditions = {
        "status = ?": status,
        # LIKE would treat "%" and "_" as wildcards.
        f"instr(lower(content || {SUBJECT_SQL}), lower(?))": contains,
    }
    chosen = wanted.sql | {sql: value for sql, value in conditions.items() if value is not None}
    where = f"WHERE {' AND '.join(chosen)}" if chosen else ""
    file.conn.create_function("in_utc", 1, in_utc, deterministic=True)
    count = file.value(f"SELECT count(*) FROM memories {where}", [*chosen.values()])
    rows = file.tuples(
        f"{_SELECT_CUT} {where} ORDER BY observed_at DESC, id DESC LIMIT ?",
        [*chosen.values(), limit],
    )
    return int(count), list(map(from_values, rows))


def count_by_status(file: MemoryFile, chosen: Sequence[str]) -> dict[str, dict[str, int]]:
    """Count the memories of the given tenants by status and layer."""
    counts: dict[str, dict[str, int]] = {}
    for status, layer, count in file.tuples(
        "SELECT status, layer, count(*) FROM memories "
        "WHERE tenant IN (SELECT value FROM json_each(?)) GROUP BY 1, 2 ORDER BY 1",
        [json_text(chosen)],
    ):
        counts.setdefault(status, dict.fromkeys(LAYERS, 0))[layer] = count
    return counts


def _by_id(row: tuple[Any, ...]) -> str:
    return str(row[0])


def _read_loadable(file: MemoryFile, where: str, values: Sequence[object]) -> list[Memory]:
    """Return memories ordered by id, without too long ones."""
    # Python sorts references, where SQLite would sort rows.
    rows = sorted(file.all_tuples(f"{SELECT} WHERE {where} AND {LOADABLE}", values), key=_by_id)
    memories = map(from_values, rows)
    return [memory for memory in memories if len(memory.content) <= MAX_CHARACTERS]


def read_observed(file: MemoryFile, tenant: str, now: str) -> list[Memory]:
    """Return the observed memories of a tenant, not the derived ones, ordered by id.

    Includes active memories, and those that were superseded, purged or archived by a limit, because
    they lead from one memory to its successor. Omits expired and too long memories.
    """
    memories = _read_loadable(
        file,
        "tenant = ? AND generation = 0 AND origin <> 'consolidation' "
        f"AND {NO_RAW_EXPERIENCE} AND status IN ('active', 'superseded')",
        [tenant],
    )
    current = [
        memory for memory in memories if memory.status != "active" or not memory.has_expired(now)
    ]
    purged = (
        memory
        for memory in read_witnesses(file, tenant)
        if memory.generation == 0 and memory.origin != "consolidation"
    )
    return sorted([*current, *purged], key=lambda memory: memory.id)


def read_derived(file: MemoryFile, tenant: str) -> list[Memory]:
    """Return the active derived memories of a tenant, ordered by id, without too long ones."""
    return _read_loadable(file, "tenant = ? AND generation > 0 AND status = 'active'", [tenant])


def read_active(file: MemoryFile, tenant: str, now: str) -> list[Memory]:
    """Return the active, unexpired memories of a tenant, ordered by id, without too long ones."""
    memories = _read_loadable(file, "tenant = ? AND status = 'active'", [tenant])
    return [memory for memory in memories if not memory.has_expired(now)]


def read_active_texts(file: MemoryFile, tenant: str) -> list[tuple[str, str]]:
    """Return (id, text) of active memories of a tenant, ordered by id, without too long ones.

    Twice as fast as `read_active`, which also reads and checks the other columns.
    """
    chosen = f"FROM memories WHERE tenant = ? AND status = 'active' AND {LOADABLE}"
    rows = sorted(file.all_tuples(f"SELECT id, content {chosen}", [tenant]), key=_by_id)
    return [(memory_id, text) for memory_id, text in rows if len(text) <= MAX_CHARACTERS]


def read_too_long(file: MemoryFile, tenant: str, now: str) -> list[LongMemory]:
    """Return the active, unexpired memories of a tenant that are too long, ordered by id."""
    rows = file.conn.execute(
        f"SELECT id, expires_at, CASE WHEN {LOADABLE} THEN content END, "
        f"max(length(content), {_BYTES} / 4) FROM memories WHERE tenant = ? "
        "AND status = 'active' AND (generation > 0 OR origin <> 'consolidation') "
        f"AND {NO_RAW_EXPERIENCE} AND {_BYTES} > {MAX_CHARACTERS} ORDER BY id",
        [tenant],
    )
    memories = (
        LongMemory(memory_id, counted if text is None else len(text), ends and in_utc(ends))
        for memory_id, ends, text, counted in rows
    )
    too_long = [memory for memory in memories if memory.characters > MAX_CHARACTERS]
    return [memory for memory in too_long if not memory.expires_at or memory.expires_at > now]


def read_recallable(file: MemoryFile, tenant: str) -> list[tuple[Any, ...]]:
    """Return the rows and subjects of the memories that recall searches, ordered by id.

    Omits archived and too long memories. Includes superseded and purged ones: they lead to their
    successors, and answer questions about the past. The rows are not checked.
    """
    columns = f"SELECT {', '.join(COLUMNS)}, {json_field('metadata', SUBJECT)} FROM memories"
    rows = file.all_tuples(
        f"{columns} WHERE tenant = ? AND status <> 'archived' AND {NO_RAW_EXPERIENCE} "
        f"AND {LOADABLE}",
        [tenant],
    )
    loaded = (row for row in rows if len(str(row[COLUMNS.index("content")])) <= MAX_CHARACTERS)
    purged = map(to_recallable, read_witnesses(file, tenant))
    return sorted([*loaded, *purged], key=_by_id)


def to_recallable(memory: Memory) -> tuple[Any, ...]:
    """Return the row and the subject of a memory, as `read_recallable` does."""
    return (*to_row(memory).values(), memory.subject)


def read_tenant_memories(file: MemoryFile, tenant: str) -> list[Memory]:
    """Return all memories of a tenant, ordered by observation time."""
    rows = file.tuples(f"{SELECT} WHERE tenant = ? ORDER BY observed_at, id", [tenant])
    return list(map(from_values, rows))


def tenants(file: MemoryFile) -> list[str]:
    """Return all tenants, sorted. Raises `DamagedRow`."""
    names = file.column("SELECT DISTINCT tenant FROM memories ORDER BY 1")
    if not all(isinstance(tenant, str) for tenant in names):
        raise DamagedRow("the tenant of a memory is not a text")
    return names


def count_clustered(file: MemoryFile) -> dict[str, int]:
    """Count the memories of each tenant that a run reads."""
    counts = file.tuples(
        "SELECT tenant, count(*) FROM memories WHERE status IN ('active', 'superseded') "
        "AND tenant <> ? GROUP BY 1",
        [SHARED_TENANT],
    )
    return dict(counts)


def select_tenants(file: MemoryFile, chosen: Sequence[str]) -> list[str]:
    """Return the chosen tenants, or all, that have memories, sorted. Raises `NotFound`."""
    names = tenants(file)
    for tenant in chosen:
        if tenant not in names and not has_conversations(file, tenant):
            raise NotFound(
                f"There is no tenant '{tenant}' in {file.path}.",
                f"It has: {', '.join(names) or 'none'}.",
            )
    return [tenant for tenant in names if not chosen or tenant in chosen]


def select_consolidated_tenants(file: MemoryFile, chosen: Sequence[str]) -> list[str]:
    """Return the chosen tenants, or all, without the tenant of shared facts.

    Raises `NotFound`, and `StoreError` if shared facts are chosen.
    """
    names = select_tenants(file, chosen)
    if SHARED_TENANT not in names or not has_log(file):
        return names
    if SHARED_TENANT in chosen:
        raise StoreError(
            f"The tenant '{SHARED_TENANT}' contains shared facts, which runs do not change.",
            "Publish and retract its facts with 'slowwave shared FILE'.",
        )
    return [tenant for tenant in names if tenant != SHARED_TENANT]


def count_memories(
    file: MemoryFile, chosen: Sequence[str], tokens_of: Callable[[str], int]
) -> Counts:
    """Count the memories of the given tenants, and the size of the active ones.

    The tokens of texts that are far too long are estimated.
    """
    counts = count_by_status(file, chosen)
    layers = counts.get("active", dict.fromkeys(LAYERS, 0))
    superseded = sum(counts.get("superseded", {}).values())
    rows = file.all_tuples(
        f"SELECT {_CUT}, CASE WHEN NOT {LOADABLE} THEN max(length(content), {_BYTES} / 4) END "
        "FROM memories WHERE tenant IN (SELECT value FROM json_each(?)) AND status = 'active'",
        [json_text(chosen)],
    )
    characters = sum(counted or len(start) for start, counted in rows)
    tokens = sum(
        tokens_of(start) * counted // max(len(start), 1) if counted else tokens_of(start)
        for start, counted in rows
    )
    return Counts(sum(layers.values()), superseded, layers, characters, tokens)


def read_restorable(file: MemoryFile, tenants: Sequence[str]) -> list[Memory]:
    """Return the archived and expired memories that can be restored, by tenant and id.

    Omits too long memories.
    """
    chosen = [tenant for tenant in tenants if tenant != SHARED_TENANT or not has_log(file)]
    memories = _read_loadable(
        file,
        "tenant IN (SELECT value FROM json_each(?)) "
        f"AND status IN ('archived', 'expired') AND {NO_RAW_EXPERIENCE}",
        [json_text(chosen)],
    )
    return sorted(memories, key=lambda memory: (memory.tenant, memory.id))
