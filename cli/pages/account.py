"""What a report says of one night, whichever form it takes."""

from __future__ import annotations

import shlex
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

# Results that agents read or will read, and the headings of the others.
EFFECTIVE = ("applied", "approved", "planned")
_RESULTS = {
    "pending": "What would stand then",
    "undone": "What stood until it was taken back",
}


@dataclass(frozen=True)
class ShownSource:
    """One memory as a proposal found it."""

    id: str
    day: str
    text: str
    # Whether it is, or would be, no longer active.
    goes: bool


@dataclass(frozen=True)
class ShownProposal:
    """One proposal: what it is about, and what came of it."""

    key: str
    operation: str
    tenant: str
    state: str
    reason: str
    # What went wrong, or was left out.
    why: str | None
    sources: tuple[ShownSource, ...]
    # The resulting text, or the one that was rejected.
    result: str | None
    # The memory that has this text; None in a dry run, where it would be a new one.
    made: str | None
    # Whose words it has, where they are a model's.
    wording: tuple[str, ...]
    undo: str | None
    # The command that applies it, where it waits for a person.
    approve: str | None = None

    @property
    def is_effective(self) -> bool:
        """Whether its result is, or is going to be, what agents read."""
        return self.state in EFFECTIVE

    @property
    def about_result(self) -> str:
        """What is said above its result."""
        if self.is_effective:
            return "Result"
        return _RESULTS.get(self.state, "What would have stood then")


@dataclass(frozen=True)
class Pair:
    """Two memories, and why nothing was made of them."""

    why: str
    sources: tuple[ShownSource, ...]


@dataclass(frozen=True)
class Pairs:
    """Pairs of one kind: the first of them, and how many there are."""

    shown: tuple[Pair, ...] = ()
    count: int = 0


@dataclass(frozen=True)
class Point:
    """How many memories were active before and after a run."""

    day: str
    before: int
    after: int


@dataclass(frozen=True)
class Account:
    """One night, as a report shows it."""

    file: str
    # None: a dry run, or a night that wrote nothing.
    run: str | None
    dry_run: bool
    started: str
    outcome: str
    writer: str
    embedder: str
    # Counts by name, with those of `layers` inside; None where the run was cut off.
    before: Mapping[str, Any] | None
    after: Mapping[str, Any] | None
    # What a model was asked, as `Usage` has it.
    usage: Mapping[str, Any]
    items: tuple[ShownProposal, ...]
    # Of all proposals, by what became of them.
    states: Mapping[str, int]
    history: tuple[Point, ...]
    # None: there are too many memories to look for them now.
    conflicts: Pairs | None = None
    # None: the file does not say which pairs a past night kept apart.
    apart: Pairs | None = None
    remarks: tuple[str, ...] = ()
    # Whether its run is all that the night changed; if not, what else did is among the remarks.
    is_whole: bool = True

    @property
    def proposals(self) -> int:
        """How many proposals there were."""
        return sum(self.states.values())

    @property
    def undo_takes(self) -> str:
        """What the command takes back."""
        return "all of it" if self.is_whole else "what the proposals did"

    @property
    def undo(self) -> str | None:
        """The command that takes its run back; None where nothing is to be taken back."""
        if self.run is None or not self.states.get("applied"):
            return None
        return undo_command(self.file, self.run)

    @property
    def look_for_conflicts(self) -> str:
        """The command that lists the conflicts that stand now."""
        return f"slowwave conflicts {shlex.quote(self.file)}"

    @property
    def look_again(self) -> str:
        """The command that lists what a night would keep apart now."""
        return f"slowwave maintain {shlex.quote(self.file)} --dry-run --verbose"


def approve_command(file: str, key: str) -> str:
    """Return the command that applies a proposal which waits for a person, for a shell."""
    return f"slowwave review approve {shlex.quote(file)} {shlex.quote(key)}"


def undo_command(file: str, which: str) -> str:
    """Return the command that takes back a run or a proposal, for a shell."""
    return f"slowwave undo {shlex.quote(file)} {shlex.quote(which)}"
