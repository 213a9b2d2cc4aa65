"""What each engine has its workers do: begin once, then a night for each item."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from slowwave.consolidation.errors import ConsolidationError
from slowwave.consolidation.runtime.threads import use_cores
from slowwave.extensions.fleet.store.receipt import Receipt

from .fleet_job import FleetJob, Item
from .worker import Worker

# Makes the settings of a worker's process; can be pickled.
Prepare = Callable[[], None]


@dataclass(frozen=True)
class WorkerAnswer:
    """A receipt, or why no file's night can be done: a message and what can be done about it."""

    receipt: Receipt | None
    refusal: tuple[str, str] = ("", "")

    def unpacked(self) -> Receipt:
        """Return the receipt. Raises `ConsolidationError`."""
        if self.receipt is None:
            raise ConsolidationError(*self.refusal)
        return self.receipt


def begin_worker(job: FleetJob, prepare: Prepare) -> Worker:
    """Begin a worker that is one of several on its machine: with one thread."""
    prepare()
    use_cores(1)
    return Worker(job)


def night_by(worker: Worker, item: Item) -> WorkerAnswer:
    """Do a night, and return what can go to another process."""
    try:
        return WorkerAnswer(worker.night(item))
    except ConsolidationError as error:
        return WorkerAnswer(None, (error.message, error.hint))
