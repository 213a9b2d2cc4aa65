"""Read waiting conversation parts before a night, each tenant's in a run of its own."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from slowwave.consolidation.proposals import Usage
from slowwave.consolidation.running.outcome import WaitingPartsResult
from slowwave.consolidation.running.run_in_file import NightInputs, Preflight
from slowwave.consolidation.runtime.interruption import Interruption
from slowwave.store.errors import StoreError
from slowwave.store.file import open_reading
from slowwave.store.intake import count_waiting, read_backlog
from slowwave.store.memories import select_consolidated_tenants, tenants

from .options import IngestOptions

if TYPE_CHECKING:
    from .ingest_outcome import IngestOutcome


def read_waiting_parts(
    night: NightInputs, preflight: Preflight, interruption: Interruption
) -> WaitingPartsResult:
    """Read the waiting parts of a night's tenants, or count them without a model.

    The caller holds the maintenance lock. The writer's budget includes the night. Raises
    `StoreError`, `EmbedderError` or `ModelError` if nothing was changed.
    """
    chosen = night.options.tenants
    with open_reading(night.path) as file:
        waiting = count_waiting(file, chosen)
        if night.writer.model is None or not waiting:
            return WaitingPartsResult(read_backlog(file, chosen))
        known = set(tenants(file)).intersection(chosen)
        counted = select_consolidated_tenants(file, sorted(known)) if known or not chosen else []
    ingests = _Ingests()
    for tenant in waiting:
        options = IngestOptions(
            tenant=tenant,
            counted=tuple(dict.fromkeys([*counted, *waiting])),
            shown=night.options.shown,
        )
        try:
            ingests.done.append(_ingest(night, options, preflight, interruption))
        except StoreError as error:
            if not ingests.done:
                raise
            ingests.broken_off = error
        except KeyboardInterrupt:
            if not ingests.done:
                raise
            ingests.interrupted = True
        ingests.interrupted |= interruption.asked
        if ingests.has_ended:
            break
        interruption.open()
    with interruption.limited(), open_reading(night.path) as file:
        left = read_backlog(file, chosen)
    return replace(ingests.total(), backlog=left)


def _ingest(
    night: NightInputs, options: IngestOptions, preflight: Preflight, interruption: Interruption
) -> IngestOutcome:
    # Imported late: most nights find nothing that waits.
    from .ingest import ingest_while_locked

    return ingest_while_locked(
        night.path,
        (),
        options,
        night.embedder,
        night.writer,
        night.now,
        preflight,
        night.progress,
        interruption,
    )


@dataclass
class _Ingests:
    """The ingests so far, by tenant."""

    done: list[IngestOutcome] = field(default_factory=list)
    interrupted: bool = False
    broken_off: StoreError | None = None

    @property
    def has_ended(self) -> bool:
        """Whether to stop reading."""
        stopped = (outcome.interrupted or outcome.broken_off for outcome in self.done)
        return self.interrupted or self.broken_off is not None or any(stopped)

    def total(self) -> WaitingPartsResult:
        """Return the total."""
        done = self.done
        unread = [part for each in done for part in each.unread]
        whys = [part.why for part in unread if part.why]
        broken = [outcome.broken_off for outcome in done if outcome.broken_off is not None]
        return WaitingPartsResult(
            runs=tuple(outcome.run_id for outcome in done if outcome.run_id is not None),
            read=sum(outcome.taken_up for outcome in done),
            unread=len(unread),
            states=_count([text.state for each in done for text in each.remembered]),
            why=whys[0] if whys else None,
            usage=sum((outcome.usage for outcome in done), start=Usage()),
            before=done[0].before if done else None,
            interrupted=self.interrupted or any(outcome.interrupted for outcome in done),
            broken_off=self.broken_off or (broken[0] if broken else None),
        )


def _count(states: Sequence[str]) -> dict[str, int]:
    return dict(sorted(Counter(states).items()))
