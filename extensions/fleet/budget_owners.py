"""The owner of a fleet's budget, which grants its workers portions of it."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from slowwave.consolidation.model.usage_limits import Portion, UsageLimits


class OwnerInMemory:
    """The owner of a budget in an actor, which answers one request at a time."""

    def __init__(self, budget: UsageLimits) -> None:
        self._remaining = Portion(budget.calls, budget.tokens, budget.cost_usd)

    def take(self, lacking: Portion) -> Portion:
        """Return what is granted: of each what is lacking, or nothing."""
        granted = Portion(*map(_grant, self._remaining, lacking))
        self._remaining = self._remaining.plus(Portion().minus(granted))
        return granted

    def give_back(self, unused: Portion) -> None:
        """Return an unused portion; it is negative if more was used than granted."""
        self._remaining = self._remaining.plus(unused)


class OwnerInFile(OwnerInMemory):
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
        """Return an unused portion; it is negative if more was used than granted."""
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
