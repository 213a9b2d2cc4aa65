"""The job of a worker of a fleet: plain data, which is sent to other processes and hosts."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import NamedTuple, Protocol

from slowwave.consolidation.model.usage_limits import UsageLimits
from slowwave.consolidation.options import CycleOptions
from slowwave.consolidation.runtime.interruption import Interruption
from slowwave.consolidation.writing.writer import Writer
from slowwave.extensions.fleet.store.receipt import Receipt
from slowwave.extensions.postgres.format import Tenants

from .budget_owners import BudgetOwner

# The option of a run, as the file records it, that names the run of the fleet.
OPTION = "fleet"
# Why the receipt of a file says "gone".
GONE = "the file no longer exists"

# Makes the writer for one file, within what is left of a shared budget.
MakeWriter = Callable[[UsageLimits, BudgetOwner | None], Writer]


class Item(NamedTuple):
    """A file that is due."""

    key: str
    # The latest run that a receipt names; the next receipt counts later runs.
    last_run: str | None


@dataclass(frozen=True)
class FleetJob:
    """What to do with each file. All of it can be pickled."""

    options: CycleOptions
    embedder: str
    make_writer: MakeWriter
    # A folder or the address of a bucket; keys are relative to it.
    base: str
    in_bucket: bool
    dry_run: bool
    # What all files together may use, and when its time is over.
    budget: UsageLimits
    deadline: datetime | None
    # How many workers share this machine.
    workers: int
    # Grants portions of the budget; None without a budget.
    owner: BudgetOwner | None = None
    # The database whose tenants the keys are; None for files.
    database: Tenants | None = None

    def path_of(self, key: str) -> Path:
        """Return the path of a file on the disk."""
        return Path(self.base) / key

    def budget_now(self) -> UsageLimits:
        """Return the budget with the time that is left, in seconds."""
        if self.deadline is None:
            return self.budget
        seconds = max(0.0, (self.deadline - datetime.now(UTC)).total_seconds())
        return replace(self.budget, seconds=seconds)


class Engine(Protocol):
    """Maintains items, on any machines."""

    def receipts(
        self, job: FleetJob, items: Iterator[Item], interruption: Interruption
    ) -> Iterator[Receipt]:
        """Yield a receipt for each item, in any order.

        Raises KeyboardInterrupt after a signal, but not while the caller handles a receipt; and
        `ConsolidationError` if no file can be maintained.
        """
