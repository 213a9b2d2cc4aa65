"""What may be spent on models in a calendar month, as slowwave.toml states it."""

from __future__ import annotations

import re
from dataclasses import dataclass

import typer

_SPELLED = re.compile(r"(\d+(?:\.\d+)?)\s*USD(?:\s*/\s*month)?")


@dataclass(frozen=True)
class MonthlyBudget:
    """The USD of a month, and how much of that is spent."""

    usd: float
    spent: float

    @property
    def left(self) -> float:
        """What may still be spent, in USD."""
        return max(0.0, self.usd - self.spent)

    @property
    def named(self) -> str:
        """What it is called in a sentence."""
        return f"budget of {self.usd:g} USD a month, of which {self.spent:.4f} USD are spent,"


def budget_of(text: str) -> float:
    """Return the USD of "2 USD" or "2 USD/month". Raises `typer.BadParameter`."""
    found = _SPELLED.fullmatch(text.strip())
    if found is None:
        raise typer.BadParameter(f"monthly_budget takes an amount as in '2 USD', not '{text}'.")
    return float(found[1])


def check_budget(value: str | None) -> str | None:
    """Refuse a budget that cannot be read. Raises `typer.BadParameter`."""
    if value is not None:
        budget_of(value)
    return value
