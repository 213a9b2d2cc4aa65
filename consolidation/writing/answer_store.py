"""Where a run keeps the answers of models."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from datetime import datetime

from slowwave.store.file import MemoryFile
from slowwave.store.model_answers import Answer, KeptAnswer, keep_answers, read_answer
from slowwave.store.records import timestamp


class AnswerStore:
    """Answers of models in the memory file, kept so that nothing is paid for twice."""

    def __init__(
        self,
        file: MemoryFile,
        now: datetime | None = None,
        masked: Callable[[str, str], str] = lambda answer, _: answer,
    ) -> None:
        """Take the file, and the time of new answers; None keeps no new ones.

        masked: returns an answer without the secrets that it was not shown, before it is used.
        """
        self._file = file
        self._now = now
        self._masked = masked

    def masked(self, answer: str, asked: Sequence[Mapping[str, str]]) -> str:
        """Return an answer as it may be kept. asked: the messages of its question."""
        return self._masked(answer, "\n".join(message["content"] for message in asked))

    def find(self, key: str) -> Answer | None:
        """Return the kept answer to a question."""
        return read_answer(self._file, key)

    def keep(self, answers: Sequence[KeptAnswer]) -> None:
        """Keep answers, all of them or none."""
        if self._now is not None:
            keep_answers(self._file, answers, timestamp(self._now))
