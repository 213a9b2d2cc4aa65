"""One night, from the file to the outcome: the page to read first.

The stages are called here in their order, and nothing else. A dry run goes through the same list,
and each stage says what it would do.
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
    """Do to the memory file at `path` what the options say, or say what that would do.

    What has come to its end expires, a model reads the conversations that wait for one, all of it
    is consolidated, what is above a limit is archived, and what was superseded for long is purged.
    In this order nothing that has ended goes on in a memory made of it, and nothing is archived
    that would have become part of another.

    Agents may read and write the file all the while: no lock on it is held but in the short
    transactions of single writes. Raises `StoreError`, `EmbedderError` or `ModelError` if nothing
    was changed, `InterruptedEarly` if nothing was consolidated, and `OutOfTime`.
    """
    interruption = interruption or Interruption()
    night = NightInputs(path, options, embedder, writer, now, progress or Progress())
    stages = DryStages(night, interruption) if dry_run else Stages(night, interruption)
    with stages.alone():
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
        # Free its memory: saving the findings may read the file again.
        del survey
        return stages.save_findings(outcome, found)
