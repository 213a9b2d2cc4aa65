"""One night, from the file to the outcome: the page to read first.

The stages stand here in their order, and nothing else does. A dry run and a real run walk the
same way as far as the plan; there the dry run ends.
"""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime
from pathlib import Path

from slowwave.store.file import maintenance_lock

from .embed import Embedder
from .ending import carried_out, ended, planned, purged_as_well
from .execute import Run
from .interruption import InterruptedEarly, Interruption
from .looking import Looker
from .options import CycleOptions
from .outcome import Outcome
from .progress import Progress
from .purging import NOTHING, plan_purge
from .safety import SafetyNet
from .settling import settle
from .write import Writer


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
    looker = Looker(path, options, embedder, writer, now, progress)
    if dry_run:
        return _dry_run(path, options, looker, now, interruption)
    with maintenance_lock(path):
        net = SafetyNet(path, options.keep_backups, now)
        run = Run(path, embedder, writer, now, options.shown, net)
        try:
            net.bring_up_to_date()
            look = looker.look(run)
            purgeable = plan_purge(path, look.populations, now) if options.purge else NOTHING
            if purgeable.ids:
                net.spread()
            executed = carried_out(run, look.plan, look.populations, progress, interruption)
        except KeyboardInterrupt:
            interruption.close()
            with interruption.limited():
                kept = run.end_early()
            raise InterruptedEarly(kept) from None
        outcome = ended(path, run, look.plan, look.library, executed, interruption)
        if options.purge and not outcome.interrupted and not outcome.broken_off:
            outcome = purged_as_well(path, outcome, purgeable, look.library, now, interruption)
        found = look.found
        # The next look needs the room.
        del look
        if options.consolidate and not outcome.interrupted and not outcome.broken_off:
            not_kept = settle(looker, found, outcome.changed, net, interruption)
            outcome = replace(outcome, not_kept=not_kept)
        return replace(outcome, backup=net.backup)


def _dry_run(
    path: Path,
    options: CycleOptions,
    looker: Looker,
    now: datetime,
    interruption: Interruption,
) -> Outcome:
    try:
        look = looker.look()
        purgeable = plan_purge(path, look.populations, now) if options.purge else NOTHING
        return planned(look.plan, look.library, look.populations, purgeable)
    except KeyboardInterrupt:
        interruption.close()
        raise InterruptedEarly(kept=False) from None
