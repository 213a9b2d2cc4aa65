"""The age of active memories, how they expire or are archived, and how they are restored."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from .errors import StoreError
from .file import MemoryFile
from .journal import Journal
from .memories import RAW_EXPERIENCE, read_memory
from .purge import UNDER_REVIEW
from .records import Memory, Status, json_text
from .rows import set_columns
from .shared_tenant import SHARED_TENANT, has_log

# The key in a run's options of the phase that expires or archives memories. The journal has the
# phase in place of a proposal's key.
PHASE = "phase"
Phase = Literal["expire", "limit"]
# The status of a memory after each phase.
STATUS_AFTER: dict[Phase, Status] = {"expire": "expired", "limit": "archived"}


def _seconds(column: str) -> str:
    """Return the SQL of a time, or of its date if the time is unreadable, in seconds since 1970."""
    return (
        f"coalesce(CAST(strftime('%s', {column}) AS INTEGER), "
        f"CAST(strftime('%s', substr({column}, 1, 10)) AS INTEGER))"
    )


# Absorbing another memory counts as restating a memory.
_ABSORBED = (
    f"coalesce((SELECT max({_seconds('e.created_at')}) FROM synthesized_from e "
    "WHERE e.derived_id = m.id AND e.operation <> 'extract'), 0)"
)
_STATED = f"max({_seconds('m.created_at')}, {_seconds('m.updated_at')}, {_ABSORBED})"
# The memory supersedes others, or supports an active rule.
_HAS_DEPENDENTS = (
    "EXISTS (SELECT 1 FROM memories s WHERE s.superseded_by = m.id) "
    "OR EXISTS (SELECT 1 FROM synthesized_from e WHERE e.derived_id = m.id) "
    "OR EXISTS (SELECT 1 FROM synthesized_from e JOIN memories r ON r.id = e.derived_id "
    "WHERE e.source_id = m.id AND e.operation = 'extract' AND r.status = 'active')"
)
_AGES = (
    "SELECT id, tenant, kind, layer, importance, "
    "origin = 'human' OR pinned OR layer = 'core', "
    f"{_HAS_DEPENDENTS}, m.id IN ({UNDER_REVIEW}), {_seconds('m.expires_at')}, {_STATED}, "
    f"max({_STATED}, coalesce({_seconds('m.accessed_at')}, 0)), access_count "
    "FROM memories m WHERE status = 'active'"
)


@dataclass(frozen=True)
class MemoryAge:
    """What decides about the age of an active memory. Times are seconds since 1970."""

    id: str
    tenant: str
    kind: str
    layer: str
    importance: int
    # By origin, pin or layer: no rule expires or archives it.
    is_protected: bool
    # Whether it supersedes others, or supports an active rule.
    has_dependents: bool
    # A pending proposal refers to it.
    is_under_review: bool
    # None: it does not expire.
    expires: int | None
    # When it was last stored, changed or restored, or absorbed another memory.
    last_stated: int
    # `last_stated`, or when it was last accessed, if that is later.
    last_used: int
    access_count: int


def read_ages(file: MemoryFile, tenants: Sequence[str]) -> Iterator[MemoryAge]:
    """Yield the active memories of the tenants, ordered by id."""
    chosen = "AND tenant IN (SELECT value FROM json_each(?)) ORDER BY id"
    for row in file.conn.execute(f"{_AGES} {chosen}", [json_text(tenants)]):
        yield _to_age(row)


def retire_memories(
    file: MemoryFile, run_id: str, phase: Phase, planned: Collection[MemoryAge], now: str
) -> list[str]:
    """Expire or archive memories in one transaction, journaled, and return their ids.

    Memories that have changed since they were planned are skipped.
    """
    with file.transaction():
        rows = file.conn.execute(
            f"{_AGES} AND id IN (SELECT value FROM json_each(?)) ORDER BY id",
            [json_text([memory.id for memory in planned])],
        )
        unchanged = set(map(_to_age, rows.fetchall()))
        retired = sorted(memory.id for memory in planned if memory in unchanged)
        changes = {"status": STATUS_AFTER[phase], "updated_at": now}
        keys = [{"id": memory_id} for memory_id in retired]
        Journal(file, run_id, phase).update("memories", keys, changes)
    return retired


def restore_memory(file: MemoryFile, prefix: str, now: str) -> Memory:
    """Make a superseded, archived or expired memory active again; its lineage stays.

    Raises `NotFound`, `Ambiguous`, or `StoreError` if it is already active.
    """
    with file.transaction():
        memory = read_memory(file, prefix)
        if memory.status == "active":
            raise StoreError(f"Memory {memory.id} is already active.", "Nothing was changed.")
        _refuse_to_restore(file, memory)
        # Otherwise the memory would expire again at once.
        expires_at = None if memory.has_expired(now) else memory.expires_at
        columns = {"status": "active", "expires_at": expires_at, "updated_at": now}
        columns |= dict.fromkeys(("superseded_by", "superseded_at"))
        set_columns(file, "memories", [{"id": memory.id}], columns)
        return read_memory(file, memory.id)


def _refuse_to_restore(file: MemoryFile, memory: Memory) -> None:
    """Raise `StoreError` for earlier versions of shared facts, and traces of tasks."""
    if memory.tenant == SHARED_TENANT and has_log(file):
        raise StoreError(
            f"Memory {memory.id} is an earlier version of a shared fact.",
            "Publish its text again with 'slowwave shared publish FILE'.",
        )
    if RAW_EXPERIENCE in memory.metadata:
        raise StoreError(
            f"Memory {memory.id} is a trace of a task, kept only for audits.",
            "Nothing was changed.",
        )


def to_epoch_seconds(file: MemoryFile, moment: str) -> int:
    """Return a time of the file in seconds since 1970."""
    return int(file.value("SELECT strftime('%s', ?)", [moment]))


def _to_age(row: tuple[Any, ...]) -> MemoryAge:
    # SQLite has no booleans.
    return MemoryAge(*row[:5], *map(bool, row[5:8]), *row[8:])
