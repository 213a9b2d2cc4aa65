"""Who writes what a plan leaves open: a model, or nobody. Whatever is written is checked first."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol, TypeVar

from slowwave.consolidation.proposals import AskedWindow, Proposal, VerifiedProposal
from slowwave.store.ledger import Answer, KeptAnswer

if TYPE_CHECKING:
    from slowwave.consolidation.proposals import Source, Window

    from .verifier import Verifier

# How many proposals are checked before they are applied: a moment's work.
TOGETHER = 16

_One = TypeVar("_One")


@dataclass(frozen=True)
class Job:
    """A window with its memories as they are shown."""

    window: Window
    sources: tuple[Source, ...]


class Answers(Protocol):
    """The answers that models gave, kept in the file: nothing is paid for twice."""

    def find(self, key: str) -> Answer | None:
        """Return the kept answer to a question."""

    def keep(self, answers: Sequence[KeptAnswer]) -> None:
        """Keep answers, all of them or none."""


class Writer(Protocol):
    """Decides what becomes of windows."""

    @property
    def name(self) -> str:
        """`extractive`, or `model`."""

    @property
    def model(self) -> str | None:
        """The model's name, None without one."""

    @property
    def checker(self) -> str | None:
        """The name of the model that gives second opinions, None without one."""

    @property
    def refused(self) -> str | None:
        """Why the model refuses every call; None if it does not, or was not asked."""

    @property
    def key(self) -> str | None:
        """The hash of the model and of what it is told; None without one."""

    def make_ready(self) -> None:
        """Load what writing needs. Raises `ModelError` if a model cannot be asked."""

    def write(
        self, jobs: Sequence[Job], verifier: Verifier, answers: Answers
    ) -> Iterator[Sequence[VerifiedProposal | AskedWindow]]:
        """Return what comes of the windows, as much at once as there is; then it may have to wait.

        A window comes behind the proposals that were made of it. Raises nothing for a single
        failure.
        """


class BuiltInWriter:
    """Nobody to ask: all that is written is part of the plan already."""

    name = "extractive"
    model = None
    checker = None
    refused = None
    key = None

    def make_ready(self) -> None:
        """Need nothing."""

    def write(
        self, jobs: Sequence[Job], verifier: Verifier, answers: Answers
    ) -> Iterator[Sequence[VerifiedProposal | AskedWindow]]:
        """Yield nothing: without a model a plan has no windows."""
        yield from ()


def portions(several: Sequence[_One], size: int) -> Iterator[Sequence[_One]]:
    """Return so many at a time."""
    return (several[start : start + size] for start in range(0, len(several), size))


def accepted_or_rejected(
    proposal: Proposal, sources: Sequence[Source], verifier: Verifier
) -> VerifiedProposal:
    """Return a planned draft as accepted, yet to be applied, or as rejected with reasons."""
    faults = verifier.faults(proposal, sources)
    if faults:
        return VerifiedProposal(proposal, "rejected", "; ".join(one.why for one in faults))
    return VerifiedProposal(proposal, "planned")
