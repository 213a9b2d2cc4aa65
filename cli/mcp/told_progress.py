"""How far a survey or a run is, told to the MCP client that waits for it."""

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

# How often a client hears that it goes on: many give up after a minute of silence.
_INTERVAL_S = 2.0
# What it means that nobody listens any more.
_GONE = (anyio.ClosedResourceError, anyio.BrokenResourceError, CancelledError, RuntimeError)


@contextmanager
def told_progress(context: Context) -> Iterator[Progress]:
    """Provide something to tell progress to, and tell the client as long as the block lasts.

    The block runs in a thread that anyio started, as tools do. Nothing is told to a client that
    has not asked for it.
    """
    said = _Said()
    ended = Event()
    token = from_thread.run_sync(current_token)

    def tell() -> None:
        began = time.monotonic()
        while True:
            # What goes up from one to the next, as the protocol wants it, are the seconds.
            seconds = round(time.monotonic() - began, 3)
            try:
                from_thread.run(context.report_progress, seconds, None, said.words, token=token)
            except _GONE:
                return
            if ended.wait(_INTERVAL_S):
                return

    teller = Thread(target=tell, daemon=True)
    teller.start()
    try:
        yield said
    finally:
        ended.set()
        teller.join()


class _Said(Progress):
    """Keeps in words what was heard last."""

    def __init__(self) -> None:
        self.words = "reading the file"

    def stage(self, name: str, done: int, total: int) -> None:
        """Hear how far a stage is."""
        self.words = f"{STAGES[name]}: {done:,} of {total:,}" if total else STAGES[name]
