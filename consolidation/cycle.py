"""One night, from the file to the outcome: the page to read first.

The stages stand here in their order, and nothing else does. A dry run and a real run walk the
same way as far as the plan; there the dry run ends.
"""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime
from pathlib import Path

from slowwave.store.file import maintenance_lock
from slowwave.store.records import timestamp

from .options import CycleOptions
from .progress import Progress
from .running.ending import carry_out_plan, close_run, end_if_interrupted, purge_after_run
from .running.execute import RunInFile
from .running.outcome import Outcome
from .running.preflight import Preflight
from .running.rehearsal import rehearse
from .running.save_findings import save_findings
from .running.set_aside import SetAside, set_aside_outdated
from .running.survey import Surveyor
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
    """Consolidate the memory file at `path`, or say what that would do.

    Agents may read and write the file all the while: no lock on it is held but in the short
    transactions of single writes. Raises `StoreError`, `EmbedderError` or `ModelError` if nothing
    was changed, `InterruptedEarly` if nothing was consolidated, and `OutOfTime`.
    """
    progress = progress or Progress()
    interruption = interruption or Interruption()
    surveyor = Surveyor(path, options, embedder, writer, now, progress)
    if dry_run:
        return rehearse(path, surveyor, embedder, writer, options, progress, interruption)
    with maintenance_lock(path):
        preflight = Preflight(path, options.keep_backups, now)
        run = RunInFile(path, embedder, writer, now, options.shown, preflight, options.review)
        with end_if_interrupted(run, interruption):
            preflight.bring_up_to_date()
            outdated: tuple[SetAside, ...] = ()
            if options.consolidate:
                outdated = set_aside_outdated(path, options.tenants, preflight, timestamp(now))
            survey = surveyor.survey(run)
            executed = carry_out_plan(run, survey, surveyor, progress, interruption)
        outcome = close_run(path, run, survey, executed, interruption)
        outcome = replace(outcome, set_aside=outdated)
        outcome = purge_after_run(path, outcome, survey, now, interruption)
        found = survey.found
        # The next survey needs the room.
        del survey
        return save_findings(surveyor, found, outcome, preflight, interruption)
