"""What the workers of a fleet need from the command line: their settings and their writer."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from contextlib import contextmanager
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


@contextmanager
def settings_of_workers(workers: int) -> Iterator[None]:
    """Set what libraries read on loading, for the processes that begin within the block."""
    settings = _RAY | (_ONE_THREAD if workers > 1 else {})
    before = {name: os.environ.get(name) for name in settings}
    os.environ.update(settings)
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                os.environ.pop(name, None)
            else:
                os.environ[name] = value


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
