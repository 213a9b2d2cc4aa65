"""What monitoring gets of a run: lines on stderr, and metrics."""

from __future__ import annotations

import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING

from slowwave.cli.terminal.exits import Code, code_of
from slowwave.cli.terminal.log_lines import Level, log_line
from slowwave.cli.terminal.signals import signals_of_this_command
from slowwave.cli.views.metrics import Metrics
from slowwave.cli.views.report_file import write_textfile
from slowwave.store.errors import StoreError

if TYPE_CHECKING:
    from slowwave.consolidation.running.outcome import Outcome

# Lines give the reason of these states; the reasons of the rest could quote memories.
_STATES_WITH_REASON = ("failed", "skipped", "stale")


class Watch:
    """Reports the run of each file: its start, its outcome and its end."""

    def __init__(self, path: Path | None = None) -> None:
        """path: where metrics are written, if anywhere."""
        self._path = path
        self._metrics = None if path is None else Metrics()
        self._started = 0.0

    def begin(self, file: Path, dry_run: bool, model: str | None) -> None:
        """Report that a run starts."""
        self._started = time.monotonic()
        log_line("info", "begin", file=str(file), dry_run=dry_run, model=model)

    def report_outcome(self, file: Path, outcome: Outcome, pending: Callable[[], int]) -> None:
        """Report what a run did: the id and state of each proposal, and no text of a memory."""
        for result in outcome.results:
            is_well = result.state in ("applied", "planned", "pending")
            log_line(
                "info" if is_well else "warning",
                "proposal",
                id=result.proposal.id,
                operation=result.proposal.operation,
                tenant=result.proposal.tenant,
                sources=len(result.proposal.sources),
                state=result.state,
                **({"why": result.why} if result.state in _STATES_WITH_REASON else {}),
            )
        parts = outcome.queued_parts
        log_line(
            "info",
            "outcome",
            file=str(file),
            run=outcome.run_id,
            states=dict(sorted(outcome.states.items())),
            active={"before": outcome.before.active, "after": outcome.after.active},
            conflicts=len(outcome.conflicts),
            purged=len(outcome.purged.ids),
            conversations={"read": parts.read, "waiting": parts.waiting},
            model=asdict(outcome.usage),
        )
        if self._metrics is not None:
            with suppress(StoreError):  # an agent has locked the file: this one gauge is missing
                self._metrics.set_pending(file, pending())
            self._metrics.set_outcome(file, outcome)

    def end(self, file: Path, code: int, closed: str | None = None) -> None:
        """Report how a run ended, or which gate closed it; write metrics. Raises `StoreError`."""
        seconds = round(time.monotonic() - self._started, 3)
        level: Level = "info" if code in (Code.DONE, Code.WORK_TO_DO) else "error"
        log_line(level, "end", file=str(file), code=int(code), seconds=seconds)
        if self._metrics is not None and self._path is not None:
            self._metrics.set_end(file, time.time(), seconds, code, closed)
            write_textfile(self._path, self._metrics.registry)

    def failed(self, file: Path, error: BaseException) -> None:
        """Report that a run ended with an error; the caller reports the error itself."""
        with suppress(StoreError):  # one error is enough
            self.end(file, signals_of_this_command().code or code_of(error))
