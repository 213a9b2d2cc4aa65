"""The interface of a model: a call in, an answer or an error out."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

from slowwave.store.model_answers import Answer

from .answer_forms import AnswerForm
from .prompts import Messages
from .usage_limits import PendingCall


class CallFailed(Exception):
    """A call failed after all retries. Its message says why."""


class ModelRefuses(CallFailed):
    """The model refuses every call: the key is wrong, or the model does not exist."""


@dataclass(frozen=True)
class Call:
    """One question on its way to the model."""

    form: AnswerForm
    messages: Messages
    # Its limits and its usage.
    pending: PendingCall


class Model(Protocol):
    """Answers calls: a served model, or a recording of one. Thread-safe."""

    @property
    def patience_s(self) -> float:
        """The longest that a call may take."""

    def price(self, prompt_tokens: int, answer_tokens: int) -> float | None:
        """Return the price of these tokens in USD; None if it is unknown."""

    def limit(self, answer_tokens: int) -> int:
        """Return the token limit, reasoning included, for an answer of this length."""

    def ask(self, call: Call) -> Answer:
        """Ask. Raises `CallFailed`, and what `PendingCall.permit` raises."""

    def note_kept(self, messages: Messages, answer: Answer) -> None:
        """Note an answer that was found in the memory file instead of being asked."""
