"""A budget that the runs of a fleet share: its owner grants them portions of it."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from slowwave.consolidation.model.usage_limits import (
    Amount,
    Call,
    Price,
    UsageLimits,
    UsageMeter,
)
from slowwave.consolidation.proposals import Usage


class Portion(Amount):
    """A part of a budget; overspending is negative."""

    def plus(self, portion: Amount) -> Portion:
        """Return the sum; no limit stays no limit."""
        pairs = zip(self, portion, strict=True)
        return Portion(*(None if part is None else part + (more or 0) for part, more in pairs))

    def minus(self, portion: Amount) -> Portion:
        """Return the difference, zero where either is None."""
        pairs = zip(self, portion, strict=True)
        return Portion(
            *(0 if part is None or less is None else part - less for part, less in pairs)
        )


class BudgetOwner:
    """Grants portions of one budget to several runs, one request at a time.

    A portion that is not returned counts as used: its run was killed, and may have spent it.
    """

    def __init__(self, budget: UsageLimits) -> None:
        self._remaining = Portion(budget.calls, budget.tokens, budget.cost_usd)

    def take(self, lacking: Portion) -> Portion:
        """Return what is granted: of each what is lacking, or nothing."""
        granted = Portion(*map(_grant, self._remaining, lacking))
        self._remaining = self._remaining.plus(Portion(0, 0, 0.0).minus(granted))
        return granted

    def give_back(self, unused: Portion) -> None:
        """Accept what was not used; negative where more was used than granted."""
        self._remaining = self._remaining.plus(unused)


class SharedMeter(UsageMeter):
    """The usage of a run, within what the owner of the budget has granted so far."""

    def __init__(self, owner: BudgetOwner, limits: UsageLimits, price: Price) -> None:
        """limits: the whole budget."""
        super().__init__(limits, price)
        self._owner = owner
        self._granted = self._nothing()

    def cost_left(self, pending: Call) -> float | None:
        """Return the whole budget in USD: the owner grants each call its estimate."""
        return self._limits.cost_usd

    def give_back(self) -> None:
        """Return the unused part of the grant to the owner; negative if more was used.

        Calls in flight count with their maximum.
        """
        with self._lock:
            used = self._with_reserved(0, [pending.ceiling for pending in self._in_flight])
            self._owner.give_back(self._granted.minus(used))
            # Later calls need a new grant.
            self._granted, self._calls, self._used = self._nothing(), 0, Usage()

    def _available(self, needed: Amount) -> Amount:
        """Return what is granted, after asking the owner for what is lacking."""
        lacking = Portion(*(max(0, part or 0) for part in Portion(*needed).minus(self._granted)))
        if any(lacking):
            self._granted = self._granted.plus(self._owner.take(lacking))
        return self._granted

    def _nothing(self) -> Portion:
        """Return zero of what is limited."""
        limits = super()._available(Amount(0, 0, 0))
        return Portion(*(None if limit is None else 0 for limit in limits))


class OwnerInFile(BudgetOwner):
    """The owner of a budget for the processes of this machine. Can be pickled.

    The rest of the budget is in a file, under a lock that the operating system releases when its
    process ends for any reason. Nothing listens on a port.
    """

    def __init__(self, folder: Path, budget: UsageLimits) -> None:
        """folder: a new one of this run."""
        super().__init__(budget)
        self._path = folder / "remaining.json"
        self._write()

    def take(self, lacking: Portion) -> Portion:
        """Return what is granted: of each what is lacking, or nothing."""
        with self._read():
            return super().take(lacking)

    def give_back(self, unused: Portion) -> None:
        """Accept what was not used; negative where more was used than granted."""
        with self._read():
            super().give_back(unused)

    @contextmanager
    def _read(self) -> Iterator[None]:
        """Read the rest of the budget, and write it after the block."""
        import filelock

        with filelock.FileLock(f"{self._path}.lock"):
            self._remaining = Portion(**json.loads(self._path.read_text()))
            yield
            self._write()

    def _write(self) -> None:
        new = self._path.with_suffix(".new")
        new.write_text(json.dumps(self._remaining._asdict()))
        new.replace(self._path)


def _grant(remaining: float | None, lacking: float | None) -> float:
    if not lacking or remaining is None or remaining < lacking:
        return 0
    return lacking
