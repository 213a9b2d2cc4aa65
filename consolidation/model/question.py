"""What any question to a model has: its messages, its key, and the form of its answer."""

from __future__ import annotations

import hashlib
from abc import ABC, abstractmethod
from collections.abc import Iterator
from dataclasses import replace

from slowwave.consolidation.planning.estimates import (
    Estimate,
)
from slowwave.consolidation.proposals import (
    AskedWindow,
    State,
    Usage,
    VerifiedProposal,
)
from slowwave.consolidation.text.token_count import count_tokens
from slowwave.consolidation.writing.answer_store import AnswerStore
from slowwave.consolidation.writing.verifier import Verifier
from slowwave.store.ledger import Answer, KeptAnswer
from slowwave.store.records import json_text

from . import prompts
from .dialogue import WindowDialogue
from .parsing import UnreadableAnswer, parse_answer
from .prompts import AnswerForm, Messages

# The most tokens of an answer beyond what is expected; a model may be wordier than its sources.
ANSWER_MARGIN = 1_000
# What comes of a question: proposals, the end of a window, or what is to be asked next.
NextSteps = Iterator["VerifiedProposal | AskedWindow | Question"]


class Question(ABC):
    """A question on the way of one window."""

    form: AnswerForm

    def __init__(
        self, model: str, dialogue: WindowDialogue, messages: Messages, estimate: Estimate
    ) -> None:
        """Take the model, the messages, and the estimated tokens."""
        self.dialogue = dialogue
        self.messages = messages
        self.estimate = estimate
        self._model = model
        self._is_repeated = False
        # Of what was asked first: an answer that could be read the second time is kept for it.
        self._key = _key(model, messages)

    @abstractmethod
    def handle_answer(self, text: str, verifier: Verifier) -> NextSteps:
        """Read the answer, and give what came of it, or what to ask next."""

    @abstractmethod
    def handle_failure(self, state: State, why: str, verifier: Verifier) -> NextSteps:
        """Return what comes of the window without an answer."""

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
            parse_answer(prompts.ANSWER_FORMS[self.form], text)
        except UnreadableAnswer:
            return False
        return True

    def charge(self, used: Usage) -> None:
        """Note what was used for it."""
        self.dialogue.charge(used)

    def _ask_for_form(self, text: str, why: str, verifier: Verifier) -> NextSteps:
        """Ask once more for the form."""
        if self._is_repeated:
            yield from self.handle_failure("failed", why, verifier)
            return
        self._is_repeated = True
        self.messages = prompts.ask_for_the_form(self.messages, text, why)
        more = count_tokens(text) + count_tokens(why)
        self.estimate = replace(self.estimate, prompt=self.estimate.prompt + more)
        yield self


def _key(model: str, messages: Messages) -> str:
    asked = hashlib.sha256(json_text(messages).encode()).hexdigest()
    return hashlib.sha256(f"{model}\n{asked}".encode()).hexdigest()
