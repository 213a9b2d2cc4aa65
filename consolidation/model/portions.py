"""Portions of a budget that several runs share, and who grants them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol


@dataclass(frozen=True)
class Portion:
    """So much of a budget; None is without limit, or where it is what was used, not known.

    What was overshot is below nothing.
    """

    calls: int | None = 0
    tokens: int | None = 0
    cost_usd: float | None = 0.0

    @property
    def is_something(self) -> bool:
        """Whether there is anything in it."""
        return bool(self.calls or self.tokens or self.cost_usd)

    def nothing(self) -> Portion:
        """Return nothing of what is limited."""
        return Portion(
            None if self.calls is None else 0,
            None if self.tokens is None else 0,
            None if self.cost_usd is None else 0.0,
        )

    def plus(self, other: Portion) -> Portion:
        """Add up; what is without limit stays so."""
        return Portion(
            None if self.calls is None else self.calls + (other.calls or 0),
            None if self.tokens is None else self.tokens + (other.tokens or 0),
            None if self.cost_usd is None else self.cost_usd + (other.cost_usd or 0.0),
        )

    def minus(self, other: Portion) -> Portion:
        """Return the difference, and nothing where either is without limit or not known."""
        return Portion(
            0 if self.calls is None or other.calls is None else self.calls - other.calls,
            0 if self.tokens is None or other.tokens is None else self.tokens - other.tokens,
            0.0
            if self.cost_usd is None or other.cost_usd is None
            else self.cost_usd - other.cost_usd,
        )

    def where_positive(self) -> Portion:
        """Return what there is, and nothing where less than that."""
        return Portion(
            max(0, self.calls or 0), max(0, self.tokens or 0), max(0.0, self.cost_usd or 0.0)
        )


class BudgetOwner(Protocol):
    """Grants portions of one budget to several runs, in whatever process they are.

    What was granted and not given back is taken as used: its run was killed, and may have paid.
    """

    def take(self, lacking: Portion) -> Portion:
        """Return what is granted: at least what is lacking, or nothing of what there is none."""

    def give_back(self, unused: Portion) -> None:
        """Take back what was not used; below nothing where more was used than granted."""
