"""The interface of writers, which turn windows into results, and their answer cache."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

from slowwave.consolidation.proposals import AskedWindow, Result, Source, Usage, Window
from slowwave.store.file import MemoryFile
from slowwave.store.model_answers import Answer, cache_answers, read_answer
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

    # None keeps nothing.
    _file: MemoryFile | None = None
    # The time of new answers; None keeps no new ones.
    _now: datetime | None = None
    # Returns an answer without the secrets that it was not shown, before it is used.
    _masked: Callable[[str, str], str] = lambda answer, _: answer

    def masked(self, answer: str, messages: Sequence[Mapping[str, str]]) -> str:
        """Return an answer as it may be kept. messages: the messages of its question."""
        return self._masked(answer, "\n".join(message["content"] for message in messages))

    def find(self, key: str) -> Answer | None:
        """Return the kept answer to a question."""
        return None if self._file is None else read_answer(self._file, key)

    def keep(self, key: str, model: str, answer: Answer) -> None:
        """Keep the answer of a model to a question."""
        if self._file is not None and self._now is not None:
            cache_answers(self._file, [(key, model, answer)], timestamp(self._now))


class Writer:
    """Turns windows into results. A subclass asks a model; these defaults are without one."""

    # `extractive`, `model` or `agent`; the last two read conversations.
    name: str = "extractive"
    # The names of the model, and of the one that checks its drafts.
    model: str | None = None
    checker: str | None = None
    # The hash of the model and its prompts.
    key: str | None = None

    @property
    def refused(self) -> str | None:
        """Why the model was not called again; None if no call was refused."""
        return None

    @property
    def overspent(self) -> str | None:
        """The usage that exceeds a limit, and the limit; None if none is exceeded."""
        return None

    @property
    def unfinished(self) -> Usage:
        """The usage of questions whose results were not yielded, since the run was interrupted."""
        return Usage()

    def make_ready(self) -> None:
        """Load what writing needs. Raises `ModelError` if the model cannot be asked."""

    def write(
        self, jobs: Sequence[Job], answers: AnswerStore
    ) -> Iterator[Sequence[Result | AskedWindow]]:
        """Yield the results of windows in batches, as answers arrive.

        Each window follows its proposals. A single failure raises nothing.
        """
        yield from ()


class BuiltInWriter(Writer):
    """No model: only the plan's own proposals are written."""
