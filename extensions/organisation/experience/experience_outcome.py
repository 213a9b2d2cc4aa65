"""What became of the traces of a file, as one value."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Literal

from slowwave.consolidation.proposals import Usage
from slowwave.consolidation.running.run_in_file import Verdict
from slowwave.store.errors import StoreError

from .compression import Learned, Task

ExperienceState = Literal["planned", "applied", "discarded", "failed", "skipped"]


@dataclass(frozen=True)
class Compressed:
    """What became of the traces of one task."""

    task: Task
    state: ExperienceState
    why: str | None = None
    # None where nobody has compressed them.
    learned: Learned | None = None
    # The memory that has it.
    memory: str | None = None
    # What a model took for it.
    usage: Usage = field(default_factory=Usage)
    # In a dry run: the tokens that asking a model takes, estimated.
    tokens: int = 0


@dataclass(frozen=True)
class Compression:
    """What became of the traces of a file. Those that were compressed before are not among it."""

    tasks: tuple[Compressed, ...]
    # Ids of memories that say they keep a trace, and do not.
    unreadable: tuple[str, ...]
    run_id: str | None = None
    interrupted: bool = False
    # Why the file could no longer be written, after something was.
    broken_off: StoreError | None = None

    @property
    def usage(self) -> Usage:
        """What a model took for all of it."""
        return sum((task.usage for task in self.tasks), start=Usage())

    @property
    def verdict(self) -> Verdict:
        """Return in a word how it ended."""
        if self.interrupted:
            return "interrupted"
        if self.broken_off is not None:
            return "partial"
        if not any(task.state in ("failed", "skipped") for task in self.tasks):
            return "done"
        return "failed" if self.run_id is None else "partial"


def judged(tried: Compressed, least_ratio: float) -> Compressed:
    """Discard what says of no decision how it went, or is hardly shorter than the traces."""
    learned = tried.learned
    if tried.state != "planned" or learned is None:
        return tried
    if not learned.decisions:
        why = "; ".join(learned.turned_down) or "no trace contains the outcome of a decision"
        return replace(tried, state="discarded", why=why)
    if learned.ratio < least_ratio:
        why = (
            f"it would be only {learned.ratio:g} times shorter, and the minimum is {least_ratio:g}"
        )
        return replace(tried, state="discarded", why=why)
    return tried
