"""A proposal that somebody declines: kept in the ledger, so that no later night makes it again."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from importlib.metadata import version
from pathlib import Path
from typing import Any

from slowwave.consolidation.proposals import Result
from slowwave.store.file import maintenance_lock, open_writing
from slowwave.store.ledger import begin_run, end_run
from slowwave.store.records import new_id, timestamp

from .apply import RunContext, record
from .outcome import Outcome, report_of


def declined(
    path: Path,
    planned: Outcome,
    result: Result,
    embedding_model: str,
    now: datetime,
    options: Mapping[str, Any],
) -> str:
    """Keep a result of a dry run as declined, as a run of its own, and give that run's id.

    No memory is changed. Raises `StoreError`.
    """
    context = RunContext(new_id(), now, None, None, embedding_model)
    at = timestamp(now)
    with maintenance_lock(path), open_writing(path) as file:
        begin_run(file, context.run_id, at, version("slowwave"), dict(options))
        with file.transaction():
            record(file, context, result)
        unchanged = Outcome(planned.plan, (result,), planned.before, planned.before, planned.usage)
        end_run(file, context.run_id, at, "done", planned.plan.digest, report_of(unchanged))
    return context.run_id
