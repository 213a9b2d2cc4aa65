"""The row of a run in the ledger: its beginning, its end and its report."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from datetime import datetime
from importlib.metadata import version
from typing import Any, Literal

from slowwave.consolidation.proposals import Usage
from slowwave.store.file import MemoryFile
from slowwave.store.ledger import begin_run, end_run
from slowwave.store.memories import Counts
from slowwave.store.records import timestamp

# How a run ended, as stored in the ledger.
Verdict = Literal["done", "partial", "failed", "interrupted"]


def run_report(
    before: Counts, after: Counts, states: Iterable[str], usage: Usage
) -> dict[str, Any]:
    """Return the report of a run, as `log` and `stats` read it.

    states: of each proposal or candidate of the run.
    """
    return {
        "before": asdict(before),
        "after": asdict(after),
        "states": dict(sorted(Counter(states).items())),
        "model": asdict(usage),
    }


@dataclass(frozen=True)
class RunRecord:
    """The row of one run in the ledger of a file that is open for writing."""

    run_id: str
    now: datetime

    def begin(self, file: MemoryFile, options: Mapping[str, Any]) -> None:
        """Record that the run has begun, and its options."""
        begin_run(file, self.run_id, timestamp(self.now), version("slowwave"), dict(options))

    def end(
        self, file: MemoryFile, verdict: Verdict, report: Mapping[str, Any], plan: str | None = None
    ) -> None:
        """Record how the run ended. plan: the digest of its plan, if it had one."""
        end_run(file, self.run_id, timestamp(self.now), verdict, plan, dict(report))

    @contextmanager
    def begun(
        self,
        file: MemoryFile,
        options: Mapping[str, Any],
        report_so_far: Callable[[], Mapping[str, Any]] = dict,
    ) -> Iterator[None]:
        """Begin the run for a block that ends it.

        If the block raises, record the run as failed or interrupted, with the report so far.
        """
        self.begin(file, options)
        try:
            yield
        except BaseException as error:
            is_asked = isinstance(error, KeyboardInterrupt)
            self.end(file, "interrupted" if is_asked else "failed", report_so_far())
            raise
