"""The outcome of an ingest."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

from slowwave.consolidation.proposals import Usage
from slowwave.consolidation.running.run_in_file import Verdict, run_report
from slowwave.store.errors import StoreError
from slowwave.store.intake import UNREAD, KeptMessage
from slowwave.store.memories import Counts

from .parts import Cut, Part


@dataclass(frozen=True)
class IngestResult:
    """A candidate or rejected text, and its state."""

    # `stored`: as a new memory. `told`: a memory says it already. `raw`: an unreadable answer.
    state: Literal["stored", "told", "raw", "rejected"]
    content: str
    conversation: str
    # Its key in the ledger; None in a dry run.
    proposal: str | None = None
    # The id of the new memory, or of the one that says it already.
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
    """An unread part: it waits in the file, or, in a dry run, a model would be asked."""

    part: Part
    state: Literal["failed", "skipped", "planned"]
    why: str | None
    # The estimated tokens of the question.
    tokens: int = 0


@dataclass(frozen=True)
class IngestOutcome:
    """What an ingest did; in a dry run, what it would do."""

    cuts: tuple[Cut, ...]
    remembered: tuple[IngestResult, ...]
    unread: tuple[Unread, ...]
    before: Counts
    after: Counts
    usage: Usage
    # The number of waiting parts that were read.
    taken_up: int = 0
    # The number of parts that still wait.
    waiting: int = 0
    run_id: str | None = None
    interrupted: bool = False
    # Why the file could no longer be written, after something was stored.
    broken_off: StoreError | None = None

    def of(self, state: str) -> list[IngestResult]:
        """Return the results with this state."""
        return [result for result in self.remembered if result.state == state]

    @property
    def report(self) -> dict[str, Any]:
        """The counts, the model's usage and the unread parts, as recorded with the run."""
        report = run_report(
            self.before, self.after, (result.state for result in self.remembered), self.usage
        )
        unread = [
            {"id": unread.part.waiting_id, "state": unread.state, "why": unread.why}
            for unread in self.unread
        ]
        return report | ({UNREAD: unread} if unread else {})

    @property
    def verdict(self) -> Verdict:
        """How the ingest ended; failed if it only read waiting parts, and read none."""
        if self.interrupted:
            return "interrupted"
        failed = [unread for unread in self.unread if unread.state != "planned"]
        is_new = any(cut.parts for cut in self.cuts)
        if failed and not (is_new or self.taken_up or self.broken_off):
            return "failed"
        return "partial" if failed or self.broken_off or self.of("raw") else "done"


@dataclass
class IngestProgress:
    """The results so far."""

    remembered: list[IngestResult] = field(default_factory=list)
    unread: list[Unread] = field(default_factory=list)
    usage: Usage = field(default_factory=Usage)
    taken_up: int = 0
    # The last results: they may be stored without being among `remembered`.
    last: Sequence[IngestResult] = ()
