"""The phases that take memories out of the active ones: each a run of its own, journaled."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from slowwave.consolidation.ageing.choosing import AgeingChoice, LeavingMemory
from slowwave.consolidation.runtime.interruption import Interruption
from slowwave.store.ageing import PHASE, PORTION, STATUS_AFTER, Phase, retire_memories
from slowwave.store.file import MemoryFile
from slowwave.store.records import timestamp

from .in_portions import Work, treat_in_portions
from .night_inputs import NightInputs
from .preflight import Preflight


@dataclass(frozen=True)
class Aged:
    """What a phase took out of the active memories, or in a dry run would take out."""

    leaving: tuple[LeavingMemory, ...] = ()
    choice: AgeingChoice = field(default_factory=AgeingChoice)
    # None where none was begun.
    run_id: str | None = None
    # Why not all left that was to leave.
    why: str | None = None
    interrupted: bool = False
    # Whether how it ended is in the file, too.
    end_is_kept: bool = True


def age(
    night: NightInputs,
    phase: Phase,
    choice: AgeingChoice,
    tenants: Sequence[str],
    preflight: Preflight,
    interruption: Interruption,
) -> Aged:
    """Take out what was chosen, as far as it is what it was.

    What stands in the way after the first memories is in the result. Raises `StoreError` if nothing
    was changed.
    """
    preflight.check_and_back_up()
    planned = {one.id: one.memory for one in choice.leaving}

    def treat(file: MemoryFile, run_id: str, ids: Sequence[str]) -> None:
        retire_memories(file, run_id, phase, [planned[one] for one in ids], timestamp(night.now))

    def report(done: frozenset[str]) -> dict[str, Any]:
        counts = {"kept": dict(choice.kept), "above": dict(choice.above)}
        return {STATUS_AFTER[phase]: len(done), **counts}

    work = Work(list(planned), PORTION, treat, report)
    shown = {PHASE: phase, "tenant": list(night.options.tenants), **preflight.as_option()}
    run = treat_in_portions(night.path, work, tenants, night.now, shown, interruption)
    leaving = tuple(one for one in choice.leaving if one.id in run.done)
    return Aged(leaving, choice, run.run_id, run.why, run.interrupted, run.end_is_kept)
