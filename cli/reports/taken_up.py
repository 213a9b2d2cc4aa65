"""What became of conversations that waited for a model, for programs and for people."""

from __future__ import annotations

import shlex
from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

from slowwave.cli.terminal.memory_texts import counted
from slowwave.cli.terminal.output import clean

if TYPE_CHECKING:
    from slowwave.consolidation.running.taken_up import TakenUp

_BECAME = (
    ("stored", "stored"),
    ("told", "told already"),
    ("rejected", "turned down"),
    ("raw", "answers kept as they are"),
)


def taken_up_as_json(one: TakenUp) -> dict[str, Any]:
    """Return it as format 1, the same keys where nobody read anything; it counts parts."""
    return {
        "waiting": one.waiting,
        "runs": list(one.runs),
        "read": one.read,
        "unread": one.unread,
        "memories": {state: one.states.get(state, 0) for state, _ in _BECAME},
        "why": one.why if one.broken_off is None else one.broken_off.message,
        "model": asdict(one.usage),
    }


def taken_up_as_text(one: TakenUp, file: Path) -> list[str]:
    """Return it in a paragraph; nothing where nothing waits and nothing was read."""
    if one.runs:
        return ["\n".join(map(clean, _read(one, file)))]
    if not one.waiting:
        return []
    then = "a real run reads that first" if one.is_due else "with --model a night reads that first"
    return [f"Of conversations {_parts(one.waiting, 'waits', 'wait')} for a model: {then}."]


def _read(one: TakenUp, file: Path) -> Iterator[str]:
    became = [f"{one.states[state]} {told}" for state, told in _BECAME if one.states.get(state)]
    calls = f" ({counted(one.usage.calls, 'call', 'calls')})" if one.usage.calls else ""
    yield (
        f"Of conversations that waited {_parts(one.read, 'was', 'were')} read{calls}: "
        f"{', '.join(became) or 'nothing to remember'}."
    )
    if one.unread:
        yield f"  ! {_parts(one.unread, 'waits', 'wait')} on: {one.why}"
    for run in one.runs if one.read else ():
        yield f"Take it back with: slowwave undo {shlex.quote(str(file))} {run}"


def _parts(count: int, verb: str, verb_of_many: str) -> str:
    return f"{counted(count, 'part', 'parts')} {verb if count == 1 else verb_of_many}"
