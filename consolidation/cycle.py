"""One night, from the file to the outcome: the page to read first.

The stages stand here in their order, and nothing else does. A dry run and a real run walk the
same way as far as the plan; there the dry run ends.
"""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import nullcontext
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import Any

from slowwave.store.file import bring_up_to_date, maintenance_lock, open_reading
from slowwave.store.memories import Counts, count_memories
from slowwave.store.records import timestamp

from .embed import Embedder
from .execute import Run
from .index import Library, complete, read_library
from .outcome import Outcome, expected_counts, report_of, verdict
from .plan import PlanOptions, make_plan
from .progress import Progress
from .proposals import OPERATIONS, Operation, Result, Usage
from .write import Writer, prompt_hashes


@dataclass(frozen=True)
class CycleOptions:
    """What the user chose."""

    tenants: tuple[str, ...] = ()
    only: frozenset[Operation] = frozenset(OPERATIONS)
    include_protected: bool = False
    # Propose again what was rejected, declined or undone before.
    reconsider: bool = False
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
) -> Outcome:
    """Consolidate the memory file at `path`, or say what that would do.

    Agents may read and write the file all the while: no lock on it is held but in the short
    transactions of single writes. Raises `StoreError`, `EmbedderError` or `ModelError` if nothing
    was changed.
    """
    progress = progress or Progress()
    with nullcontext() if dry_run else maintenance_lock(path):
        run = None if dry_run else Run(path, embedder, writer, now, options.shown)
        if run is not None:
            bring_up_to_date(path)
        library = read_library(path, options.tenants, embedder.name, timestamp(now))
        populations = complete(library, embedder, run, progress)
        plan = make_plan(populations, _plan_options(options, writer, library))
        if run is None:
            planned = tuple(Result(one, "planned", draft=one.draft) for one in plan.proposals)
            after = expected_counts(library.counts, plan, populations)
            return Outcome(plan, planned, library.counts, after, Usage())
        try:
            executed = run.carry_out(plan, populations, progress)
        except Exception:
            run.end("failed", plan.digest, {})
            raise
        outcome = Outcome(
            plan,
            executed.results,
            library.counts,
            _count(path, library),
            executed.usage,
            run.run_id,
            executed.interrupted,
        )
        run.end(verdict(outcome), plan.digest, report_of(outcome))
        return outcome


def _plan_options(options: CycleOptions, writer: Writer, library: Library) -> PlanOptions:
    return PlanOptions(
        writer=writer.name,
        prompt_hashes=prompt_hashes(writer),
        extractive=writer.model is None,
        only=options.only,
        include_protected=options.include_protected,
        remembered=frozenset() if options.reconsider else library.remembered,
    )


def _count(path: Path, library: Library) -> Counts:
    with open_reading(path) as file:
        return count_memories(file, library.tenants)
