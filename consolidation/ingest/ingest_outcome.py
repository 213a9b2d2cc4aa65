"""The outcome of an ingest."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

from slowwave.consolidation.proposals import Usage
from slowwave.consolidation.running.run_in_file import Verdict, run_report
from slowwave.store.errors import SlowwaveError
from slowwave.store.intake import UNREAD, KeptMessage
from slowwave.store.memories import Counts

from .candidates import PartReading
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


@dataclass
class IngestOutcome:
    """What an ingest did so far; in a dry run, what it would do."""

    cuts: tuple[Cut, ...]
    # What is read, or queued for a model.
    parts: tuple[Part, ...]
    before: Counts
    after: Counts
    remembered: list[IngestResult] = field(default_factory=list)
    unread: list[PartReading] = field(default_factory=list)
    usage: Usage = field(default_factory=Usage)
    # Why a model chose what it did, by part: with `conversation`, `messages` and `reasoning`.
    reasons: list[dict[str, Any]] = field(default_factory=list)
    # How long it took; in a dry run 0.
    seconds: float = 0.0
    # The number of queued parts that were read.
    taken_up: int = 0
    # The number of parts that are still queued.
    queued: int = 0
    run_id: str | None = None
    interrupted: bool = False
    # Why the file could no longer be written, after something was stored.
    broken_off: SlowwaveError | None = None

    def of(self, state: str) -> list[IngestResult]:
        """Return the results with this state."""
        return [result for result in self.remembered if result.state == state]

    @property
    def failed(self) -> list[PartReading]:
        """The parts that a model was to read, and did not."""
        return [reading for reading in self.unread if reading.state in ("failed", "skipped")]

    def add(self, reading: PartReading, results: Sequence[IngestResult]) -> None:
        """Add a part, what it cost, its results, and why they were chosen."""
        self.usage += reading.usage
        self.remembered += results
        if reading.state != "read":
            self.unread.append(reading)
        elif reading.part.queued_id is not None:
            self.taken_up += 1
        if reading.reasoning:
            places = sorted({message.place for message in reading.part.new})
            entry = {"conversation": reading.part.conversation, "messages": places}
            self.reasons.append(entry | {"reasoning": reading.reasoning})

    @property
    def report(self) -> dict[str, Any]:
        """The counts, what the model used and said, and the unread parts, as recorded."""
        states = (result.state for result in self.remembered)
        report = run_report(self.before, self.after, states, self.usage)
        unread = [
            {"id": reading.part.row_id, "state": reading.state, "why": reading.why}
            for reading in self.unread
        ]
        masked = [
            {"conversation": cut.conversation.name, "message": place, "kinds": list(kinds)}
            for cut in self.cuts
            for place, kinds in cut.masked.items()
        ]
        return (
            report
            | {"seconds": round(self.seconds, 3)}
            | ({"reasons": self.reasons} if self.reasons else {})
            | ({UNREAD: unread} if unread else {})
            | ({"masked": masked} if masked else {})
        )

    @property
    def verdict(self) -> Verdict:
        """How the ingest ended; failed if it only read queued parts, and read none."""
        if self.interrupted:
            return "interrupted"
        is_new = any(cut.parts for cut in self.cuts)
        if self.failed and not (is_new or self.taken_up or self.broken_off):
            return "failed"
        return "partial" if self.failed or self.broken_off or self.of("raw") else "done"
