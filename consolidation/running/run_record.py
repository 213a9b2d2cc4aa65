"""What every run keeps of itself in the ledger: how it began and ended, and its report."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict
from datetime import datetime
from importlib.metadata import version
from typing import Any

from slowwave.consolidation.proposals import Usage
from slowwave.store.file import MemoryFile
from slowwave.store.ledger import begin_run, end_run
from slowwave.store.memories import Counts
from slowwave.store.records import timestamp


def run_report(
    before: Counts, after: Counts, states: Iterable[str], usage: Usage
) -> dict[str, Any]:
    """Return the report of a run, as `log` and `stats` read it.

    states: of each proposal, or of whatever else the run decided about.
    """
    return {
        "before": asdict(before),
        "after": asdict(after),
        "states": dict(sorted(Counter(states).items())),
        "model": asdict(usage),
    }


@contextmanager
def recorded_run(
    file: MemoryFile,
    run_id: str,
    now: datetime,
    options: Mapping[str, Any],
    report_so_far: Callable[[], Mapping[str, Any]],
) -> Iterator[None]:
    """Begin a run in a file that is open for writing; the caller ends it.

    Where the block raises, the run is written down as failed, or as interrupted, with the report of
    what was done by then.
    """
    at = timestamp(now)
    begin_run(file, run_id, at, version("slowwave"), dict(options))
    try:
        yield
    except BaseException as error:
        outcome = "interrupted" if isinstance(error, KeyboardInterrupt) else "failed"
        end_run(file, run_id, at, outcome, None, dict(report_so_far()))
        raise
