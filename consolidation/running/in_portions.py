"""Many memories treated in short transactions, in a run of its own: a phase of ageing, a purge."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

from slowwave.consolidation.runtime.interruption import Interruption, OutOfTime
from slowwave.consolidation.text.token_count import count_tokens
from slowwave.store.errors import FileHeld, StoreError
from slowwave.store.file import MemoryFile, open_reading, open_writing
from slowwave.store.journal import journaled_memories
from slowwave.store.memories import Counts, count_memories
from slowwave.store.records import new_id

from .run_record import RunRecord, Verdict


@dataclass(frozen=True)
class Work:
    """What is to be done to many memories."""

    ids: Sequence[str]
    # How many memories a transaction treats.
    size: int
    # Treats a portion for a run, in a transaction of its own, and journals it. Raises `StoreError`.
    treat: Callable[[MemoryFile, str, Sequence[str]], None]
    # What the run's report says of those that were treated, beside the counts.
    report: Callable[[frozenset[str]], Mapping[str, Any]]


@dataclass(frozen=True)
class PortionsRun:
    """What became of a run that treats memories portion by portion."""

    run_id: str
    done: frozenset[str]
    # Why not all was done.
    why: str | None
    interrupted: bool
    # Whether how it ended is in the file, too.
    end_is_kept: bool


def treat_in_portions(
    path: Path,
    work: Work,
    tenants: Sequence[str],
    now: datetime,
    options: Mapping[str, Any],
    interruption: Interruption,
) -> PortionsRun:
    """Begin a run, treat the memories as far as that can be, and write down how it ended.

    What stands in the way after the first of them is in the result. Raises `StoreError` if none was
    treated.
    """
    run = RunRecord(new_id(), now)
    failure: StoreError | None = None
    with open_writing(path) as file:
        before = count_memories(file, tenants, count_tokens)
        with interruption.limited():
            run.begin(file, options)
        try:
            interrupted = _treat_all(file, run.run_id, work, interruption)
        except KeyboardInterrupt:
            interruption.close()
            interrupted = True
        except StoreError as error:
            interrupted, failure = False, error
        done = journaled_memories(file, run.run_id)
        if failure is not None and not done:
            run.end(file, "failed", {})
            raise failure
        after = count_memories(file, tenants, count_tokens)
        kept_report = {"before": asdict(before), "after": asdict(after), **work.report(done)}
        verdict: Verdict = "interrupted" if interrupted else "partial" if failure else "done"
        end_is_kept = True
        try:
            with interruption.limited():
                run.end(file, verdict, kept_report)
        except (OutOfTime, FileHeld):
            end_is_kept = False
    why = "the run was interrupted" if interrupted else failure.message if failure else None
    return PortionsRun(run.run_id, done, why, interrupted, end_is_kept)


def count_now(path: Path, tenants: Sequence[str]) -> Counts:
    """Return how many memories there are, and how much they say. Raises `StoreError`."""
    with open_reading(path) as file:
        return count_memories(file, tenants, count_tokens)


def _treat_all(file: MemoryFile, run_id: str, work: Work, interruption: Interruption) -> bool:
    """Treat all portions, and say whether somebody interrupted that."""
    for start in range(0, len(work.ids), work.size):
        # At its end a night is not interrupted any more by a signal: it looks by itself.
        if interruption.asked:
            return True
        try:
            with interruption.limited():
                work.treat(file, run_id, work.ids[start : start + work.size])
        except OutOfTime:
            return True
    return False
