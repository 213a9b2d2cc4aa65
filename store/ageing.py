"""What an active memory's age is told by, and how it leaves the active ones."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from .file import MemoryFile
from .journal import update_rows
from .records import Status, json_text

# What takes memories out of the active ones. In a run's options it tells which one a run was; in
# the journal its entries stand under it, where those of a proposal stand under its key.
PHASE = "phase"
Phase = Literal["expire", "limit"]
# What a memory is afterwards.
STATUS_AFTER: dict[Phase, Status] = {"expire": "expired", "limit": "archived"}
# How many memories leave in one transaction: a moment's work.
PORTION = 200


def _seconds(column: str) -> str:
    """Return the SQL of a time as seconds since 1970; of one that nobody can read, of its day."""
    return (
        f"coalesce(CAST(strftime('%s', {column}) AS INTEGER), "
        f"CAST(strftime('%s', substr({column}, 1, 10)) AS INTEGER))"
    )


# A memory that took in another was said again when that happened.
_TOOK_IN = (
    f"coalesce((SELECT max({_seconds('e.created_at')}) FROM synthesized_from e "
    "WHERE e.derived_id = m.id AND e.operation <> 'extract'), 0)"
)
_SAID = f"max({_seconds('m.created_at')}, {_seconds('m.updated_at')}, {_TOOK_IN})"
# What superseded memories said stands in it, or a rule rests on it.
_CARRIES = (
    "EXISTS (SELECT 1 FROM memories s WHERE s.superseded_by = m.id) "
    "OR EXISTS (SELECT 1 FROM synthesized_from e WHERE e.derived_id = m.id) "
    "OR EXISTS (SELECT 1 FROM synthesized_from e JOIN memories r ON r.id = e.derived_id "
    "WHERE e.source_id = m.id AND e.operation = 'extract' AND r.status = 'active')"
)
_WAITING = (
    "m.id IN (SELECT value FROM proposals, json_each(sources) WHERE state = 'pending' "
    "UNION SELECT survivor FROM proposals WHERE state = 'pending' AND survivor IS NOT NULL)"
)
# Of every row by one statement.
_AGES = (
    "SELECT id, tenant, kind, layer, importance, "
    "origin = 'human' OR pinned OR layer = 'core', "
    f"{_CARRIES}, {_WAITING}, {_seconds('m.expires_at')}, {_SAID}, "
    f"max({_SAID}, coalesce({_seconds('m.accessed_at')}, 0)), access_count "
    "FROM memories m WHERE status = 'active'"
)


@dataclass(frozen=True)
class MemoryAge:
    """An active memory as far as its age goes. Times are seconds since 1970."""

    id: str
    tenant: str
    kind: str
    layer: str
    importance: int
    # By origin, pin or layer: no run takes it out by a rule of its own.
    protected: bool
    # What others said stands in it, or a rule rests on it.
    carries: bool
    # A person has yet to decide about it.
    waiting: bool
    # Its own end; None without one.
    ends: int | None
    # When it was stored, changed or restored last, or took in another that says the same.
    said: int
    # The same, or when it was looked up last.
    used: int
    accesses: int


def read_ages(file: MemoryFile, tenants: Sequence[str]) -> Iterator[MemoryAge]:
    """Yield the active memories of the tenants, in the order of ids."""
    chosen = "AND tenant IN (SELECT value FROM json_each(?)) ORDER BY id"
    for row in file.db.conn.execute(f"{_AGES} {chosen}", [json_text(tenants)]):
        yield _to_age(row)


def retire_memories(
    file: MemoryFile, run_id: str, phase: Phase, planned: Collection[MemoryAge], now: str
) -> list[str]:
    """Take memories out of the active ones, in one transaction, and return their ids.

    One that is not what it was when that was planned stays as it is. All of it is journaled.
    """
    with file.transaction():
        rows = file.db.conn.execute(
            f"{_AGES} AND id IN (SELECT value FROM json_each(?)) ORDER BY id",
            [json_text([one.id for one in planned])],
        )
        still = set(map(_to_age, rows.fetchall()))
        going = sorted(one.id for one in planned if one in still)
        changes = {"status": STATUS_AFTER[phase], "updated_at": now}
        update_rows(file, run_id, phase, "memories", [{"id": one} for one in going], changes)
    return going


def to_epoch_seconds(file: MemoryFile, moment: str) -> int:
    """Return a moment, as the file writes it, in seconds since 1970."""
    return int(file.value("SELECT strftime('%s', ?)", [moment]))


def _to_age(row: tuple[Any, ...]) -> MemoryAge:
    memory_id, tenant, kind, layer, importance, protected, carries, waiting, *rest = row
    flags = (bool(protected), bool(carries), bool(waiting))
    return MemoryAge(memory_id, tenant, kind, layer, importance, *flags, *rest)
