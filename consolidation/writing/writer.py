"""The interface of writers, which turn windows into results, and their answer cache."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Protocol

from slowwave.consolidation.proposals import AskedWindow, Result, Source, Usage, Window
from slowwave.store.file import MemoryFile
from slowwave.store.model_answers import Answer, KeptAnswer, keep_answers, read_answer
from slowwave.store.records import timestamp

# The number of results that are checked before they are applied.
BATCH = 16
# The name of the model if an agent answers the questions.
AGENT = "agent"


@dataclass(frozen=True)
class Job:
    """A window with its memories as a model is shown them."""

    window: Window
    sources: tuple[Source, ...]


@dataclass(frozen=True)
class AnswerStore:
    """Answers of models in the memory file, kept so that nothing is paid for twice."""

    _file: MemoryFile
    # The time of new answers; None keeps no new ones.
    _now: datetime | None = None
    # Returns an answer without the secrets that it was not shown, before it is used.
    _masked: Callable[[str, str], str] = lambda answer, _: answer

    def masked(self, answer: str, messages: Sequence[Mapping[str, str]]) -> str:
        """Return an answer as it may be kept. messages: the messages of its question."""
        return self._masked(answer, "\n".join(message["content"] for message in messages))

    def find(self, key: str) -> Answer | None:
        """Return the kept answer to a question."""
        return read_answer(self._file, key)

    def keep(self, answers: Sequence[KeptAnswer]) -> None:
        """Keep answers, all of them or none."""
        if self._now is not None:
            keep_answers(self._file, answers, timestamp(self._now))


class Writer(Protocol):
    """Turns windows into results."""

    @property
    def name(self) -> str:
        """`extractive`, `model`, or `agent`; the last two read conversations."""

    @property
    def model(self) -> str | None:
        """The model's name; None without one."""

    @property
    def checker(self) -> str | None:
        """The name of the model that checks the drafts; None without one."""

    @property
    def refused(self) -> str | None:
        """Why the model was not called again; None if no call was refused."""

    @property
    def overspent(self) -> str | None:
        """The usage that exceeds a limit, and the limit; None if none is exceeded."""

    @property
    def unfinished(self) -> Usage:
        """The usage of questions whose results were not yielded, since the run was interrupted."""

    @property
    def key(self) -> str | None:
        """The hash of the model and its prompts; None without one."""

    def make_ready(self) -> None:
        """Load what writing needs. Raises `ModelError` if the model cannot be asked."""

    def write(
        self, jobs: Sequence[Job], answers: AnswerStore
    ) -> Iterator[Sequence[Result | AskedWindow]]:
        """Yield the results of windows in batches, as answers arrive.

        Each window follows its proposals. A single failure raises nothing.
        """


class BuiltInWriter:
    """No model: only the plan's own proposals are written."""

    name = "extractive"
    model = None
    checker = None
    refused = None
    overspent = None
    unfinished = Usage()
    key = None

    def make_ready(self) -> None:
        """Do nothing."""

    def write(
        self, jobs: Sequence[Job], answers: AnswerStore
    ) -> Iterator[Sequence[Result | AskedWindow]]:
        """Yield nothing: without a model a plan has no windows."""
        yield from ()
