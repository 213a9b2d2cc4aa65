"""Who owns the budget of a fleet, and grants its workers portions of it."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from slowwave.consolidation.model.usage_limits import Portion, UsageLimits

# The part of its even share that a worker is granted at a time, unless a call takes more. No other
# worker can use what it holds; with smaller portions the owner is asked more often.
_OF_A_SHARE = 0.1


class OwnerInMemory:
    """The owner of a budget in an actor, which answers one request at a time."""

    def __init__(self, budget: UsageLimits, workers: int) -> None:
        """Begin with the whole budget."""
        self._left = Portion(budget.calls, budget.tokens, budget.cost_usd)
        share = _OF_A_SHARE / workers
        # How much is granted at a time.
        self._at_once = Portion(
            int((budget.calls or 0) * share),
            int((budget.tokens or 0) * share),
            (budget.cost_usd or 0.0) * share,
        )

    def take(self, lacking: Portion) -> Portion:
        """Return what is granted: of each at least what is lacking, or nothing."""
        left, at_once = self._left, self._at_once
        granted = Portion(
            int(_part(left.calls, lacking.calls, at_once.calls)),
            int(_part(left.tokens, lacking.tokens, at_once.tokens)),
            _part(left.cost_usd, lacking.cost_usd, at_once.cost_usd),
        )
        self._left = left.plus(Portion().minus(granted))
        return granted

    def give_back(self, unused: Portion) -> None:
        """Return an unused portion; it is negative if more was used than granted."""
        self._left = self._left.plus(unused)


class OwnerInFile(OwnerInMemory):
    """The owner of a budget for the processes of this machine. Can be pickled.

    The rest of the budget is in a file, under a lock that the operating system releases when its
    process ends for any reason. Nothing listens on a port.
    """

    def __init__(self, folder: Path, budget: UsageLimits, workers: int) -> None:
        """Begin with the whole budget, in a folder of this run's own."""
        super().__init__(budget, workers)
        self._path = folder / "left.json"
        self._write()

    def take(self, lacking: Portion) -> Portion:
        """Return what is granted: of each at least what is lacking, or nothing."""
        with self._read():
            return super().take(lacking)

    def give_back(self, unused: Portion) -> None:
        """Return an unused portion; it is negative if more was used than granted."""
        with self._read():
            super().give_back(unused)

    @contextmanager
    def _read(self) -> Iterator[None]:
        """Read what is left, and write what is left of it after the block."""
        import filelock

        with filelock.FileLock(f"{self._path}.lock"):
            self._left = Portion(**json.loads(self._path.read_text()))
            yield
            self._write()

    def _write(self) -> None:
        made = self._path.with_suffix(".new")
        made.write_text(json.dumps(self._left._asdict()))
        made.replace(self._path)


def _part(left: float | None, lacking: float | None, at_once: float | None) -> float:
    if not lacking or left is None or left < lacking:
        return 0
    return max(lacking, min(left, at_once or 0))
