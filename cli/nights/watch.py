"""What monitoring gets of a night: lines on stderr, and metrics."""

from __future__ import annotations

import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from slowwave.cli.terminal.exits import Code, code_of
from slowwave.cli.terminal.log_lines import Level, log_lines
from slowwave.cli.terminal.signals import signals_of_this_command
from slowwave.consolidation.errors import ConsolidationError
from slowwave.store.errors import StoreError

from .metrics import Metrics

if TYPE_CHECKING:
    from slowwave.consolidation.running.outcome import Outcome

# Of these the lines say why; of others that could tell what memories say.
_WHY_IS_SAID = ("failed", "skipped", "stale")


@dataclass
class Watch:
    """Is told of each file when its night begins, what came of it, and how it ended."""

    # Where metrics are written, if anywhere.
    path: Path | None
    metrics: Metrics | None = field(init=False)
    _began: float = field(init=False, default=0.0)

    def __post_init__(self) -> None:
        """Begin without any metrics."""
        self.metrics = None if self.path is None else Metrics()

    def begin(self, file: Path, dry_run: bool, model: str | None) -> None:
        """Say that a night begins."""
        self._began = time.monotonic()
        log_lines().write("info", "begin", file=str(file), dry_run=dry_run, model=model)

    def came_of_it(self, file: Path, outcome: Outcome, waiting: Callable[[], int]) -> None:
        """Say what a night did: of each proposal its id and state, and no text of a memory."""
        lines = log_lines()
        for one in outcome.results:
            well = one.state in ("applied", "planned", "pending")
            lines.write(
                "info" if well else "warning",
                "proposal",
                id=one.proposal.id,
                operation=one.proposal.operation,
                tenant=one.proposal.tenant,
                sources=len(one.proposal.sources),
                state=one.state,
                **({"why": one.why} if one.state in _WHY_IS_SAID else {}),
            )
        lines.write(
            "info",
            "outcome",
            file=str(file),
            run=outcome.run_id,
            states=dict(sorted(outcome.states.items())),
            active={"before": outcome.before.active, "after": outcome.after.active},
            conflicts=len(outcome.conflicts),
            purged=len(outcome.purged.ids),
            conversations={
                "read": outcome.waiting_parts.read,
                "waiting": outcome.waiting_parts.waiting,
            },
            model=asdict(outcome.usage),
        )
        if self.metrics is not None:
            with suppress(StoreError):  # an agent holds the file: this one gauge is missing
                self.metrics.waits(file, waiting())
            self.metrics.did(file, outcome)

    def end(self, file: Path, code: int) -> None:
        """Say how a night ended, and write the metrics. Raises `StoreError`."""
        seconds = round(time.monotonic() - self._began, 3)
        level: Level = "info" if code in (Code.DONE, Code.WORK_TO_DO) else "error"
        log_lines().write(level, "end", file=str(file), code=int(code), seconds=seconds)
        if self.metrics is not None and self.path is not None:
            self.metrics.ended(file, time.time(), seconds, code)
            self.metrics.write(self.path)

    def failed(self, file: Path, error: BaseException) -> None:
        """Say that a night ended with an error, which itself is said by others."""
        with suppress(StoreError):  # one error is enough
            self.end(file, _code_of(error))


def _code_of(error: BaseException) -> int:
    if isinstance(error, StoreError | ConsolidationError):
        return code_of(error)
    if isinstance(error, Exception):
        return Code.DEFECT
    return signals_of_this_command().code or Code.INTERRUPTED
