"""What became of conversations that waited in the file for a model."""

from __future__ import annotations

from dataclasses import dataclass, field

from slowwave.consolidation.proposals import Usage
from slowwave.store.errors import StoreError
from slowwave.store.intake import Backlog
from slowwave.store.memories import Counts


@dataclass(frozen=True)
class TakenUp:
    """How many parts of conversations waited for a model, and what became of them.

    Each tenant's are a run of their own, which is told and undone like an ingest.
    """

    # What waits now; where nobody read any, what waits all the same.
    backlog: Backlog = field(default_factory=Backlog)
    # Whether a dry run stands before a real one that reads them.
    is_due: bool = False
    runs: tuple[str, ...] = ()
    # Parts: those that were read, and those that were asked about and wait still.
    read: int = 0
    unread: int = 0
    # Texts by what became of them: stored, told, rejected, raw.
    states: dict[str, int] = field(default_factory=dict)
    # Why the first of those that were not read was not.
    why: str | None = None
    usage: Usage = field(default_factory=Usage)
    # Before the first of them; None if none was read.
    before: Counts | None = None
    interrupted: bool = False
    # Why the file could not be written any more, after something was stored.
    broken_off: StoreError | None = None

    @property
    def waiting(self) -> int:
        """How many wait now."""
        return self.backlog.parts

    @property
    def went_wrong(self) -> bool:
        """Whether something was not read as it should have been."""
        return bool(self.unread or self.states.get("raw") or self.broken_off)
