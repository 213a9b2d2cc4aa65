"""Conversation parts queued for a model, as rows of the file."""

from __future__ import annotations

from dataclasses import asdict, fields, replace
from datetime import datetime, timedelta
from typing import Any

import msgspec

from slowwave.store.errors import DamagedRow
from slowwave.store.file import MemoryFile
from slowwave.store.intake import PartRow, read_chains, read_queued_rows

from .options import ReadingOptions
from .parts import Part

# The key in a row's content of a part that gets the next messages of its conversation.
GROWING = "growing"
# A conversation without a message for this long is over.
_QUIET = timedelta(hours=1)
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
