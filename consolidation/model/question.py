"""The base of all questions to a model: messages, key, and form of the answer."""

from __future__ import annotations

import hashlib
from abc import ABC, abstractmethod
from collections.abc import Iterator
from dataclasses import replace
from typing import Generic, TypeVar

from slowwave.consolidation.planning.estimates import Estimate
from slowwave.consolidation.proposals import State, Usage
from slowwave.consolidation.text.token_count import count_tokens
from slowwave.consolidation.writing.answer_store import AnswerStore
from slowwave.store.model_answers import Answer, KeptAnswer
from slowwave.store.records import json_text

from . import prompts
from .answer_forms import AnswerForm
from .parsing import UnreadableAnswer, parse_answer
from .prompts import Messages

# Tokens allowed beyond the expected answer; a model may be wordier than its sources.
ANSWER_MARGIN = 1_000

Made = TypeVar("Made")


class Question(ABC, Generic[Made]):
    """A question; `Made` is the type of its results."""

    form: AnswerForm

    def __init__(self, model: str, messages: Messages, estimate: Estimate) -> None:
        """Take the model, the messages, and the estimated tokens."""
        self.messages = messages
        self.estimate = estimate
        self._model = model
        self._is_repeated = False
        # Of the first messages, also for an answer that was readable the second time only.
        self._key = _key(model, messages)

    @abstractmethod
    def handle_answer(self, text: str) -> Steps[Made]:
        """Yield the results of an answer, or the next questions."""

    @abstractmethod
    def handle_failure(self, state: State, why: str) -> Steps[Made]:
        """Yield the results without an answer."""

    @abstractmethod
    def charge(self, used: Usage) -> None:
        """Add usage for the question."""

    @property
    def most_tokens(self) -> int:
        """The token limit of the answer."""
        return 2 * self.estimate.answer + ANSWER_MARGIN

    def kept(self, answers: AnswerStore) -> Answer | None:
        """Return a kept answer, if it is readable."""
        found = answers.find(self._key)
        return found if found is not None and self.is_readable(found.answer) else None

    def to_keep(self, answer: Answer) -> list[KeptAnswer]:
        """Return the answer to keep, if it is readable."""
        readable = self.is_readable(answer.answer)
        return [(self._key, self._model, answer)] if readable else []

    def is_readable(self, text: str) -> bool:
        """Whether an answer has the requested form."""
        try:
            parse_answer(self.form.shape, text)
        except UnreadableAnswer:
            return False
        return True

    def _ask_to_reformat(self, text: str, why: str) -> Steps[Made]:
        """Ask again in the requested form, once."""
        if self._is_repeated:
            yield from self.handle_failure("failed", why)
            return
        self._is_repeated = True
        self.messages = prompts.ask_to_reformat(self.messages, text, why)
        more = count_tokens(text) + count_tokens(why)
        self.estimate = replace(self.estimate, prompt=self.estimate.prompt + more)
        yield self


# The results of an answer, or the next questions.
Steps = Iterator[Made | Question[Made]]


def _key(model: str, messages: Messages) -> str:
    asked = hashlib.sha256(json_text(messages).encode()).hexdigest()
    return hashlib.sha256(f"{model}\n{asked}".encode()).hexdigest()
