"""A purge carried out: what nothing needs any more deleted, in a run of its own."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from datetime import datetime
from importlib.metadata import version
from pathlib import Path

from slowwave.consolidation.runtime.interruption import Interruption, OutOfTime
from slowwave.consolidation.text.token_count import count_tokens
from slowwave.store.errors import FileHeld, StoreError
from slowwave.store.file import MemoryFile, open_reading, open_writing
from slowwave.store.ledger import begin_run, end_run
from slowwave.store.memories import count_memories
from slowwave.store.purge import OPTION, PORTION, Kept, Needs, Purgeable, find_purgeable, purge
from slowwave.store.records import new_id, timestamp

_INTERRUPTED = "the purge was interrupted"
NOTHING = Purgeable((), Kept())


@dataclass(frozen=True)
class Purged:
    """What a purge deleted, or in a dry run would delete, and what stays and why."""

    ids: tuple[str, ...] = ()
    kept: Kept = field(default_factory=Kept)
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
    run_id = new_id()
    with open_writing(path) as file:
        before = count_memories(file, tenants, count_tokens)
        with interruption.limited():
            options = {OPTION: True, "tenant": list(tenants)}
            begin_run(file, run_id, timestamp(now), version("slowwave"), options)
        gone: list[str] = []
        try:
            why = _delete(file, run_id, purgeable.ids, now, interruption, gone)
        except StoreError as error:
            if not gone:
                end_run(file, run_id, timestamp(now), "failed", None, {})
                raise
            why = error.message
        report = {
            "before": asdict(before),
            "after": asdict(count_memories(file, tenants, count_tokens)),
            "purged": len(gone),
            "kept": asdict(purgeable.kept),
        }
        end_is_kept = True
        try:
            with interruption.limited():
                end_run(file, run_id, timestamp(now), "partial" if why else "done", None, report)
        except (OutOfTime, FileHeld):
            end_is_kept = False
    return Purged(tuple(gone), purgeable.kept, purgeable.staying, run_id, why, end_is_kept)


def _delete(
    file: MemoryFile,
    run_id: str,
    ids: Sequence[str],
    now: datetime,
    interruption: Interruption,
    gone: list[str],
) -> str | None:
    """Add to `gone` what was deleted, and give why that is not all, or None."""
    needs = Needs(file, now)
    for start in range(0, len(ids), PORTION):
        # A run is not interrupted any more at its end: it looks by itself.
        if interruption.asked:
            return _INTERRUPTED
        try:
            with interruption.limited():
                gone += purge(file, run_id, ids[start : start + PORTION], needs)
        except OutOfTime:
            return _INTERRUPTED
    return None
