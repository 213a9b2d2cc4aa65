"""What waits in the file for a model: listed, and thrown away as a run that can be taken back."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

from slowwave.consolidation.proposals import Usage
from slowwave.consolidation.running.preflight import Preflight
from slowwave.consolidation.running.run_record import RunRecord, run_report
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

# Names all that waits.
EVERYTHING = "all"


@dataclass(frozen=True)
class Waiting:
    """A part of a conversation that waits for a model."""

    row: WaitingPart
    part: Part
    # None: no model was asked about it yet.
    tries: Tries | None


@dataclass(frozen=True)
class Dropped:
    """What was thrown away, or would be."""

    parts: tuple[Waiting, ...]
    # How many wait on.
    left: int
    # None in a dry run.
    run_id: str | None = None


def list_waiting(file: MemoryFile, tenants: Sequence[str] = ()) -> list[Waiting]:
    """Return what waits, of the tenants named or of all, oldest first. Raises `UnusableFile`."""
    tries = read_tries(file)
    return [
        Waiting(one, waiting_part(one, IngestOptions(tenant=one.tenant)), tries.get(one.id))
        for one in read_queued_parts(file, tenants)
    ]


def drop_waiting(
    path: Path, which: Sequence[str], tenants: Sequence[str], now: datetime, dry_run: bool = False
) -> Dropped:
    """Throw away what waits and is named: its messages count as read from then on.

    which: ids or the starts of them, names of conversations, or `EVERYTHING`. Raises `StoreError`
    if one of them names nothing; nothing is thrown away then.
    """
    if dry_run:
        with open_reading(path) as file:
            return _choose(file, which, tenants)
    with maintenance_lock(path):
        preflight = Preflight(path, None, now)
        preflight.bring_up_to_date()
        preflight.check_and_back_up()
        with open_writing(path) as file:
            return _drop(file, _choose(file, which, tenants), now)


def _drop(file: MemoryFile, chosen: Dropped, now: datetime) -> Dropped:
    if not chosen.parts:
        return chosen
    run = RunRecord(new_id(), now)
    rows = [one.row for one in chosen.parts]
    named = list(dict.fromkeys(one.conversation for one in rows))
    tenants = sorted({one.tenant for one in rows})
    options = {DROPPED: named, "tenant": tenants}
    with run.begun(file, options):
        with file.transaction():
            for one in chosen.parts:
                mark_as_read(file, run.run_id, one.row.tenant, one.part.chains)
                close_part(file, run.run_id, one.row.id)
        counts = count_memories(file, tenants, count_tokens)
        report = run_report(counts, counts, (), Usage()) | {DROPPED: len(rows)}
        run.end(file, "done", report)
    return Dropped(chosen.parts, chosen.left, run.run_id)


def _choose(file: MemoryFile, which: Sequence[str], tenants: Sequence[str]) -> Dropped:
    """Return what is named, and how many others wait. Raises `NotFound` or `Ambiguous`."""
    waiting = list_waiting(file, tenants)
    chosen = {found.row.id for one in which for found in _named(waiting, one, file.path)}
    parts = tuple(one for one in waiting if one.row.id in chosen)
    return Dropped(parts, len(waiting) - len(parts))


def _named(waiting: Sequence[Waiting], which: str, path: Path) -> Sequence[Waiting]:
    if which == EVERYTHING:
        return waiting
    of_a_name = [one for one in waiting if one.row.conversation == which]
    found = of_a_name or [one for one in waiting if which and one.row.id.startswith(which)]
    if not found:
        raise NotFound(
            f"Nothing that waits in {path} goes by '{which}'.",
            "Nothing was thrown away. 'slowwave ingest FILE --waiting' lists what waits.",
        )
    if len(found) > 1 and not of_a_name:
        raise Ambiguous(
            f"More than one part that waits has an id that starts with '{which}'.",
            "Nothing was thrown away. Give more of the id.",
        )
    return found
