"""A purge carried out: what nothing needs any more deleted, in a run of its own."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from datetime import datetime
from pathlib import Path
from typing import Any

from slowwave.consolidation.runtime.interruption import Interruption
from slowwave.store.file import MemoryFile, open_reading
from slowwave.store.purge import (
    OPTION,
    PORTION,
    Blockers,
    KeptCounts,
    Purgeable,
    find_purgeable,
    purge,
)

from .in_portions import Work, treat_in_portions

NOTHING = Purgeable((), KeptCounts())


@dataclass(frozen=True)
class Purged:
    """What a purge deleted, or in a dry run would delete, and what stays and why."""

    ids: tuple[str, ...] = ()
    kept: KeptCounts = field(default_factory=KeptCounts)
    # Of each that stays, what needs it.
    staying: Mapping[str, str] = field(default_factory=dict)
    # None where none was begun.
    run_id: str | None = None
    # Why not all was deleted that was to be.
    why: str | None = None
    # Whether how it ended is in the file, too.
    end_is_kept: bool = True


def plan_purge(path: Path, tenants: Sequence[str], now: datetime) -> Purgeable:
    """Return what a purge of these tenants would delete."""
    with open_reading(path) as file:
        return find_purgeable(file, tenants, now)


def carry_out_purge(
    path: Path,
    purgeable: Purgeable,
    tenants: Sequence[str],
    now: datetime,
    interruption: Interruption,
) -> Purged:
    """Delete what was planned as far as it may still go, in short transactions.

    What stood in the way after the first of them is told, not raised. Raises `StoreError` if
    nothing was deleted.
    """
    if not purgeable.ids:
        return Purged(kept=purgeable.kept, staying=purgeable.staying)
    needs = Blockers(now)

    def treat(file: MemoryFile, run_id: str, ids: Sequence[str]) -> None:
        purge(file, run_id, ids, needs)

    def report(done: frozenset[str]) -> dict[str, Any]:
        return {"purged": len(done), "kept": asdict(purgeable.kept)}

    options = {OPTION: True, "tenant": list(tenants)}
    work = Work(purgeable.ids, PORTION, treat, report)
    run = treat_in_portions(path, work, tenants, now, options, interruption)
    gone = tuple(one for one in purgeable.ids if one in run.done)
    return Purged(gone, purgeable.kept, purgeable.staying, run.run_id, run.why, run.end_is_kept)
