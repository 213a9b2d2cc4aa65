"""Proposals to drafts. A writer is the built-in extractive one, or a model: both are verified."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol, TypeVar

from slowwave.consolidation.proposals import ASKED, Draft, Operation, Proposal, Written
from slowwave.store.ledger import Answer, KeptAnswer

if TYPE_CHECKING:
    from slowwave.consolidation.proposals import Source

# Goes up whenever the rules change that extractive.py writes by.
_RULES = "extractive/1"
# How many proposals are written and checked before they are applied: a moment's work.
TOGETHER = 16

_One = TypeVar("_One")


@dataclass(frozen=True)
class Check:
    """Decides whether a draft may be written to the file."""

    # Gives what is wrong with a draft, a sentence each; none if it may be written.
    faults: Callable[[Proposal, Draft], list[str]]
    # Is told of a draft that will be checked soon: some of it can begin before its turn comes.
    announce: Callable[[Draft], None]


@dataclass(frozen=True)
class Job:
    """A proposal with its sources, in the order of time."""

    proposal: Proposal
    sources: tuple[Source, ...]


class Answers(Protocol):
    """The answers that models gave, kept in the file: nothing is paid for twice."""

    def find(self, key: str) -> Answer | None:
        """Give the kept answer to a question."""

    def keep(self, answers: Sequence[KeptAnswer]) -> None:
        """Keep answers, all of them or none."""


class Writer(Protocol):
    """Turns proposals into drafts that passed the check, or into a reason why there is none."""

    @property
    def name(self) -> str:
        """`extractive`, or `model`."""

    @property
    def model(self) -> str | None:
        """The model's name, None without one."""

    @property
    def refused(self) -> str | None:
        """Why the model refuses every call; None if it does not, or was not asked."""

    def prompt_hash(self, operation: Operation) -> str:
        """Give the hash of what the writer goes by: another hash may give another draft."""

    def make_ready(self) -> None:
        """Load what writing needs. Raises `ModelError` if a model cannot be asked."""

    def write(
        self, jobs: Sequence[Job], check: Check, answers: Answers
    ) -> Iterator[Sequence[Written]]:
        """Give what became of each proposal, as much at once as there is; then it may have to wait.

        Raises nothing for a single failure.
        """


class ExtractiveWriter:
    """The writer without a model: its drafts are part of the plan already."""

    name = "extractive"
    model = None
    refused = None

    def prompt_hash(self, operation: Operation) -> str:
        """Give the hash of the version: its rules are its instructions."""
        return hashlib.sha256(f"{_RULES} {operation}".encode()).hexdigest()

    def make_ready(self) -> None:
        """Need nothing."""

    def write(
        self, jobs: Sequence[Job], check: Check, answers: Answers
    ) -> Iterator[Sequence[Written]]:
        """Give the planned drafts that pass the check."""
        for part in portions(jobs, TOGETHER):
            yield [_planned(job.proposal, check) for job in part]


def _planned(proposal: Proposal, check: Check) -> Written:
    if proposal.draft is None:
        return Written(proposal, None, "failed", "the plan holds no draft")
    return judged(proposal, proposal.draft, check)


def portions(several: Sequence[_One], size: int) -> Iterator[Sequence[_One]]:
    """Give so many at a time."""
    return (several[start : start + size] for start in range(0, len(several), size))


def judged(proposal: Proposal, draft: Draft, check: Check) -> Written:
    """Give a draft as accepted, which is yet to be applied, or as rejected with the reasons."""
    faults = check.faults(proposal, draft)
    if faults:
        return Written(proposal, draft, "rejected", "; ".join(faults))
    return Written(proposal, draft, "planned")


def prompt_hashes(writer: Writer) -> dict[Operation, str]:
    """Give the hash of a writer's instructions for each operation.

    What an update says is decided by the same rules whoever writes the rest.
    """
    hashes = {operation: writer.prompt_hash(operation) for operation in ASKED}
    return hashes | {"update": ExtractiveWriter().prompt_hash("update")}
