"""What the workers of a fleet need from the command line: their settings and their writer."""

from __future__ import annotations

import os
import signal
from typing import TYPE_CHECKING

from slowwave.cli.arguments.model_options import ModelOptions
from slowwave.cli.terminal.interpreter import keep_libraries_quiet, tune_interpreter

if TYPE_CHECKING:
    from slowwave.consolidation.model.usage_limits import BudgetOwner, UsageLimits
    from slowwave.consolidation.writing.writer import Writer

# Libraries that multiply matrices read these when they are loaded: one thread each.
_ONE_THREAD = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), "1")
# Disables Ray's usage statistics.
_RAY = {"RAY_USAGE_STATS_ENABLED": "0", "RAY_BACKEND_LOG_LEVEL": "fatal"}


def set_up_workers(workers: int) -> None:
    """Set what libraries read on loading, for this process and those that it begins."""
    os.environ.update(_RAY | (_ONE_THREAD if workers > 1 else {}))


def prepare_worker() -> None:
    """Prepare the process of a worker, before anything is loaded in it."""
    os.environ.update(_ONE_THREAD)
    keep_libraries_quiet()
    tune_interpreter()
    # Ctrl-C at a terminal goes to all processes; their parent ends the workers.
    signal.signal(signal.SIGINT, signal.SIG_IGN)


def writer_of(
    model: str | None,
    api_base: str | None,
    checker: str | None,
    concurrency: int,
    budget: UsageLimits,
    owner: BudgetOwner | None,
) -> Writer:
    """Return the writer of the drafts for one file."""
    limits = (concurrency, budget.calls, budget.tokens, budget.seconds)
    return ModelOptions(model, budget.cost_usd, api_base, checker, *limits).writer(owner=owner)
