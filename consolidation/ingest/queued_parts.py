"""Conversation parts queued for a model: keep, list, and drop them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass, fields, replace
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import msgspec

from slowwave.consolidation.proposals import Usage
from slowwave.consolidation.running.run_in_file import Preflight, RunRecord, run_report
from slowwave.consolidation.text.tokens import count_tokens
from slowwave.store.errors import DamagedRow
from slowwave.store.file import MemoryFile, open_reading, open_writing
from slowwave.store.intake import (
    DROPPED,
    PartRow,
    Tries,
    close_part,
    mark_as_read,
    read_chains,
    read_queued_rows,
    read_tries,
)
from slowwave.store.lock import maintenance_lock
from slowwave.store.memories import count_memories
from slowwave.store.prefixes import match_prefix
from slowwave.store.records import new_id

from .options import ReadingOptions
from .parts import Part

# The key in a row's content of a part that gets the next messages of its conversation.
GROWING = "growing"
# A conversation without a message for this long is over.
_QUIET = timedelta(hours=1)
# Selects all queued parts.
EVERYTHING = "all"
# What a row keeps of the options of an ingest.
_KEPT_OPTIONS = tuple(option.name for option in fields(ReadingOptions))


def as_queued(part: Part) -> dict[str, Any]:
    """Return the contents of a queued row: the messages of a part, and its options."""
    options = asdict(part.options)
    return {
        "format": part.format,
        "session": part.session,
        "saved_at": part.saved_at,
        "said": list(map(asdict, part.messages)),
        "options": {name: options[name] for name in _KEPT_OPTIONS},
    }


def part_from_row(row: PartRow) -> Part:
    """Return a queued row as a part; older rows have no options. Raises `DamagedRow`."""
    fields_of_row = {
        "conversation": row.conversation,
        "tenant": row.tenant,
        "queued_id": row.id,
        "messages": row.content.get("said"),
        "saved_at": row.content.get("saved_at") or row.queued_at,
    }
    try:
        return msgspec.convert(row.content | fields_of_row, Part)
    except msgspec.ValidationError as error:
        fault = f"the queued part of {row.conversation} cannot be read: {error}"
        raise DamagedRow(fault, f"It is in waiting_messages, id {row.id}.") from error


def read_parts_to_read(
    file: MemoryFile,
    tenant: str,
    conversation: str | None = None,
    quiet_at: datetime | None = None,
) -> list[Part]:
    """Return the queued parts of a tenant, or of one of its conversations, that must be read.

    quiet_at: a time at which a part may grow no longer; None if that does not matter.

    Their numbers are negative, and shared by the parts of a distilled conversation. Messages that
    were read since are context; rows without other messages are omitted. Raises `DamagedRow`.
    """
    numbers: dict[str, int] = {}
    parts = []
    queued = read_queued_rows(file, [tenant])
    for row in (row for row in queued if conversation in (None, row.conversation)):
        if quiet_at is not None and grows(row, quiet_at):
            continue
        part = part_from_row(row)
        together = part.conversation if part.options.distill else row.id
        number = numbers.setdefault(together, -1 - len(numbers))
        read_before = frozenset() if part.options.again else read_chains(file, tenant, part.chains)
        messages = (
            replace(message, is_new=message.is_new and message.chain not in read_before)
            for message in part.messages
        )
        parts.append(replace(part, messages=tuple(messages), number=number))
    return [part for part in parts if part.new]


def grows(row: PartRow, now: datetime) -> bool:
    """Whether the conversation of a queued part goes on, so that it may get more messages."""
    if row.content.get(GROWING) is not True:
        return False
    times = (message.said_at for message in part_from_row(row).messages)
    last = max(filter(None, times), default=row.queued_at)
    return datetime.fromisoformat(last) > now - _QUIET


@dataclass(frozen=True)
class QueuedPart:
    """A conversation part queued for a model."""

    row: PartRow
    part: Part
    tries: Tries


@dataclass(frozen=True)
class Dropped:
    """The parts that were dropped, or would be."""

    parts: tuple[QueuedPart, ...]
    # The number of parts that are still queued.
    remaining: int
    # None in a dry run.
    run_id: str | None = None


def list_queued(file: MemoryFile, tenants: Sequence[str]) -> list[QueuedPart]:
    """Return the queued parts of these tenants, or of all, oldest first. Raises `DamagedRow`."""
    tries = read_tries(file)
    rows = read_queued_rows(file, tenants)
    return [
        QueuedPart(row, part_from_row(row), tries.get(row.id) or Tries(0, None, row.why))
        for row in rows
    ]


def drop_queued(
    path: Path, which: Sequence[str], tenants: Sequence[str], now: datetime, dry_run: bool
) -> Dropped:
    """Drop queued parts, in a run: their messages count as read from then on.

    which: ids or their prefixes, names of conversations, or `EVERYTHING`. Raises `StoreError`, with
    nothing dropped, if one of them matches nothing.
    """
    if dry_run:
        with open_reading(path) as file:
            return _choose(file, which, tenants)
    with maintenance_lock(path):
        Preflight(path, None, now).refuse_damaged()
        with open_writing(path) as file:
            dropped = _choose(file, which, tenants)
            return replace(dropped, run_id=_drop(file, dropped, now)) if dropped.parts else dropped


def _drop(file: MemoryFile, dropped: Dropped, now: datetime) -> str:
    run = RunRecord(new_id(), now)
    rows = [queued.row for queued in dropped.parts]
    tenants = sorted({row.tenant for row in rows})
    conversations = list(dict.fromkeys(row.conversation for row in rows))
    with run.begun(file, {DROPPED: conversations, "tenant": tenants}):
        with file.transaction():
            for queued in dropped.parts:
                mark_as_read(file, run.run_id, queued.row.tenant, queued.part.chains)
                close_part(file, run.run_id, queued.row.id)
        counts = count_memories(file, tenants, count_tokens)
        report = run_report(counts, counts, (), Usage()) | {DROPPED: len(rows)}
        run.end(file, "done", report)
    return run.run_id


def _choose(file: MemoryFile, which: Sequence[str], tenants: Sequence[str]) -> Dropped:
    """Return the selected parts, and how many remain. Raises `NotFound` or `Ambiguous`."""
    queued = list_queued(file, tenants)
    chosen_ids = {
        part_of_name.row.id for name in which for part_of_name in _named(queued, name, file.path)
    }
    parts = tuple(part for part in queued if part.row.id in chosen_ids)
    return Dropped(parts, len(queued) - len(parts))


def _named(queued: Sequence[QueuedPart], which: str, path: Path) -> Sequence[QueuedPart]:
    if which == EVERYTHING:
        return queued
    if of_a_name := [part for part in queued if part.row.conversation == which]:
        return of_a_name
    by_id = {part.row.id: part for part in queued}
    hint = "Nothing was dropped. List queued parts with 'slowwave ingest FILE --waiting'."
    return [by_id[match_prefix(which, by_id, "queued part", f" in {path}", hint)]]
