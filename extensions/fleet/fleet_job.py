"""The job of a worker of a fleet: plain data, which is sent to other processes and hosts."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import NamedTuple, Protocol

from slowwave.consolidation.model.usage_limits import BudgetOwner, UsageLimits
from slowwave.consolidation.options import CycleOptions
from slowwave.consolidation.runtime.interruption import Interruption
from slowwave.consolidation.writing.writer import Writer
from slowwave.extensions.fleet.store.receipt import Receipt
from slowwave.extensions.postgres.tenants import Tenants

# Under which a run's options in the file say of which fleet's night it is.
OPTION = "fleet"
# Why the receipt of a file says "gone".
GONE = "the file no longer exists"

# Makes who writes the drafts of one file, within what is left of a budget of several.
MakeWriter = Callable[[UsageLimits, BudgetOwner | None], Writer]

# Makes the settings of a worker's process; can be pickled.
Prepare = Callable[[], None]


class Item(NamedTuple):
    """A file whose night is due."""

    key: str
    # The latest run that a receipt names: what came later is for the next.
    last_run: str | None


@dataclass(frozen=True)
class FleetJob:
    """What to do with each file. All of it can be pickled."""

    options: CycleOptions
    embedder: str
    make_writer: MakeWriter
    # What keys are relative to: a folder, or a bucket's address.
    base: str
    in_bucket: bool
    dry_run: bool
    # What all files together may use, and the moment at which its time is over.
    budget: UsageLimits
    deadline: datetime | None
    clock: Callable[[], datetime]
    # How many workers share this machine.
    workers: int
    # Who grants portions of the budget; None: there is nothing to keep to.
    owner: BudgetOwner | None = None
    # Where the keys are tenants of a database.
    database: Tenants | None = None

    def path_of(self, key: str) -> Path:
        """Return where a file on the disk lies."""
        return Path(self.base) / key

    def budget_now(self) -> UsageLimits:
        """Return the budget with the time that is left by now, in seconds."""
        left = None
        if self.deadline is not None:
            left = max(0.0, (self.deadline - self.clock()).total_seconds())
        return UsageLimits(self.budget.calls, self.budget.tokens, self.budget.cost_usd, left)


class Engine(Protocol):
    """Runs the night of each item, on any machines."""

    def receipts(
        self, job: FleetJob, items: Iterator[Item], interruption: Interruption
    ) -> Iterator[Receipt]:
        """Yield a receipt for each item, in any order.

        Raises KeyboardInterrupt once somebody has asked for an end, but not while a receipt is
        with the caller; and `ConsolidationError` if no night of any file can be done.
        """
