"""What waits in a file for a model: listed, and thrown away."""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

from slowwave.cli.terminal.output import Output, clean, shortened
from slowwave.cli.terminal.wording import counted, day_of
from slowwave.cli.views.ingest import reading_what_waits

if TYPE_CHECKING:
    from slowwave.consolidation.ingest.waiting import Dropped, Waiting

# So much of what was said first is shown, and so much of an id.
_MOST_SHOWN = 100
_SHORT = 12


def show_waiting(file: Path, tenants: Sequence[str], output: Output) -> None:
    """List what waits, of the tenants named or of all."""
    from slowwave.consolidation.ingest.waiting import list_waiting
    from slowwave.store.file import open_reading

    with open_reading(file) as opened:
        waiting = list_waiting(opened, tenants)
    parts = [_as_json(one) for one in waiting]
    output.result({"command": "ingest", "file": str(file), "waiting": len(parts), "parts": parts})
    named = shlex.quote(str(file))
    if not waiting:
        output.show(clean(f"{file}: nothing waits for a model."))
        return
    lines = [line for one in waiting for line in _lines(one)]
    count = counted(len(waiting), "part waits", "parts wait")
    commands = dict.fromkeys(reading_what_waits(file, one.row.tenant) for one in waiting)
    lines.append(f"{count} for a model: {'; '.join(commands)}")
    lines.append(f"Throw one away: slowwave ingest {named} --drop {waiting[0].row.id[:_SHORT]}")
    output.show("\n".join(map(clean, lines)))


def throw_away(
    file: Path, which: Sequence[str], tenants: Sequence[str], dry_run: bool, output: Output
) -> None:
    """Throw away what is named of what waits, and tell that."""
    from slowwave.consolidation.ingest.waiting import drop_waiting

    dropped = drop_waiting(file, which, tenants, datetime.now(UTC), dry_run)
    output.result(
        {
            "command": "ingest",
            "file": str(file),
            "dry_run": dry_run,
            "run": dropped.run_id,
            "dropped": [_as_json(one) for one in dropped.parts],
            "waiting": dropped.left,
        }
    )
    output.show("\n".join(map(clean, _told(dropped, file, dry_run))))


def _told(dropped: Dropped, file: Path, dry_run: bool) -> Iterator[str]:
    if dry_run:
        yield "Dry run: nothing was written."
    if not dropped.parts:
        yield f"{file}: nothing waits for a model."
        return
    for one in dropped.parts:
        yield from _lines(one)
    count = counted(len(dropped.parts), "part", "parts")
    done = "Would throw away" if dry_run else "Threw away"
    left = counted(dropped.left, "other part", "other parts") if dropped.left else "nothing"
    waits = "would wait then" if dry_run else "wait now" if dropped.left > 1 else "waits now"
    yield f"{done} {count}: read by nobody, and not read again but with --again; {left} {waits}."
    if dropped.run_id is not None:
        yield f"Take it back: slowwave undo {shlex.quote(str(file))} {dropped.run_id}"


def _lines(one: Waiting) -> Iterator[str]:
    row, new = one.row, one.part.new
    places = f", messages {new[0].place} to {new[-1].place}" if new else ""
    tenant = "" if row.tenant == "default" else f" of tenant {row.tenant}"
    yield f"{row.id[:_SHORT]}  {row.conversation}{places}{tenant}, since {day_of(row.queued_at)}"
    if new:
        yield f"    {shortened(new[0].message.text, _MOST_SHOWN)}"
    if one.tries is None:
        yield f"    no model was asked yet: {row.why}"
    else:
        tries = counted(one.tries.count, "try", "tries")
        yield f"    {tries}, the last on {day_of(one.tries.last_at)}: {one.tries.why}"


def _as_json(one: Waiting) -> dict[str, Any]:
    row, tries = one.row, one.tries
    return {
        "id": row.id,
        "tenant": row.tenant,
        "conversation": row.conversation,
        "format": one.part.format,
        "session": one.part.session,
        "messages": [said.place for said in one.part.new],
        "begins": one.part.new[0].message.text[:_MOST_SHOWN] if one.part.new else "",
        "since": row.queued_at,
        "tries": 0 if tries is None else tries.count,
        "last_tried_at": None if tries is None else tries.last_at,
        "why": row.why if tries is None else tries.why,
    }
