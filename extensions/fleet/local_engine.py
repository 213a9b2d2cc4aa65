"""The processes of this machine as an engine; if a worker is killed, its files are retried."""

from __future__ import annotations

import multiprocessing
import os
from collections.abc import Iterator
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from itertools import islice
from threading import Thread

from slowwave.consolidation.errors import ConsolidationError
from slowwave.consolidation.runtime.interruption import Interruption
from slowwave.extensions.fleet.store.receipt import Receipt

from .fleet_job import FleetJob, Item
from .worker import Worker, begin_worker

# How often a file is tried by a worker of its own, after a worker that may have had it has died.
_TRIES_ALONE = 3
# With this, Python does not import modules from the working directory.
_SAFE_PATH = "PYTHONSAFEPATH"
# How often signals are checked for.
_POLL_SECONDS = 0.2


class LocalEngine:
    """Worker processes; with one worker, this process itself."""

    def __init__(self, workers: int) -> None:
        self._workers = workers

    def receipts(
        self, job: FleetJob, items: Iterator[Item], interruption: Interruption
    ) -> Iterator[Receipt]:
        """Yield a receipt for each item, in any order. Raises KeyboardInterrupt."""
        if self._workers == 1:
            return _one_after_the_other(job, items, interruption)
        return self._in_processes(job, items, interruption)

    def _in_processes(
        self, job: FleetJob, items: Iterator[Item], interruption: Interruption
    ) -> Iterator[Receipt]:
        has_any = False
        while True:
            unfinished: list[Item] = []
            for receipt in self._in_pool(self._workers, job, items, unfinished, interruption):
                has_any = True
                yield receipt
            if not unfinished:
                return
            # One dead worker breaks the pool: retry each unfinished file alone.
            for item in unfinished:
                receipt = self._alone(job, item, interruption)
                if receipt.became == "lost" and not has_any:
                    raise ConsolidationError(
                        "The worker processes die immediately.",
                        "Check that there is enough memory, or try --workers 1.",
                    )
                has_any = True
                yield receipt

    def _alone(self, job: FleetJob, item: Item, interruption: Interruption) -> Receipt:
        """Return the receipt of a file for which each try has a worker of its own."""
        for _ in range(_TRIES_ALONE):
            if receipts := list(self._in_pool(1, job, iter([item]), [], interruption)):
                return receipts[0]
        why = f"its worker died without an error message, {_TRIES_ALONE} times (out of memory?)"
        return Receipt(item.key, "lost", why, last_run=item.last_run)

    def _in_pool(
        self,
        workers: int,
        job: FleetJob,
        items: Iterator[Item],
        unfinished: list[Item],
        interruption: Interruption,
    ) -> Iterator[Receipt]:
        """Yield receipts; once a worker has died, add unfinished items to `unfinished`.

        The processes end with the iterator, at once if it is not exhausted.
        """
        earlier_children = set(multiprocessing.active_children())
        is_safe = _SAFE_PATH in os.environ
        os.environ.setdefault(_SAFE_PATH, "1")
        pool = ProcessPoolExecutor(
            workers,
            # A fork would inherit the locks that threads of this process hold.
            multiprocessing.get_context("spawn"),
            initializer=_begin,
            initargs=(job, is_safe),
        )
        submitted: dict[Future[Receipt], Item] = {}
        try:
            while True:
                for item in islice(items, 2 * workers - len(submitted)):
                    # So that it is not forgotten if this raises.
                    unfinished.append(item)
                    submitted[pool.submit(_night, item)] = unfinished.pop()
                if not submitted:
                    break
                for future in wait(submitted, _POLL_SECONDS, return_when=FIRST_COMPLETED).done:
                    receipt = future.result()
                    del submitted[future]
                    yield receipt
                if interruption.requested:
                    raise KeyboardInterrupt
        except BrokenProcessPool:
            unfinished.extend(submitted.values())
        except BaseException:
            # A kill at any moment leaves a file whole, and the next run reports what was done.
            for process in set(multiprocessing.active_children()) - earlier_children:
                process.terminate()
            pool.shutdown(wait=False, cancel_futures=True)
            raise
        finally:
            if not is_safe:
                del os.environ[_SAFE_PATH]
        pool.shutdown()


def _one_after_the_other(
    job: FleetJob, items: Iterator[Item], interruption: Interruption
) -> Iterator[Receipt]:
    worker = Worker(job, interruption)
    for item in items:
        yield worker.night(item)
        # The run of this file has ended; the fleet's goes on, and signals count.
        interruption.open()
        interruption.close()
        if interruption.requested:
            raise KeyboardInterrupt


# In a worker process.
_worker: Worker | None = None


def _begin(job: FleetJob, is_safe: bool) -> None:
    global _worker
    if not is_safe:
        del os.environ[_SAFE_PATH]  # the programs that answer questions may need their folder
    _worker = begin_worker(job)
    Thread(target=_end_with_the_parent, daemon=True).start()


def _end_with_the_parent() -> None:
    """End this process once its parent has ended for any reason."""
    parent = multiprocessing.parent_process()
    if parent is not None:
        parent.join()
        os._exit(1)


def _night(item: Item) -> Receipt:
    assert _worker is not None  # noqa: S101 - _begin has set it
    return _worker.night(item)
