"""Gates before a run: whether it is switched on, not too soon, and worth it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

from slowwave.cli.terminal.wording import counted
from slowwave.consolidation.ageing.retention import duration_text

_HOUR, _MINUTE = timedelta(hours=1), timedelta(minutes=1)


@dataclass(frozen=True)
class ClosedGate:
    """A gate that keeps a run from beginning, with its numbers."""

    name: str
    why: str
    # What is asked for, and what there is: memories, or hours. None: it is switched off.
    needed: float | None = None
    found: float | None = None

    def as_json(self) -> dict[str, Any]:
        """Return it as a program reads it."""
        return asdict(self)


@dataclass(frozen=True)
class Gates:
    """What has to hold for a run to begin."""

    # Where the kill switch was set, in words; None: it was not.
    switched_off_by: str | None = None
    min_interval: timedelta | None = None
    min_new: int | None = None

    @property
    def look_at_the_file(self) -> bool:
        """Whether the file has to be read to know."""
        return self.min_interval is not None or self.min_new is not None

    def switch(self) -> ClosedGate | None:
        """Return the kill switch, if it is thrown."""
        if self.switched_off_by is None:
            return None
        return ClosedGate("enabled", f"maintenance is switched off by {self.switched_off_by}")

    def closed(self, file: Path, tenants: Sequence[str], now: datetime) -> ClosedGate | None:
        """Return the first gate that is closed; None if all are open. Raises `StoreError`."""
        from slowwave.store.file import open_reading
        from slowwave.store.ledger import count_new, read_last_start
        from slowwave.store.memories import select_consolidated_tenants

        with open_reading(file) as opened:
            meant = select_consolidated_tenants(opened, tenants)
            if self.min_interval is not None:
                closed = self._too_soon(self.min_interval, read_last_start(opened, meant), now)
                if closed is not None:
                    return closed
            if self.min_new is not None:
                return self._too_few(self.min_new, count_new(opened, meant))
        return None

    @staticmethod
    def _too_soon(needed: timedelta, last: str | None, now: datetime) -> ClosedGate | None:
        if last is None:
            return None
        since = now - datetime.fromisoformat(last)
        # A run dated in the future comes from a wrong clock: it must not close the gate for good.
        if not timedelta(0) <= since < needed:
            return None
        hours = round(since / _HOUR, 2)
        why = (
            f"--min-interval {duration_text(needed)}: the last run that changed something began "
            f"{_ago(since)} ago, at {last[:19].replace('T', ' ')} UTC"
        )
        return ClosedGate("min_interval", why, needed / _HOUR, hours)

    @staticmethod
    def _too_few(needed: int, found: int) -> ClosedGate | None:
        if found >= needed:
            return None
        memories = "memory is" if found == 1 else "memories are"
        why = f"--min-new {needed}: {found} {memories} new since the last night"
        return ClosedGate("min_new", why, needed, found)


def _ago(since: timedelta) -> str:
    """Return a time in words: within the first hour in minutes."""
    if since < _MINUTE:
        return "less than a minute"
    if since < _HOUR:
        return counted(since // _MINUTE, "minute", "minutes")
    hours = round(since / _HOUR, 2)
    return f"{hours:g} hour{'' if hours == 1 else 's'}"
