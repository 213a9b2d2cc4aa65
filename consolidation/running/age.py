"""The phases that take memories out of the active ones: each a run of its own, journaled."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from datetime import datetime
from importlib.metadata import version
from pathlib import Path
from typing import Any

from slowwave.consolidation.ageing.choosing import Choice, Leaving
from slowwave.consolidation.runtime.interruption import Interruption, OutOfTime
from slowwave.consolidation.text.token_count import count_tokens
from slowwave.store.ageing import PHASE, PORTION, STATUS_AFTER, Phase, take_out, taken_out
from slowwave.store.errors import FileHeld, StoreError
from slowwave.store.file import MemoryFile, open_reading, open_writing
from slowwave.store.ledger import begin_run, end_run
from slowwave.store.memories import Counts, count_memories
from slowwave.store.records import new_id, timestamp

from .preflight import Preflight

_INTERRUPTED = "the run was interrupted"


@dataclass(frozen=True)
class Aged:
    """What a phase took out of the active memories, or in a dry run would take out."""

    leaving: tuple[Leaving, ...] = ()
    choice: Choice = field(default_factory=Choice)
    # None where none was begun.
    run_id: str | None = None
    # Why not all left that was to leave.
    why: str | None = None
    interrupted: bool = False
    # Whether how it ended is in the file, too.
    end_is_kept: bool = True


@dataclass(frozen=True)
class AgeingRun:
    """Carries out one phase on one file."""

    path: Path
    tenants: Sequence[str]
    now: datetime
    preflight: Preflight
    interruption: Interruption
    # All options of the phase as given, for the record of the run.
    shown: dict[str, Any]

    def carry_out(self, phase: Phase, choice: Choice) -> Aged:
        """Take out what was chosen, as far as it is what it was, in short transactions.

        What stood in the way after the first of them is said, not raised. Raises `StoreError` if
        nothing was changed.
        """
        if not choice.leaving:
            return Aged(choice=choice)
        self.preflight.check_and_back_up()
        run_id, at = new_id(), timestamp(self.now)
        why: str | None = None
        interrupted = False
        with open_writing(self.path) as file:
            before = self._count(file)
            begin_run(file, run_id, at, version("slowwave"), {PHASE: phase, **self._options()})
            try:
                interrupted = self._take_out(file, run_id, phase, choice)
            except KeyboardInterrupt:
                self.interruption.close()
                interrupted = True
            except StoreError as error:
                why = error.message
                if not taken_out(file, run_id):
                    end_run(file, run_id, at, "failed", None, {})
                    raise
            gone = taken_out(file, run_id)
            why = _INTERRUPTED if interrupted else why
            report = {
                "before": asdict(before),
                "after": asdict(self._count(file)),
                STATUS_AFTER[phase]: len(gone),
                "kept": dict(choice.kept),
                "above": dict(choice.above),
            }
            end_is_kept = self._end(file, run_id, "interrupted" if interrupted else why, report)
        leaving = tuple(one for one in choice.leaving if one.id in gone)
        return Aged(leaving, choice, run_id, why, interrupted, end_is_kept)

    def _options(self) -> dict[str, Any]:
        backup = self.preflight.backup
        return self.shown | ({"backup": backup.name} if backup else {})

    def _take_out(self, file: MemoryFile, run_id: str, phase: Phase, choice: Choice) -> bool:
        """Take memories out, portion by portion, and say whether somebody interrupted that."""
        leaving = [one.memory for one in choice.leaving]
        for start in range(0, len(leaving), PORTION):
            if self.interruption.asked:
                return True
            try:
                with self.interruption.limited():
                    part = leaving[start : start + PORTION]
                    take_out(file, run_id, phase, part, timestamp(self.now))
            except OutOfTime:
                return True
        return False

    def _end(
        self, file: MemoryFile, run_id: str, ended: str | None, report: dict[str, Any]
    ) -> bool:
        """Write down how the run ended, and say whether that was possible."""
        outcome = "interrupted" if ended == "interrupted" else "partial" if ended else "done"
        try:
            with self.interruption.limited():
                end_run(file, run_id, timestamp(self.now), outcome, None, report)
        except (OutOfTime, FileHeld):
            return False
        return True

    def _count(self, file: MemoryFile) -> Counts:
        return count_memories(file, self.tenants, count_tokens)


def count_now(path: Path, tenants: Sequence[str]) -> Counts:
    """Return how many memories there are, and how much they say."""
    with open_reading(path) as file:
        return count_memories(file, tenants, count_tokens)
