"""Work in a thread of its own, so that a signal ends the wait for it and not the work.

Python raises KeyboardInterrupt in the main thread alone. Within a library it does harm: torch
ends the whole process if that comes while it is imported.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from concurrent.futures import Future
from threading import Thread
from typing import TypeVar

Result = TypeVar("Result")


# How many cores this process uses at the most; None: all that it may.
_most_cores: int | None = None


def use_cores(most: int) -> None:
    """Use so many cores from now on: for a process that is one of several. Before a model loads."""
    global _most_cores
    _most_cores = most


def cores() -> int:
    """Return how many processor cores this process is to use."""
    if hasattr(os, "sched_getaffinity"):
        there = len(os.sched_getaffinity(0))
    else:
        there = os.cpu_count() or 1
    return there if _most_cores is None else min(there, _most_cores)


def run_in_thread(work: Callable[[], Result]) -> Result:
    """Return what a function returns, or raise what it raises; the wait can be interrupted."""
    return start_in_thread(work).result()


def start_in_thread(work: Callable[[], Result]) -> Future[Result]:
    """Start a function in a daemon thread: Ctrl-C does not wait for it."""
    future: Future[Result] = Future()

    def run() -> None:
        try:
            future.set_result(work())
        except BaseException as error:  # noqa: BLE001 - raised again where the result is taken
            future.set_exception(error)

    Thread(target=run, daemon=True).start()
    return future
