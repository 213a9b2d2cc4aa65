"""Conversations that wait in the file, read before a night: each tenant's as a run of its own."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from slowwave.consolidation.proposals import Usage
from slowwave.consolidation.running.night_inputs import NightInputs
from slowwave.consolidation.running.preflight import Preflight
from slowwave.consolidation.running.taken_up import TakenUp
from slowwave.consolidation.runtime.interruption import Interruption
from slowwave.store.errors import StoreError
from slowwave.store.file import open_reading
from slowwave.store.intake import count_waiting, read_backlog
from slowwave.store.memories import select_consolidated_tenants, tenants

from .options import IngestOptions

if TYPE_CHECKING:
    from .ingest_outcome import Ingested


def read_waiting_parts(
    night: NightInputs, preflight: Preflight, interruption: Interruption
) -> TakenUp:
    """Read what waits for a model in the tenants of a night, if there is one; else count it.

    For a caller that keeps other runs from the file. The writer's budget is of this and the night
    together. Raises `StoreError`, `EmbedderError` or `ModelError` if nothing was changed.
    """
    chosen = night.options.tenants
    with open_reading(night.path) as file:
        waiting = count_waiting(file, chosen)
        if night.writer.model is None or not waiting:
            return TakenUp(read_backlog(file, chosen))
        known = set(tenants(file)).intersection(chosen)
        counted = select_consolidated_tenants(file, sorted(known)) if known or not chosen else []
    taking = _Taking()
    for tenant in waiting:
        options = IngestOptions(
            tenant=tenant,
            counted=tuple(dict.fromkeys([*counted, *waiting])),
            shown=night.options.shown,
        )
        try:
            taking.done.append(_ingested(night, options, preflight, interruption))
        except StoreError as error:
            if not taking.done:
                raise
            taking.broken_off = error
        except KeyboardInterrupt:
            if not taking.done:
                raise
            taking.interrupted = True
        # The night goes on, and hears who wants it to end.
        taking.interrupted |= interruption.asked
        if taking.has_ended:
            break
        interruption.open()
    with interruption.limited(), open_reading(night.path) as file:
        left = read_backlog(file, chosen)
    return replace(taking.taken_up(), backlog=left)


def _ingested(
    night: NightInputs, options: IngestOptions, preflight: Preflight, interruption: Interruption
) -> Ingested:
    # Most nights find nothing that waits, and are not to load what reads texts.
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
class _Taking:
    """What was taken up so far, tenant by tenant."""

    done: list[Ingested] = field(default_factory=list)
    interrupted: bool = False
    broken_off: StoreError | None = None

    @property
    def has_ended(self) -> bool:
        """Whether nothing more is to be read."""
        stopped = (one.interrupted or one.broken_off for one in self.done)
        return self.interrupted or self.broken_off is not None or any(stopped)

    def taken_up(self) -> TakenUp:
        """Return all of it together."""
        done = self.done
        unread = [one for each in done for one in each.unread]
        whys = [one.why for one in unread if one.why]
        broken = [one.broken_off for one in done if one.broken_off is not None]
        return TakenUp(
            runs=tuple(one.run_id for one in done if one.run_id is not None),
            read=sum(one.taken_up for one in done),
            unread=len(unread),
            states=_counted([one.state for each in done for one in each.remembered]),
            why=whys[0] if whys else None,
            usage=sum((one.usage for one in done), start=Usage()),
            before=done[0].before if done else None,
            interrupted=self.interrupted or any(one.interrupted for one in done),
            broken_off=self.broken_off or (broken[0] if broken else None),
        )


def _counted(states: Sequence[str]) -> dict[str, int]:
    return dict(sorted(Counter(states).items()))
