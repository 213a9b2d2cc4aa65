"""The answers that models gave, and where a run keeps them."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Protocol

from slowwave.store.file import MemoryFile
from slowwave.store.model_answers import Answer, KeptAnswer, keep_answers, read_answer
from slowwave.store.records import timestamp


class AnswerStore(Protocol):
    """The answers that models gave, kept in the file: nothing is paid for twice."""

    def find(self, key: str) -> Answer | None:
        """Return the kept answer to a question."""

    def keep(self, answers: Sequence[KeptAnswer]) -> None:
        """Keep answers, all of them or none."""


class FileAnswerStore:
    """The answers kept in the file; with a moment, new ones are kept there as of then."""

    def __init__(self, file: MemoryFile, now: datetime | None = None) -> None:
        """Take the file; without a moment nothing is written to it."""
        self._file = file
        self._now = now

    def find(self, key: str) -> Answer | None:
        """Return the kept answer to a question."""
        return read_answer(self._file, key)

    def keep(self, answers: Sequence[KeptAnswer]) -> None:
        """Keep answers, all of them or none."""
        if self._now is not None:
            keep_answers(self._file, answers, timestamp(self._now))
