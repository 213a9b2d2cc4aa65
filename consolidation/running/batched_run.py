"""Process many memories in short transactions, in a run of its own: ageing or a purge."""

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
    """The memories to process, and how."""

    ids: Sequence[str]
    # The number of memories per transaction.
    size: int
    # Processes and journals a batch in a transaction of its own. Raises `StoreError`.
    process: Callable[[MemoryFile, str, Sequence[str]], None]
    # Returns what the run's report says about the processed memories, besides the counts.
    report: Callable[[frozenset[str]], Mapping[str, Any]]


@dataclass(frozen=True)
class BatchedRun:
    """The result of a run that processes memories in batches."""

    run_id: str
    done: frozenset[str]
    # Why some memories were not processed.
    why: str | None
    interrupted: bool
    # Whether the end was recorded in the file.
    end_is_kept: bool


def run_in_batches(
    path: Path,
    work: Work,
    tenants: Sequence[str],
    now: datetime,
    options: Mapping[str, Any],
    interruption: Interruption,
) -> BatchedRun:
    """Process the memories in a run of its own, and record how it ended.

    An error after the first batch is reported in the result. Raises `StoreError` if nothing was
    processed.
    """
    run = RunRecord(new_id(), now)
    failure: StoreError | None = None
    with open_writing(path) as file:
        before = count_memories(file, tenants, count_tokens)
        with interruption.limited():
            run.begin(file, options)
        try:
            interrupted = _process_all(file, run.run_id, work, interruption)
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
    return BatchedRun(run.run_id, done, why, interrupted, end_is_kept)


def count_now(path: Path, tenants: Sequence[str]) -> Counts:
    """Return the counts of these tenants' memories. Raises `StoreError`."""
    with open_reading(path) as file:
        return count_memories(file, tenants, count_tokens)


def _process_all(file: MemoryFile, run_id: str, work: Work, interruption: Interruption) -> bool:
    """Process all batches; return whether that was interrupted."""
    for start in range(0, len(work.ids), work.size):
        # Late in a night signals no longer interrupt, so poll.
        if interruption.asked:
            return True
        try:
            with interruption.limited():
                work.process(file, run_id, work.ids[start : start + work.size])
        except OutOfTime:
            return True
    return False
