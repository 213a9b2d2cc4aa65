"""One night, from the file to the outcome: the page to read first.

The stages are called here in their order, and nothing else. A dry run and a real run are the
same as far as the plan; there the dry run ends.
"""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime
from pathlib import Path

from slowwave.store.errors import StoreError
from slowwave.store.file import maintenance_lock
from slowwave.store.records import timestamp

from .errors import ConsolidationError
from .options import CycleOptions
from .progress import Progress
from .running.age_plan import AgePlan
from .running.ageing_phases import AgeingPhases
from .running.ending import close_run, end_if_interrupted, purge_after_run
from .running.execute import carry_out_plan
from .running.outcome import Outcome
from .running.preflight import Preflight
from .running.rehearsal import rehearse
from .running.run_in_file import RunInFile
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
    """Do to the memory file at `path` what the options say, or say what that would do.

    What has come to its end expires, the rest is consolidated, what is above a limit is archived,
    and what was superseded for long is purged. In this order nothing that has ended goes on in a
    memory made of it, and nothing is archived that would have become part of another.

    Agents may read and write the file all the while: no lock on it is held but in the short
    transactions of single writes. Raises `StoreError`, `EmbedderError` or `ModelError` if nothing
    was changed, `InterruptedEarly` if nothing was consolidated, and `OutOfTime`.
    """
    progress = progress or Progress()
    interruption = interruption or Interruption()
    surveyor = Surveyor(path, options, embedder, writer, now, progress)
    if dry_run:
        age_plan = AgePlan(path, options, now)
        return rehearse(path, surveyor, age_plan, embedder, writer, options, progress, interruption)
    with maintenance_lock(path):
        preflight = Preflight(path, options.keep_backups, now)
        run = RunInFile(path, embedder, writer, now, options.shown, preflight)
        ageing = AgeingPhases(path, options, now, preflight, interruption)
        with end_if_interrupted(run, interruption):
            preflight.bring_up_to_date()
            ageing.expire()
        if not ageing.goes_on:
            return ageing.ended_early()
        outdated: tuple[SetAside, ...] = ()
        try:
            with ageing.telling(), end_if_interrupted(run, interruption):
                if options.consolidate:
                    outdated = set_aside_outdated(path, options.tenants, preflight, timestamp(now))
                survey = surveyor.survey(run)
                executed = carry_out_plan(
                    run, survey, surveyor, options.review, progress, interruption
                )
        except (StoreError, ConsolidationError) as error:
            return ageing.ended_early(error)
        outcome = ageing.added_to(close_run(path, run, survey, executed, interruption))
        outcome = ageing.limit(replace(outcome, set_aside=outdated))
        outcome = purge_after_run(path, outcome, survey, now, interruption)
        found = survey.found
        # The next survey needs the room.
        del survey
        return save_findings(surveyor, found, outcome, preflight, interruption)
