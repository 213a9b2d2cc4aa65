"""Portions of a budget that several runs share, and their owner."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol


@dataclass(frozen=True)
class Portion:
    """A part of a budget. None means no limit or, of usage, unknown. Overspending is negative."""

    calls: int | None = 0
    tokens: int | None = 0
    cost_usd: float | None = 0.0

    @property
    def is_nonzero(self) -> bool:
        """Whether any part of it is not zero."""
        return bool(self.calls or self.tokens or self.cost_usd)

    def nothing(self) -> Portion:
        """Return zero of what is limited."""
        return Portion(
            None if self.calls is None else 0,
            None if self.tokens is None else 0,
            None if self.cost_usd is None else 0.0,
        )

    def plus(self, portion: Portion) -> Portion:
        """Return the sum; no limit stays no limit."""
        return Portion(
            None if self.calls is None else self.calls + (portion.calls or 0),
            None if self.tokens is None else self.tokens + (portion.tokens or 0),
            None if self.cost_usd is None else self.cost_usd + (portion.cost_usd or 0.0),
        )

    def minus(self, portion: Portion) -> Portion:
        """Return the difference, zero where either is None."""
        return Portion(
            0 if self.calls is None or portion.calls is None else self.calls - portion.calls,
            0 if self.tokens is None or portion.tokens is None else self.tokens - portion.tokens,
            0.0
            if self.cost_usd is None or portion.cost_usd is None
            else self.cost_usd - portion.cost_usd,
        )

    def where_positive(self) -> Portion:
        """Return it with zero for each negative part."""
        return Portion(
            max(0, self.calls or 0), max(0, self.tokens or 0), max(0.0, self.cost_usd or 0.0)
        )


class BudgetOwner(Protocol):
    """Grants portions of one budget to several runs, in any process.

    A portion that is not returned counts as used: its run was killed, and may have spent it.
    """

    def take(self, lacking: Portion) -> Portion:
        """Return the granted portion: at least what is lacking, or zero of what is used up."""

    def give_back(self, unused: Portion) -> None:
        """Take back what was not used; negative where more was used than granted."""
