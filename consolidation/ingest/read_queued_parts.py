"""Read queued conversation parts before a night, each tenant's in a run of its own."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from slowwave.consolidation.proposals import Usage
from slowwave.consolidation.running.outcome import QueuedPartsResult
from slowwave.consolidation.running.run_in_file import NightInputs, Preflight
from slowwave.store.errors import SlowwaveError, StoreError
from slowwave.store.file import open_reading
from slowwave.store.intake import count_queued, read_backlog
from slowwave.store.memories import select_consolidated_tenants, tenants

from .options import IngestOptions

if TYPE_CHECKING:
    from .ingest import IngestInputs
    from .ingest_outcome import IngestOutcome


def ask_about_queued_parts(night: NightInputs) -> int:
    """Ask the writer about the queued parts of a night's tenants, and return their number.

    The file is only read. Raises `StoreError` or `EmbedderError`.
    """
    from .ingest import preview

    with open_reading(night.path) as file:
        queued = count_queued(file, night.options.tenants)
    previews = (
        preview(_inputs(night, IngestOptions(tenant=tenant, ask=True))) for tenant in queued
    )
    return sum(len(outcome.parts) for outcome in previews)


def read_queued_parts(night: NightInputs, preflight: Preflight) -> QueuedPartsResult:
    """Read the queued parts of a night's tenants, or count them without a model.

    The caller holds the maintenance lock. The writer's budget includes the night. Raises
    `StoreError`, `EmbedderError` or `ModelError` if nothing was changed.
    """
    chosen, interruption = night.options.tenants, night.interruption
    with open_reading(night.path) as file:
        queued = count_queued(file, chosen)
        if night.writer.model is None or not queued:
            return QueuedPartsResult(read_backlog(file, chosen))
        existing = set(tenants(file)).intersection(chosen)
        counted = (
            select_consolidated_tenants(file, sorted(existing)) if existing or not chosen else []
        )
    # Imported late: most nights find nothing queued.
    from .ingest import ingest_while_locked

    counted = list(dict.fromkeys([*counted, *queued]))
    outcomes: list[IngestOutcome] = []
    interrupted = False
    broken_off: SlowwaveError | None = None
    for tenant in queued:
        options = IngestOptions(tenant=tenant, counted=tuple(counted), shown=night.options.shown)
        try:
            outcomes.append(ingest_while_locked(_inputs(night, options), preflight, interruption))
            broken_off = outcomes[-1].broken_off
        except (StoreError, KeyboardInterrupt) as error:
            if not outcomes:
                raise
            broken_off = error if isinstance(error, StoreError) else None
            interrupted = broken_off is None
        interrupted = interrupted or outcomes[-1].interrupted or interruption.requested
        if interrupted or broken_off:
            break
        interruption.open()
    with interruption.limited(), open_reading(night.path) as file:
        backlog = read_backlog(file, chosen)
    after = outcomes[0].before
    for outcome in outcomes:
        after = after.changed_by(outcome.before, outcome.after)
    unread = [reading for outcome in outcomes for reading in outcome.unread]
    states = Counter(result.state for outcome in outcomes for result in outcome.remembered)
    return QueuedPartsResult(
        backlog,
        runs=tuple(outcome.run_id for outcome in outcomes if outcome.run_id is not None),
        read=sum(outcome.taken_up for outcome in outcomes),
        unread=len(unread),
        has_failed=any(part.state == "failed" for part in unread),
        states=dict(sorted(states.items())),
        why=next((reading.why for reading in unread if reading.why), None),
        usage=sum((outcome.usage for outcome in outcomes), start=Usage()),
        counts=(outcomes[0].before, after),
        interrupted=interrupted,
        broken_off=broken_off,
    )


def _inputs(night: NightInputs, options: IngestOptions) -> IngestInputs:
    from .ingest import IngestInputs

    return IngestInputs(
        night.path, (), options, night.embedder, night.writer, night.now, night.progress
    )
