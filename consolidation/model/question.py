"""What any question to a model has: its messages, its key, and the form of its answer."""

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

# The most tokens of an answer beyond what is expected; a model may be wordier than its sources.
ANSWER_MARGIN = 1_000

Made = TypeVar("Made")


class Question(ABC, Generic[Made]):
    """A question; `Made` is what comes of its answer."""

    form: AnswerForm

    def __init__(self, model: str, messages: Messages, estimate: Estimate) -> None:
        """Take the model, the messages, and the estimated tokens."""
        self.messages = messages
        self.estimate = estimate
        self._model = model
        self._is_repeated = False
        # Of what was asked first: an answer that could be read the second time is kept for it.
        self._key = _key(model, messages)

    @abstractmethod
    def handle_answer(self, text: str) -> Steps[Made]:
        """Read the answer, and give what came of it, or what to ask next."""

    @abstractmethod
    def handle_failure(self, state: State, why: str) -> Steps[Made]:
        """Return what comes of it without an answer."""

    @abstractmethod
    def charge(self, used: Usage) -> None:
        """Note what was used for it."""

    @property
    def most_tokens(self) -> int:
        """The most that the answer may have."""
        return 2 * self.estimate.answer + ANSWER_MARGIN

    def kept(self, answers: AnswerStore) -> Answer | None:
        """Return the answer that was paid for before, if it can be read."""
        found = answers.find(self._key)
        return found if found is not None and self.is_readable(found.answer) else None

    def to_keep(self, answer: Answer) -> list[KeptAnswer]:
        """Return what is to be kept of an answer: nothing of one that cannot be read."""
        readable = self.is_readable(answer.answer)
        return [(self._key, self._model, answer)] if readable else []

    def is_readable(self, text: str) -> bool:
        """Whether an answer is in the form that was asked for."""
        try:
            parse_answer(self.form.shape, text)
        except UnreadableAnswer:
            return False
        return True

    def _ask_for_form(self, text: str, why: str) -> Steps[Made]:
        """Ask once more for the form."""
        if self._is_repeated:
            yield from self.handle_failure("failed", why)
            return
        self._is_repeated = True
        self.messages = prompts.ask_for_the_form(self.messages, text, why)
        more = count_tokens(text) + count_tokens(why)
        self.estimate = replace(self.estimate, prompt=self.estimate.prompt + more)
        yield self


# What was made of an answer, or what is to be asked next.
Steps = Iterator[Made | Question[Made]]


def _key(model: str, messages: Messages) -> str:
    asked = hashlib.sha256(json_text(messages).encode()).hexdigest()
    return hashlib.sha256(f"{model}\n{asked}".encode()).hexdigest()
