"""One night, from the file to the outcome: the page to read first.

The stages stand here in their order, and nothing else does. A dry run and a real run walk the
same way as far as the plan; there the dry run ends.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from datetime import datetime
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from slowwave.store.file import maintenance_lock

from .options import CycleOptions
from .progress import Progress
from .running.asking import asked_only
from .running.ending import carried_out, ended, planned, purged_as_well
from .running.execute import Run
from .running.outcome import Outcome
from .running.preflight import Preflight
from .running.purge import NOTHING, plan_purge
from .running.save_findings import save_findings
from .running.survey import Surveyor
from .runtime.interruption import InterruptedEarly, Interruption
from .vectors.embedder import Embedder
from .writing.writer import Writer

if TYPE_CHECKING:
    from .snapshot.population import Population


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
        asking = partial(asked_only, embedder=embedder, writer=writer, progress=progress)
        return _dry_run(path, options, surveyor, now, interruption, asking)
    with maintenance_lock(path):
        preflight = Preflight(path, options.keep_backups, now)
        run = Run(path, embedder, writer, now, options.shown, preflight)
        try:
            preflight.bring_up_to_date()
            survey = surveyor.survey(run)
            purgeable = plan_purge(path, survey.populations, now) if options.purge else NOTHING
            if purgeable.ids:
                preflight.check_and_back_up()
            look_again = partial(surveyor.again, survey.found.cache, run)
            executed = carried_out(
                run, survey.plan, survey.populations, progress, interruption, look_again
            )
        except KeyboardInterrupt:
            interruption.close()
            with interruption.limited():
                kept = run.end_early()
            raise InterruptedEarly(kept) from None
        outcome = ended(path, run, survey.plan, survey.snapshot, executed, interruption)
        if options.purge and not outcome.interrupted and not outcome.broken_off:
            outcome = purged_as_well(path, outcome, purgeable, survey.snapshot, now, interruption)
        found = survey.found
        # The next survey needs the room.
        del survey
        if options.consolidate and not outcome.interrupted and not outcome.broken_off:
            not_kept = save_findings(surveyor, found, outcome.changed, preflight, interruption)
            outcome = replace(outcome, not_kept=not_kept)
        return replace(outcome, backup=preflight.backup)


def _dry_run(
    path: Path,
    options: CycleOptions,
    surveyor: Surveyor,
    now: datetime,
    interruption: Interruption,
    asking: Callable[[Path, Outcome, Sequence[Population]], Outcome],
) -> Outcome:
    try:
        survey = surveyor.survey()
        purgeable = plan_purge(path, survey.populations, now) if options.purge else NOTHING
        outcome = planned(survey.plan, survey.snapshot, survey.populations, purgeable)
        return asking(path, outcome, survey.populations) if options.ask else outcome
    except KeyboardInterrupt:
        interruption.close()
        raise InterruptedEarly(kept=False) from None
