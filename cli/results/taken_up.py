"""What became of conversations that waited for a model, for programs and for people."""

from __future__ import annotations

import shlex
from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

from slowwave.cli.terminal.output import clean
from slowwave.cli.terminal.wording import counted, day_of

if TYPE_CHECKING:
    from slowwave.consolidation.running.outcome import WaitingPartsResult
    from slowwave.store.intake import Backlog

_BECAME = (
    ("stored", "stored"),
    ("told", "already known"),
    ("rejected", "turned down"),
    ("raw", "answers kept as they are"),
)


def waiting_parts_as_json(one: WaitingPartsResult) -> dict[str, Any]:
    """Return it as format 1, the same keys where nobody read anything; it counts parts."""
    return {
        "waiting": one.waiting,
        "waiting_since": one.backlog.since,
        "tries": one.backlog.tries,
        "runs": list(one.runs),
        "read": one.read,
        "unread": one.unread,
        "memories": {state: one.states.get(state, 0) for state, _ in _BECAME},
        "why": one.why if one.broken_off is None else one.broken_off.message,
        "model": asdict(one.usage),
    }


def waiting_parts_as_text(one: WaitingPartsResult, file: Path) -> list[str]:
    """Return it in a paragraph; nothing where nothing waits and nothing was read."""
    if one.runs:
        return ["\n".join(map(clean, _read(one, file)))]
    if not one.waiting:
        return []
    then = "a real run reads that first" if one.is_due else "with --model a night reads that first"
    waits = _parts(one.waiting, "waits", "wait")
    return [f"{waits} for a model {since(one.backlog)}: {then}."]


def since(backlog: Backlog) -> str:
    """Return in words since when something waits, and how often a model was asked about it."""
    tried = counted(backlog.tries, "try", "tries") if backlog.tries else ""
    up_to = "up to " if backlog.parts > 1 and backlog.tries else ""
    return f"since {day_of(backlog.since or '')}{tried and f', after {up_to}{tried}'}"


def _read(one: WaitingPartsResult, file: Path) -> Iterator[str]:
    named = shlex.quote(str(file))
    became = [
        f"{one.states[state]} {wording}" for state, wording in _BECAME if one.states.get(state)
    ]
    calls = f" ({counted(one.usage.calls, 'call', 'calls')})" if one.usage.calls else ""
    came = f": {', '.join(became) or 'nothing to remember'}" if one.read else ""
    yield f"{_parts(one.read, 'was', 'were')} read{calls}{came}."
    if one.unread:
        on = f"{_parts(one.unread, 'waits', 'wait')} on {since(one.backlog)}"
        yield f"  ! {on}: {one.why}"
        yield f"  List or throw away what waits: slowwave ingest {named} --waiting"
    for run in one.runs if one.read else ():
        yield f"Take it back with: slowwave undo {named} {run}"


def _parts(count: int, verb: str, verb_of_many: str) -> str:
    parts = counted(count, "conversation part", "conversation parts")
    return f"{parts} {verb if count == 1 else verb_of_many}"
