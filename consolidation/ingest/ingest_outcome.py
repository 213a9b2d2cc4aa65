"""What an ingest did, or would do."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

from slowwave.consolidation.proposals import Usage
from slowwave.consolidation.running.run_record import Verdict, run_report
from slowwave.store.errors import StoreError
from slowwave.store.intake import UNREAD, KeptMessage
from slowwave.store.memories import Counts

from .parts import Cut, Part


@dataclass(frozen=True)
class Remembered:
    """A text that was to be remembered, and what became of it."""

    # `stored`; `told`: a memory says it already, which counts for more now; `raw`: an answer that
    # nobody can read; `rejected`: turned down.
    state: Literal["stored", "told", "raw", "rejected"]
    content: str
    conversation: str
    # The key under which it stands in the ledger; None in a dry run.
    proposal: str | None = None
    # The memory: the new one, or the one that says it already.
    memory: str | None = None
    kind: str | None = None
    importance: int | None = None
    tags: tuple[str, ...] = ()
    expires_at: str | None = None
    # The ids of memories that it corrects.
    corrects: tuple[str, ...] = ()
    why: str | None = None
    messages: tuple[KeptMessage, ...] = ()


@dataclass(frozen=True)
class Unread:
    """A part that no model has read: it waits in the file, or in a dry run would be asked about."""

    part: Part
    state: Literal["failed", "skipped", "planned"]
    why: str | None
    # The tokens that asking takes, estimated.
    tokens: int = 0


@dataclass(frozen=True)
class Ingested:
    """What an ingest did; in a dry run, what it would do."""

    cuts: tuple[Cut, ...]
    remembered: tuple[Remembered, ...]
    unread: tuple[Unread, ...]
    before: Counts
    after: Counts
    usage: Usage
    # How many parts that waited in the file were read.
    taken_up: int = 0
    # How many wait there now.
    waiting: int = 0
    run_id: str | None = None
    interrupted: bool = False
    # Why the file could not be written any more, after something was stored.
    broken_off: StoreError | None = None

    def of(self, state: str) -> list[Remembered]:
        """Return the texts of which this became."""
        return [one for one in self.remembered if one.state == state]

    @property
    def report(self) -> dict[str, Any]:
        """The counts and the model's use, as they are kept with the run, and what was not read."""
        report = run_report(
            self.before, self.after, (one.state for one in self.remembered), self.usage
        )
        unread = [
            {"id": one.part.waiting_id, "state": one.state, "why": one.why} for one in self.unread
        ]
        return report | ({UNREAD: unread} if unread else {})

    @property
    def verdict(self) -> Verdict:
        """Return in a word how it ended; failed if all that waited waits on, and that was all."""
        if self.interrupted:
            return "interrupted"
        failed = [one for one in self.unread if one.state != "planned"]
        is_new = any(one.parts for one in self.cuts)
        if failed and not (is_new or self.taken_up or self.broken_off):
            return "failed"
        return "partial" if failed or self.broken_off or self.of("raw") else "done"


@dataclass
class Progressing:
    """What was done so far."""

    remembered: list[Remembered] = field(default_factory=list)
    unread: list[Unread] = field(default_factory=list)
    usage: Usage = field(default_factory=Usage)
    taken_up: int = 0
    # What may be in the file without having come among the others.
    last: Sequence[Remembered] = ()
