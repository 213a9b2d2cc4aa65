"""List waiting conversation parts, and drop them in a run that can be undone."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

from slowwave.consolidation.proposals import Usage
from slowwave.consolidation.running.run_in_file import Preflight, RunRecord, run_report
from slowwave.consolidation.text.token_count import count_tokens
from slowwave.store.errors import Ambiguous, NotFound
from slowwave.store.file import MemoryFile, maintenance_lock, open_reading, open_writing
from slowwave.store.intake import (
    DROPPED,
    Tries,
    WaitingPart,
    close_part,
    mark_as_read,
    read_queued_parts,
    read_tries,
)
from slowwave.store.memories import count_memories
from slowwave.store.records import new_id

from .options import IngestOptions
from .parts import Part
from .waiting_parts import waiting_part

# Selects all waiting parts.
EVERYTHING = "all"


@dataclass(frozen=True)
class Waiting:
    """A conversation part that waits for a model."""

    row: WaitingPart
    part: Part
    # None if no model was asked about it yet.
    tries: Tries | None


@dataclass(frozen=True)
class Dropped:
    """The parts that were dropped, or would be."""

    parts: tuple[Waiting, ...]
    # How many still wait.
    left: int
    # None in a dry run.
    run_id: str | None = None


def list_waiting(file: MemoryFile, tenants: Sequence[str] = ()) -> list[Waiting]:
    """Return the waiting parts of these tenants, or of all, oldest first. Raises `UnusableFile`."""
    tries = read_tries(file)
    return [
        Waiting(row, waiting_part(row, IngestOptions(tenant=row.tenant)), tries.get(row.id))
        for row in read_queued_parts(file, tenants)
    ]


def drop_waiting(
    path: Path, which: Sequence[str], tenants: Sequence[str], now: datetime, dry_run: bool = False
) -> Dropped:
    """Drop waiting parts: their messages count as read from then on.

    which: ids or their prefixes, names of conversations, or `EVERYTHING`. Raises `StoreError`, with
    nothing dropped, if one of them matches nothing.
    """
    if dry_run:
        with open_reading(path) as file:
            return _choose(file, which, tenants)
    with maintenance_lock(path):
        preflight = Preflight(path, None, now)
        preflight.migrate()
        preflight.check_and_back_up()
        with open_writing(path) as file:
            return _drop(file, _choose(file, which, tenants), now)


def _drop(file: MemoryFile, chosen: Dropped, now: datetime) -> Dropped:
    if not chosen.parts:
        return chosen
    run = RunRecord(new_id(), now)
    rows = [part.row for part in chosen.parts]
    named = list(dict.fromkeys(row.conversation for row in rows))
    tenants = sorted({row.tenant for row in rows})
    options = {DROPPED: named, "tenant": tenants}
    with run.begun(file, options):
        with file.transaction():
            for part in chosen.parts:
                mark_as_read(file, run.run_id, part.row.tenant, part.part.chains)
                close_part(file, run.run_id, part.row.id)
        counts = count_memories(file, tenants, count_tokens)
        report = run_report(counts, counts, (), Usage()) | {DROPPED: len(rows)}
        run.end(file, "done", report)
    return Dropped(chosen.parts, chosen.left, run.run_id)


def _choose(file: MemoryFile, which: Sequence[str], tenants: Sequence[str]) -> Dropped:
    """Return the selected parts, and how many remain. Raises `NotFound` or `Ambiguous`."""
    waiting = list_waiting(file, tenants)
    chosen = {found.row.id for name in which for found in _named(waiting, name, file.path)}
    parts = tuple(part for part in waiting if part.row.id in chosen)
    return Dropped(parts, len(waiting) - len(parts))


def _named(waiting: Sequence[Waiting], which: str, path: Path) -> Sequence[Waiting]:
    if which == EVERYTHING:
        return waiting
    of_a_name = [part for part in waiting if part.row.conversation == which]
    found = of_a_name or [part for part in waiting if which and part.row.id.startswith(which)]
    if not found:
        raise NotFound(
            f"No waiting part in {path} matches '{which}'.",
            "Nothing was dropped. List waiting parts with 'slowwave ingest FILE --waiting'.",
        )
    if len(found) > 1 and not of_a_name:
        raise Ambiguous(
            f"More than one waiting part has an id that starts with '{which}'.",
            "Nothing was dropped. Use more of the id.",
        )
    return found
