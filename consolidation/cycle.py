"""One night, from the file to the outcome; start reading here.

The stages are called in order. A dry run calls the same stages, which write nothing.
"""

from __future__ import annotations

from datetime import datetime
from pathlib import Path

from .ingest.read_waiting_parts import read_waiting_parts
from .options import CycleOptions
from .progress import Progress
from .running.dry_stages import DryStages
from .running.night_inputs import NightInputs
from .running.outcome import Outcome
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
) -> Outcome:
    """Run a night on the memory file at `path`; a dry run only returns what it would do.

    Memories expire, a model reads waiting conversations, memories are consolidated, those above a
    limit are archived, and those superseded long ago are purged. In this order expired memories are
    never merged into live ones, and memories are consolidated before others are archived.

    Agents may read and write the file meanwhile: it is only locked in short transactions. Raises
    `StoreError`, `EmbedderError` or `ModelError` if nothing was changed, `InterruptedEarly` if
    nothing was consolidated, and `OutOfTime`.
    """
    interruption = interruption or Interruption()
    night = NightInputs(path, options, embedder, writer, now, progress or Progress())
    stages = DryStages(night, interruption) if dry_run else Stages(night, interruption)
    with stages.exclusive():
        try:
            stages.bring_up_to_date()
            stages.expire()
            stages.read_waiting(
                lambda preflight: read_waiting_parts(night, preflight, interruption)
            )
            survey = stages.survey()
            executed = stages.carry_out(survey)
        except EndedEarly as early:
            return early.outcome
        outcome = stages.close_run(survey, executed)
        outcome = stages.limit(outcome)
        outcome = stages.purge(outcome, survey)
        found = survey.found
        # Free its memory: saving the findings may survey the file again.
        del survey
        return stages.save_findings(outcome, found)
