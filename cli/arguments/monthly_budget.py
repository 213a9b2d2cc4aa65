"""What may be spent on models in a calendar month, and what is spent of it."""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING

import typer

if TYPE_CHECKING:
    from slowwave.store.file import MemoryFile
    from slowwave.store.ledger import Run

_SPELLED = re.compile(r"(\d+(?:\.\d+)?)\s*USD(?:\s*/\s*month)?")


@dataclass(frozen=True)
class MonthlyBudget:
    """The USD of a month, and how much of that is spent."""

    usd: float
    spent: float

    @property
    def left(self) -> float:
        """The USD that may still be spent."""
        return max(0.0, self.usd - self.spent)

    @property
    def named(self) -> str:
        """The budget as a sentence names it."""
        return f"budget of {self.usd:g} USD a month ({self.spent:.4f} USD spent)"


def budget_of(text: str) -> float:
    """Return the USD of "2 USD" or "2 USD/month". Raises `typer.BadParameter`."""
    match = _SPELLED.fullmatch(text.strip())
    if match is None:
        raise typer.BadParameter(f"'{text}' is not an amount such as 2 USD.")
    return float(match[1])


def month_so_far(path: Path, usd: float, now: datetime) -> MonthlyBudget:
    """Return the budget of the month of `now`, with what the runs of the file have spent."""
    from slowwave.store.file import open_any_version

    with open_any_version(path) as file:
        return MonthlyBudget(usd, spent_in_month(file, now))


def spent_in_month(file: MemoryFile, now: datetime) -> float:
    """Return what the runs of the month of `now` have cost in USD."""
    from slowwave.store.ledger import read_runs
    from slowwave.store.records import timestamp

    month = timestamp(now)[:7]
    return sum(_cost_of(run, file) for run in read_runs(file) if run.started_at[:7] == month)


def _cost_of(run: Run, file: MemoryFile) -> float:
    """Return what a run cost in USD, by litellm's table if the run could not tell."""
    used = (run.report or {}).get("model")
    if not isinstance(used, dict):  # it was killed: its answers are kept
        from slowwave.store.model_answers import cost_of_answers

        return cost_of_answers(file, run.started_at)
    cost = used.get("cost_usd", 0.0)
    if cost is None:
        from slowwave.consolidation.model.known_models import price_of

        tokens = used.get("prompt_tokens", 0), used.get("completion_tokens", 0)
        cost = price_of(str(run.options.get("model")), *tokens)
    return float(cost or 0.0)
