"""Gates before a run: whether it is switched on, not too soon, and worth it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any

from slowwave.cli.terminal.output import clean
from slowwave.cli.terminal.wording import counted
from slowwave.consolidation.ageing.retention import duration_text

if TYPE_CHECKING:
    from slowwave.store.places import Place

_HOUR = timedelta(hours=1)


@dataclass(frozen=True)
class ClosedGate:
    """A gate that prevents a run, with its numbers."""

    name: str
    why: str
    # Required and found: memories, or hours. None: it is switched off.
    needed: float | None = None
    found: float | None = None

    def as_json(self) -> dict[str, Any]:
        """Return it for programs."""
        return asdict(self)

    def as_text(self, target: object) -> str:
        """Return it for people. target: what would have been maintained."""
        return clean(f"{target} was skipped: {self.why}.")


@dataclass(frozen=True)
class Gates:
    """What must hold for a run to start."""

    # Where the kill switch was set, in words; None: it was not.
    switched_off_by: str | None = None
    min_interval: timedelta | None = None
    min_new: int | None = None

    def switch(self) -> ClosedGate | None:
        """Return the kill switch, if it is set."""
        if self.switched_off_by is None:
            return None
        by = self.switched_off_by.replace("enabled in", "'enabled = false' in", 1)
        return ClosedGate("enabled", f"maintenance is switched off by {by}")

    def closed(self, place: Place, tenants: Sequence[str], now: datetime) -> ClosedGate | None:
        """Return the first gate that is closed; None if all are open. Raises `StoreError`."""
        if self.switched_off_by is not None or (self.min_interval is None and self.min_new is None):
            return self.switch()
        from slowwave.store.file import needs_migration, open_reading
        from slowwave.store.ledger import count_new, read_last_start
        from slowwave.store.memories import select_consolidated_tenants

        closed: ClosedGate | None = None
        with place.reading() as memory_file:
            if needs_migration(memory_file):
                return None
            with open_reading(memory_file) as file:
                chosen = select_consolidated_tenants(file, tenants)
                if self.min_interval is not None:
                    closed = _too_soon(self.min_interval, read_last_start(file, chosen), now)
                if closed is None and self.min_new is not None:
                    closed = _too_few(self.min_new, count_new(file, chosen))
        return closed


def _too_soon(needed: timedelta, last: str | None, now: datetime) -> ClosedGate | None:
    if last is None:
        return None
    since = now - datetime.fromisoformat(last)
    # A run dated in the future comes from a wrong clock: it must not close the gate permanently.
    if not timedelta(0) <= since < needed:
        return None
    why = (
        f"min_interval is {duration_text(needed)}, and the last run that changed anything started "
        f"at {last[:19].replace('T', ' ')} UTC"
    )
    return ClosedGate("min_interval", why, needed / _HOUR, round(since / _HOUR, 2))


def _too_few(minimum: int, new_count: int) -> ClosedGate | None:
    if new_count >= minimum:
        return None
    memories = counted(new_count, "memory is", "memories are")
    why = f"min_new is {minimum}, and only {memories} new"
    return ClosedGate("min_new", why, minimum, new_count)
