"""Run work in a thread of its own, so that a signal interrupts the wait and not the work.

Python raises KeyboardInterrupt in the main thread only. Within a library it does harm: torch exits
the process if it is interrupted while it is imported.
"""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from functools import cache
from itertools import islice
from threading import Thread
from typing import TYPE_CHECKING, TypeVar

if TYPE_CHECKING:
    from threadpoolctl import ThreadpoolController

Item = TypeVar("Item")
Result = TypeVar("Result")

# The maximum number of cores of this process; None means unlimited.
_max_cores: int | None = None


def use_cores(limit: int) -> None:
    """Limit the cores of this process. Call it before a model is loaded."""
    global _max_cores
    _max_cores = limit


def cores() -> int:
    """Return the number of cores that this process may use."""
    if hasattr(os, "sched_getaffinity"):
        available = len(os.sched_getaffinity(0))
    else:
        available = os.cpu_count() or 1
    return available if _max_cores is None else min(available, _max_cores)


def run_in_thread(work: Callable[[], Result]) -> Result:
    """Return what a function returns, or raise what it raises; the wait is interruptible."""
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


def in_threads(function: Callable[[Item], Result], items: Sequence[Item]) -> Iterator[Result]:
    """Yield the function of each item, in order, computed by one thread per core.

    Matrix products in them take one thread each, which is faster than one after another with all
    threads. Few items are started ahead, so that a caller who stops need not wait.
    """
    if len(items) < 2:
        yield from map(function, items)
        return
    workers = cores()
    remaining = iter(items)
    with _blas().limit(limits=1, user_api="blas"), ThreadPoolExecutor(workers) as pool:
        begun: deque[Future[Result]] = deque(
            pool.submit(function, item) for item in islice(remaining, 2 * workers)
        )
        while begun:
            result = begun.popleft().result()
            begun.extend(pool.submit(function, item) for item in islice(remaining, 1))
            yield result


@cache
def _blas() -> ThreadpoolController:
    """Return the controller of the BLAS library that numpy has loaded."""
    import numpy  # noqa: F401 - the controller only finds loaded libraries
    from threadpoolctl import ThreadpoolController

    return ThreadpoolController()
