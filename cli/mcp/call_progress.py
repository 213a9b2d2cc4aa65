"""The progress of a call, which is reported to the client while a tool runs."""

from __future__ import annotations

import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from contextvars import ContextVar
from typing import Any

import anyio

from slowwave.cli.terminal.progress_bars import STAGES
from slowwave.consolidation.progress import Progress

# How often a client gets a report: many give up after a minute of silence.
_INTERVAL_S = 2.0
# That of the call in whose thread a tool runs.
PROGRESS: ContextVar[Progress | None] = ContextVar("PROGRESS", default=None)


class _LatestStage(Progress):
    words = "reading the file"

    def stage(self, name: str, done: int, total: int) -> None:
        """Set how far a stage is."""
        self.words = f"{STAGES[name]}: {done:,} of {total:,}" if total else STAGES[name]


@asynccontextmanager
async def reported_progress(context: Any) -> AsyncIterator[None]:
    """Report `PROGRESS` to the client of a call while the block runs, if it asks for that."""
    latest = _LatestStage()
    PROGRESS.set(latest)

    async def report() -> None:
        began = time.monotonic()
        with suppress(anyio.ClosedResourceError, anyio.BrokenResourceError):  # the client is gone
            while True:
                # The protocol wants a number that rises: the seconds.
                seconds = round(time.monotonic() - began, 3)
                await context.report_progress(seconds, None, latest.words)
                await anyio.sleep(_INTERVAL_S)

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(report)
        yield
        tasks.cancel_scope.cancel()
