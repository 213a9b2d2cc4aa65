"""Expire and archive memories: each phase is a journaled run of its own."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from slowwave.consolidation.ageing.choosing import AgeingChoice, LeavingMemory
from slowwave.consolidation.runtime.interruption import Interruption
from slowwave.store.ageing import PHASE, PORTION, STATUS_AFTER, Phase, retire_memories
from slowwave.store.file import MemoryFile
from slowwave.store.records import timestamp

from .batched_run import Work, run_in_batches
from .night_inputs import NightInputs
from .preflight import Preflight


@dataclass(frozen=True)
class AgeingResult:
    """The memories that a phase expired or archived; in a dry run, those that it would."""

    leaving: tuple[LeavingMemory, ...] = ()
    choice: AgeingChoice = field(default_factory=AgeingChoice)
    # None if no run was begun.
    run_id: str | None = None
    # Why some memories did not leave.
    why: str | None = None
    interrupted: bool = False
    # Whether the end was recorded in the file.
    end_is_kept: bool = True


def age(
    night: NightInputs,
    phase: Phase,
    choice: AgeingChoice,
    tenants: Sequence[str],
    preflight: Preflight,
    interruption: Interruption,
) -> AgeingResult:
    """Expire or archive the chosen memories that are unchanged.

    An error after the first batch is reported in the result. Raises `StoreError` if nothing was
    changed.
    """
    preflight.check_and_back_up()
    planned = {leaving.id: leaving.memory for leaving in choice.leaving}

    def process(file: MemoryFile, run_id: str, ids: Sequence[str]) -> None:
        retire_memories(
            file, run_id, phase, [planned[memory_id] for memory_id in ids], timestamp(night.now)
        )

    def report(done: frozenset[str]) -> dict[str, Any]:
        counts = {"kept": dict(choice.kept), "above": dict(choice.above)}
        return {STATUS_AFTER[phase]: len(done), **counts}

    work = Work(list(planned), PORTION, process, report)
    shown = {PHASE: phase, "tenant": list(night.options.tenants), **preflight.as_option()}
    run = run_in_batches(night.path, work, tenants, night.now, shown, interruption)
    leaving = tuple(memory for memory in choice.leaving if memory.id in run.done)
    return AgeingResult(leaving, choice, run.run_id, run.why, run.interrupted, run.end_is_kept)
