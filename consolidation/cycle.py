"""One night, from the file to the outcome: the page to read first.

The stages stand here in their order, and nothing else does. A dry run and a real run walk the
same way as far as the plan; there the dry run ends.
"""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import nullcontext
from dataclasses import dataclass, field, replace
from datetime import datetime
from pathlib import Path
from typing import Any

from slowwave.store.file import maintenance_lock
from slowwave.store.records import timestamp

from .aside import aside
from .embed import Embedder
from .ending import carried_out, ended, planned, purged_as_well
from .execute import Run
from .index import Library, complete, read_library
from .interruption import InterruptedEarly, Interruption
from .outcome import Outcome
from .plan import PlanOptions, make_plan
from .progress import Progress
from .proposals import OPERATIONS, Operation
from .purging import NOTHING, plan_purge
from .safety import SafetyNet
from .write import Writer, prompt_hashes


@dataclass(frozen=True)
class CycleOptions:
    """What the user chose."""

    # Without it a run may still purge.
    consolidate: bool = True
    tenants: tuple[str, ...] = ()
    only: frozenset[Operation] = frozenset(OPERATIONS)
    include_protected: bool = False
    # Propose again what was rejected, declined or undone before.
    reconsider: bool = False
    # Delete what has been superseded for long and is not needed any more.
    purge: bool = False
    # How many backups are kept, with a new one made before the first change; None: none is made.
    keep_backups: int | None = None
    # All options as given, for the record of the run.
    shown: Mapping[str, Any] = field(default_factory=dict)


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
    with nullcontext() if dry_run else maintenance_lock(path):
        net = SafetyNet(path, options.keep_backups, now)
        run = None if dry_run else Run(path, embedder, writer, now, options.shown, net)
        try:
            if run is not None:
                net.bring_up_to_date()
            library = read_library(path, options.tenants, embedder.name, timestamp(now))
            # What a purge alone lacks of vectors is computed and not kept: it is not its work.
            keeper = run if options.consolidate else None
            populations = complete(library, embedder, keeper, progress)
            consolidated = populations if options.consolidate else []
            chosen = _plan_options(options, writer, library)
            plan = aside(lambda: make_plan(consolidated, chosen))
            purgeable = plan_purge(path, populations, now) if options.purge else NOTHING
            if run is None:
                return planned(plan, library, populations, purgeable)
            if purgeable.ids:
                net.spread()
            executed = carried_out(run, plan, populations, progress, interruption)
        except KeyboardInterrupt:
            interruption.close()
            with interruption.limited():
                kept = run is not None and run.end_early()
            raise InterruptedEarly(kept) from None
        outcome = ended(path, run, plan, library, executed, interruption)
        if options.purge and not outcome.interrupted and not outcome.broken_off:
            outcome = purged_as_well(path, outcome, purgeable, library, now, interruption)
        return replace(outcome, backup=net.backup)


def _plan_options(options: CycleOptions, writer: Writer, library: Library) -> PlanOptions:
    return PlanOptions(
        writer=writer.name,
        prompt_hashes=prompt_hashes(writer),
        extractive=writer.model is None,
        only=options.only,
        include_protected=options.include_protected,
        remembered=frozenset() if options.reconsider else library.remembered,
    )
