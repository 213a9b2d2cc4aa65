"""The receipt of one memory file in a run of a fleet."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Literal

# The outcome of a file; with the last four there is always a reason.
Became = Literal[
    "done",  # its run wrote something
    "nothing",  # its run found nothing to do
    "unchanged",  # it was not opened: nothing has changed, and nothing is due
    "planned",  # a dry run
    "partial",  # some proposals failed, or a budget was used up
    "stale",  # it was replaced in its bucket during each try
    "held",  # another maintenance run has locked it
    "foreign",  # it is not a slowwave memory file
    "off",  # the slowwave.toml next to it switches maintenance off
    "refused",  # it is not safe, or not possible, to maintain it where it is
    "gone",  # it was deleted after the files were listed
    "missing",  # it is listed, but does not exist
    "interrupted",  # the run was interrupted
    "failed",
    "unusable",
    "lost",  # its worker died without an error message
    "defect",
]
# Files with other outcomes need another run, or a person.
WELL: frozenset[Became] = frozenset(
    {"done", "nothing", "unchanged", "planned", "foreign", "off", "gone", "interrupted"}
)


# With slots, a million of them fit into a process.
@dataclass(frozen=True, slots=True)
class Receipt:
    """The outcome of one memory file, with the numbers of its `runs` and their proposals."""

    key: str
    became: Became
    # A sentence with the reason, if there is one.
    why: str | None = None
    # The file's version at the end of the run; see `Listed`.
    version: str = ""
    # A hash of the options and rules with which nothing is left to do; None if something may be.
    basis: str | None = None
    # Until when that holds; None: until the file changes.
    until: str | None = None
    # The runs of fleets that no earlier receipt of this file names, oldest first.
    runs: tuple[str, ...] = ()
    last_run: str | None = None
    # Active memories and their tokens; None if they were not counted, because a run was killed.
    memories_before: int | None = None
    memories_after: int | None = None
    tokens_before: int | None = None
    tokens_after: int | None = None
    # Proposals of these runs; planned: those of a dry run.
    applied: int = 0
    rejected: int = 0
    pending: int = 0
    failed: int = 0
    planned: int = 0
    # Usage of a model by these runs, and by tries whose file could not be put back.
    calls: int = 0
    prompt_tokens: int = 0
    completion_tokens: int = 0
    # In USD; None if a price is unknown.
    cost: float | None = 0.0
    # How often the file was fetched from its bucket.
    tries: int = 1
    seconds: float = 0.0
    # When, ISO 8601 in UTC.
    at: str = ""

    def is_current(self, version: str, basis: str, now: str) -> bool:
        """Whether nothing needs to be done in a file of this version."""
        is_same = self.version == version and self.basis == basis
        return is_same and (self.until is None or self.until > now)

    def unchanged(self, now: str) -> Receipt:
        """Return the receipt of the same file for a later run, which did not open it."""
        return Receipt(
            self.key,
            "unchanged",
            version=self.version,
            basis=self.basis,
            until=self.until,
            last_run=self.last_run,
            memories_before=self.memories_after,
            memories_after=self.memories_after,
            tokens_before=self.tokens_after,
            tokens_after=self.tokens_after,
            tries=0,
            at=now,
        )

    def with_usage_of(self, earlier: Receipt) -> Receipt:
        """Return it with the usage of an earlier try added."""
        is_known = self.cost is not None and earlier.cost is not None
        return replace(
            self,
            calls=self.calls + earlier.calls,
            prompt_tokens=self.prompt_tokens + earlier.prompt_tokens,
            completion_tokens=self.completion_tokens + earlier.completion_tokens,
            cost=(self.cost or 0.0) + (earlier.cost or 0.0) if is_known else None,
        )

    @property
    def is_well(self) -> bool:
        """Whether the file needs neither another run nor a person."""
        return self.became in WELL
