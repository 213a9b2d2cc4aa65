"""Who owns the budget of a fleet, and grants its workers portions of it."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from threading import Lock

from slowwave.consolidation.model.usage_limits import Portion, UsageLimits

# A worker is granted this much of its even share at a time, unless a call takes more. What one
# holds and does not use, no other can: with less of it the owner is asked more often.
_OF_A_SHARE = 0.1


class OwnerInMemory:
    """The owner of a budget whose spenders are threads of this process. Safe in threads."""

    def __init__(self, budget: UsageLimits, workers: int) -> None:
        """Begin with the whole budget."""
        self._left = _whole(budget)
        self._at_once = _at_once(budget, workers)
        self._lock = Lock()

    def take(self, lacking: Portion) -> Portion:
        """Return what is granted: at least what is lacking, or nothing of what there is none."""
        with self._lock:
            granted, self._left = _granted(self._left, lacking, self._at_once)
            return granted

    def give_back(self, unused: Portion) -> None:
        """Return an unused portion; it is negative if more was used than granted."""
        with self._lock:
            self._left = self._left.plus(unused)


@dataclass(frozen=True)
class OwnerInFile:
    """The owner of a budget whose spenders are processes of this machine.

    The rest of the budget is in a file, under a lock that the operating system releases when its
    process ends for any reason. Nothing listens on a port.
    """

    path: Path
    # How much is granted at a time.
    at_once: Portion

    @staticmethod
    def begin(folder: Path, budget: UsageLimits, workers: int) -> OwnerInFile:
        """Begin with the whole budget, in a folder of this run's own."""
        owner = OwnerInFile(folder / "left.json", _at_once(budget, workers))
        owner._write(_whole(budget))
        return owner

    def take(self, lacking: Portion) -> Portion:
        """Return what is granted: at least what is lacking, or nothing of what there is none."""
        import filelock

        with filelock.FileLock(f"{self.path}.lock"):
            granted, left = _granted(self._read(), lacking, self.at_once)
            self._write(left)
            return granted

    def give_back(self, unused: Portion) -> None:
        """Return an unused portion; it is negative if more was used than granted."""
        import filelock

        with filelock.FileLock(f"{self.path}.lock"):
            self._write(self._read().plus(unused))

    def _read(self) -> Portion:
        return Portion(**json.loads(self.path.read_text()))

    def _write(self, left: Portion) -> None:
        made = self.path.with_suffix(".new")
        made.write_text(json.dumps(left._asdict()))
        made.replace(self.path)


def _whole(budget: UsageLimits) -> Portion:
    return Portion(budget.calls, budget.tokens, budget.cost_usd)


def _at_once(budget: UsageLimits, workers: int) -> Portion:
    """Return how much each worker is granted at a time."""
    share = _OF_A_SHARE / workers
    return Portion(
        int((budget.calls or 0) * share),
        int((budget.tokens or 0) * share),
        (budget.cost_usd or 0.0) * share,
    )


def _granted(left: Portion, lacking: Portion, at_once: Portion) -> tuple[Portion, Portion]:
    """Return what is granted of what is left, and the rest of it.

    The grant of each is at least what is lacking, or nothing.
    """
    calls = int(_part(left.calls, lacking.calls, at_once.calls))
    tokens = int(_part(left.tokens, lacking.tokens, at_once.tokens))
    granted = Portion(calls, tokens, _part(left.cost_usd, lacking.cost_usd, at_once.cost_usd))
    return granted, left.plus(Portion().minus(granted))


def _part(left: float | None, lacking: float | None, at_once: float | None) -> float:
    if not lacking or left is None or left < lacking:
        return 0
    return max(lacking, min(left, at_once or 0))
