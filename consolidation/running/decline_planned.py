"""A proposal that somebody declines: kept in the ledger, so that no later night makes it again."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from pathlib import Path
from typing import Any

from slowwave.consolidation.proposals import Result
from slowwave.store.file import maintenance_lock, open_writing
from slowwave.store.records import new_id

from .apply import RunContext, record
from .outcome import Outcome
from .run_record import RunRecord


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
    run = RunRecord(context.run_id, now)
    unchanged = Outcome(planned.plan, (result,), planned.before, planned.before, planned.usage)
    with (
        maintenance_lock(path),
        open_writing(path) as file,
        run.begun(file, options),
    ):
        with file.transaction():
            record(file, context, result)
        run.end(file, "done", unchanged.report, planned.plan.digest)
    return context.run_id
