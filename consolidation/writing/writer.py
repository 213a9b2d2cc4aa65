"""Who writes what a plan leaves open: a model, or nobody. Whatever is written is checked first."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

from slowwave.consolidation.proposals import AskedWindow, VerifiedProposal

from .answer_store import AnswerStore

if TYPE_CHECKING:
    from slowwave.consolidation.proposals import Source, Window

# How many proposals are checked before they are applied: a moment's work.
TOGETHER = 16


@dataclass(frozen=True)
class Job:
    """A window with its memories as they are shown."""

    window: Window
    sources: tuple[Source, ...]


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
        """The name of the model that reads the drafts, None without one."""

    @property
    def refused(self) -> str | None:
        """Why the model refuses every call; None if it does not, or was not asked."""

    @property
    def key(self) -> str | None:
        """The hash of the model and of its instructions; None without one."""

    def make_ready(self) -> None:
        """Load what writing needs. Raises `ModelError` if a model cannot be asked."""

    def write(
        self, jobs: Sequence[Job], answers: AnswerStore
    ) -> Iterator[Sequence[VerifiedProposal | AskedWindow]]:
        """Return what comes of the windows, as much at once as there is; then it may have to wait.

        A window comes behind the proposals that were made of it. Raises nothing for a single
        failure.
        """


class BuiltInWriter:
    """No model: everything that is written is already part of the plan."""

    name = "extractive"
    model = None
    checker = None
    refused = None
    key = None

    def make_ready(self) -> None:
        """Need nothing."""

    def write(
        self, jobs: Sequence[Job], answers: AnswerStore
    ) -> Iterator[Sequence[VerifiedProposal | AskedWindow]]:
        """Yield nothing: without a model a plan has no windows."""
        yield from ()
