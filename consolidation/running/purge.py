"""Delete superseded memories that nothing needs, in a run of its own."""

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

from .batched_run import Work, run_in_batches

NOTHING = Purgeable((), KeptCounts())


@dataclass(frozen=True)
class PurgeResult:
    """What a purge deleted, or would delete in a dry run, and what stays and why."""

    ids: tuple[str, ...] = ()
    kept: KeptCounts = field(default_factory=KeptCounts)
    # What needs it, by the id of each memory that stays.
    staying: Mapping[str, str] = field(default_factory=dict)
    # None if no run was begun.
    run_id: str | None = None
    # Why some were not deleted.
    why: str | None = None
    # Whether the end was recorded in the file.
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
) -> PurgeResult:
    """Delete the planned memories that nothing needs meanwhile, in short transactions.

    An error after the first batch is reported in the result. Raises `StoreError` if nothing was
    deleted.
    """
    if not purgeable.ids:
        return PurgeResult(kept=purgeable.kept, staying=purgeable.staying)
    needs = Blockers(now)

    def process(file: MemoryFile, run_id: str, ids: Sequence[str]) -> None:
        purge(file, run_id, ids, needs)

    def report(done: frozenset[str]) -> dict[str, Any]:
        return {"purged": len(done), "kept": asdict(purgeable.kept)}

    options = {OPTION: True, "tenant": list(tenants)}
    work = Work(purgeable.ids, PORTION, process, report)
    run = run_in_batches(path, work, tenants, now, options, interruption)
    gone = tuple(memory_id for memory_id in purgeable.ids if memory_id in run.done)
    return PurgeResult(
        gone, purgeable.kept, purgeable.staying, run.run_id, run.why, run.end_is_kept
    )
