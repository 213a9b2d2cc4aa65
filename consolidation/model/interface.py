"""The interface of a model: a call goes in; an answer comes out, or an error."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

from slowwave.store.model_answers import Answer

from .answer_forms import AnswerForm
from .prompts import Messages
from .usage_limits import PendingCall


class CallFailed(Exception):
    """One call failed for good. Its message says how."""


class ModelRefuses(CallFailed):
    """The model will refuse every other call, too: the key is wrong, or there is no such model."""


@dataclass(frozen=True)
class Call:
    """One question on its way to the model."""

    form: AnswerForm
    messages: Messages
    # What it may use, and what is to be reported of it.
    pending: PendingCall


class Model(Protocol):
    """Answers calls: a served model, or a recording of one. Safe in threads."""

    @property
    def patience_s(self) -> float:
        """How long a call may take at the most."""

    def price(self, prompt_tokens: int, answer_tokens: int) -> float | None:
        """Return the price of so many tokens in USD; None if it is not known."""

    def limit(self, answer_tokens: int) -> int:
        """Return the most tokens to allow, thoughts included, for an answer of so many."""

    def ask(self, call: Call) -> Answer:
        """Ask. Raises `CallFailed`, and what `PendingCall.permit` does."""

    def note_kept(self, messages: Messages, answer: Answer) -> None:
        """Note an answer that was found in the memory file, so that the model was not asked."""
