"""Progress of a long tool call, reported to the MCP client that waits for it."""

from __future__ import annotations

import time
from collections.abc import Iterator
from concurrent.futures import CancelledError
from contextlib import contextmanager
from threading import Event, Thread

import anyio
from anyio import from_thread
from anyio.lowlevel import current_token
from mcp.server.mcpserver import Context

from slowwave.cli.terminal.progress_bars import STAGES
from slowwave.consolidation.progress import Progress

# How often a client gets a report: many give up after a minute of silence.
_INTERVAL_S = 2.0
# What is raised if the client is gone.
_GONE = (anyio.ClosedResourceError, anyio.BrokenResourceError, CancelledError, RuntimeError)


@contextmanager
def told_progress(context: Context) -> Iterator[Progress]:
    """Provide a `Progress`, and report it to the client while the block runs.

    The block runs in a thread that anyio started, as tools do. A client that has not asked for
    progress gets none.
    """
    latest = _Latest()
    ended = Event()
    token = from_thread.run_sync(current_token)

    def report() -> None:
        began = time.monotonic()
        while True:
            # The protocol wants a number that rises: the seconds.
            seconds = round(time.monotonic() - began, 3)
            try:
                from_thread.run(context.report_progress, seconds, None, latest.words, token=token)
            except _GONE:
                return
            if ended.wait(_INTERVAL_S):
                return

    reporter = Thread(target=report, daemon=True)
    reporter.start()
    try:
        yield latest
    finally:
        ended.set()
        reporter.join()


class _Latest(Progress):
    """Keeps the latest stage in words."""

    def __init__(self) -> None:
        self.words = "reading the file"

    def stage(self, name: str, done: int, total: int) -> None:
        """Set how far a stage is."""
        self.words = f"{STAGES[name]}: {done:,} of {total:,}" if total else STAGES[name]
