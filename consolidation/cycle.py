"""One night, from the file to the outcome; start reading here.

Its stages, in order, each a method of `running/stages.py`:

- `exclusive`: hold the maintenance lock of the file.
- `migrate`: migrate an older schema (`store/schema.py`), after a backup.
- `expire`: choose what expires (`ageing/selection.py`), and expire it (`running/phases.py`).
- `read_queued`: let a model read queued conversations (`ingest/read_queued_parts.py`).
- `survey`: withdraw outdated proposals (`running/review_queue.py`), read the file
  (`snapshot/snapshot.py`), and plan (`planning/plan.py`), all in `running/survey.py`.
- `execute`: ask the model (`model/model_writer.py`) and queue what a person reviews, both in
  `running/execute.py`, and write rows, lineage and journal (`running/apply.py`).
- `close_run`: count, and record how the run ended (`running/run_in_file.py`).
- `limit` and `purge`: archive and delete memories (`running/phases.py`).
- `save_findings`: save what the next night need not compute (`snapshot/idle.py`).

A dry run goes through the same stages, and each stops before its first write.
"""

from __future__ import annotations

from datetime import datetime
from pathlib import Path

from .ingest.read_queued_parts import read_queued_parts
from .options import CycleOptions
from .progress import Progress
from .running.outcome import Outcome
from .running.run_in_file import NightInputs
from .running.stages import EndedEarly, Stages
from .runtime.interruption import Interruption
from .vectors.embedder import Embedder
from .writing.writer import Writer


def run_cycle(
    path: Path,
    options: CycleOptions,
    embedder: Embedder,
    writer: Writer,
    now: datetime,
    dry_run: bool = False,
    progress: Progress | None = None,
    interruption: Interruption | None = None,
    workers: int = 1,
) -> Outcome:
    """Run a night on the memory file at `path`; a dry run only returns what it would do.

    workers: how many runs share this machine.

    Expired memories are never merged into live ones, and memories are consolidated before others
    are archived.

    Agents may read and write the file meanwhile: it is only locked in short transactions. Raises
    `StoreError`, `EmbedderError` or `ModelError` if nothing was changed, `InterruptedEarly` if
    nothing was consolidated, and `OutOfTime`.
    """
    interruption = interruption or Interruption()
    night = NightInputs(
        path, options, embedder, writer, now, progress or Progress(), dry_run, workers
    )
    stages = Stages(night, interruption)
    with stages.exclusive():
        try:
            stages.migrate()
            stages.expire()
            stages.read_queued(lambda preflight: read_queued_parts(night, preflight, interruption))
            survey = stages.survey()
            executed = stages.execute(survey)
        except EndedEarly as early:
            return early.outcome
        outcome = stages.close_run(survey, executed)
        outcome = stages.limit(outcome, executed)
        outcome = stages.purge(outcome, survey)
        findings = survey.findings
        # Free its memory: saving the findings may survey the file again.
        del survey
        return stages.save_findings(outcome, findings)
