"""What the runs of a file have spent on models in this calendar month."""

from __future__ import annotations

from datetime import datetime
from pathlib import Path
from typing import Any

from slowwave.cli.arguments.monthly_budget import MonthlyBudget
from slowwave.store.file import MemoryFile, open_any_version
from slowwave.store.ledger import Run, read_runs
from slowwave.store.model_answers import cost_of_answers
from slowwave.store.records import timestamp


def month_so_far(path: Path, usd: float, now: datetime) -> MonthlyBudget:
    """Return the budget of the month of `now`, with what the runs of the file have spent."""
    month = timestamp(now)[:7]
    with open_any_version(path) as file:
        runs = [run for run in read_runs(file) if run.started_at[:7] == month]
        return MonthlyBudget(usd, sum(_cost_of(run, file) for run in runs))


def _cost_of(run: Run, file: MemoryFile) -> float:
    """Return what a run cost in USD, by litellm's table if the run could not tell."""
    used: dict[str, Any] | None = (run.report or {}).get("model")
    if used is None:  # it was killed: its answers are kept
        return cost_of_answers(file, run.started_at)
    cost = used.get("cost_usd", 0.0)
    if cost is None:
        from slowwave.consolidation.model.known_models import price_of

        tokens = used.get("prompt_tokens", 0), used.get("completion_tokens", 0)
        cost = price_of(str(run.options.get("model")), *tokens)
    return float(cost or 0.0)
