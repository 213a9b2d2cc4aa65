"""Conversation parts that are queued in a file for a model: listed, and dropped."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

from slowwave.cli.terminal.output import Output, clean, shortened, with_file
from slowwave.cli.terminal.wording import counted, day_of
from slowwave.cli.views.ingest import command_to_read
from slowwave.store.file import open_reading

if TYPE_CHECKING:
    from slowwave.consolidation.ingest.queued_parts import Dropped, QueuedPart

# Maximum characters shown of the first message, and of an id.
_MAX_SHOWN = 100
_MAX_ID = 12


def show_queued(file: Path, tenants: Sequence[str], output: Output) -> None:
    """List the queued parts of the chosen tenants, or of all."""
    from slowwave.consolidation.ingest.queued_parts import list_queued

    with open_reading(file) as opened:
        queued = list_queued(opened, tenants)
    parts = list(map(_as_json, queued))
    output.result("ingest", file=str(file), waiting=len(parts), parts=parts)
    if not queued:
        output.show(clean(f"{file}: no conversation is queued."))
        return
    lines = [line for part in queued for line in _lines(part)]
    commands = dict.fromkeys(command_to_read(part.row.tenant) for part in queued)
    lines.append(f"{_queued(len(queued))}. Read them: {'; '.join(commands)}")
    lines.append(with_file(f"Drop one: slowwave ingest FILE --drop {queued[0].row.id[:_MAX_ID]}"))
    output.show("\n".join(map(clean, lines)))


def drop(
    file: Path, ids: Sequence[str], tenants: Sequence[str], dry_run: bool, output: Output
) -> None:
    """Drop the chosen queued parts, and report them."""
    from slowwave.consolidation.ingest.queued_parts import drop_queued

    dropped = drop_queued(file, ids, tenants, datetime.now(UTC), dry_run)
    output.result(
        "ingest",
        file=str(file),
        dry_run=dry_run,
        run=dropped.run_id,
        dropped=list(map(_as_json, dropped.parts)),
        waiting=dropped.remaining,
    )
    output.show("\n".join(map(clean, _report(dropped, file, dry_run))))


def _report(dropped: Dropped, file: Path, dry_run: bool) -> Iterator[str]:
    if dry_run:
        yield "Dry run: nothing was written."
    if not dropped.parts:
        yield f"{file}: no conversation is queued."
        return
    for part in dropped.parts:
        yield from _lines(part)
    count = counted(len(dropped.parts), "part")
    verb, when = ("Would drop", " afterwards") if dry_run else ("Dropped", "")
    yield f"{verb} {count}; only --again reads them. {_queued(dropped.remaining)}{when}."
    if dropped.run_id is not None:
        yield with_file(f"Undo it with: slowwave undo FILE {dropped.run_id}")


def _queued(count: int) -> str:
    return f"Queued: {counted(count, 'part')}"


def _lines(part: QueuedPart) -> Iterator[str]:
    row, unread, tries = part.row, part.part.new, part.tries
    places = f", messages {unread[0].place} to {unread[-1].place}" if unread else ""
    tenant = "" if row.tenant == "default" else f" of tenant {row.tenant}"
    since = day_of(row.queued_at)
    yield f"{row.id[:_MAX_ID]}  {row.conversation}{places}{tenant}, since {since}"
    if unread:
        yield f"    {shortened(unread[0].text, _MAX_SHOWN)}"
    so_far = "not read yet"
    if tries.last_at is not None:
        count = counted(tries.count, "try", "tries")
        so_far = f"{count}, the last on {day_of(tries.last_at)}"
    yield f"    {so_far}: {tries.why}"


def _as_json(part: QueuedPart) -> dict[str, Any]:
    row, messages, tries = part.row, part.part.new, part.tries
    return {
        "id": row.id,
        "tenant": row.tenant,
        "conversation": row.conversation,
        "format": part.part.format,
        "session": part.part.session,
        "messages": [message.place for message in messages],
        "begins": messages[0].text[:_MAX_SHOWN] if messages else "",
        "since": row.queued_at,
        "tries": tries.count,
        "last_tried_at": tries.last_at,
        "why": tries.why,
    }
