"""The interface of a model, and two models behind it: the writer, and the checker of its drafts."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

from slowwave.store.model_answers import Answer

from .usage_limits import PendingCall


@dataclass(frozen=True)
class Models:
    """litellm's names of the writing model and the checking model, if any."""

    writer: str
    checker: str | None


class Model(Protocol):
    """Answers calls: a served model, or a recording of one. Thread-safe."""

    @property
    def patience_s(self) -> float:
        """The longest that a call may take."""

    def price(self, prompt_tokens: int, answer_tokens: int) -> float | None:
        """Return the price of these tokens in USD; None if it is unknown."""

    def limit(self, answer_tokens: int) -> int:
        """Return the token limit, reasoning included, for an answer of this length."""

    def ask(self, call: PendingCall) -> Answer:
        """Ask a call's question. Raises `CallFailed`, and what `PendingCall.permit` raises."""


@dataclass(frozen=True)
class ModelWithChecker:
    """A model whose drafts another model checks: each price and limit is the higher of the two."""

    writer: Model
    checker: Model

    @property
    def patience_s(self) -> float:
        """The longest that a call may take."""
        return max(self.writer.patience_s, self.checker.patience_s)

    def price(self, prompt_tokens: int, answer_tokens: int) -> float | None:
        """Return the higher price; None if either is unknown."""
        price = self.writer.price(prompt_tokens, answer_tokens)
        checker_price = self.checker.price(prompt_tokens, answer_tokens)
        return None if price is None or checker_price is None else max(price, checker_price)

    def limit(self, answer_tokens: int) -> int:
        """Return the higher token limit for an answer of this length."""
        return max(self.writer.limit(answer_tokens), self.checker.limit(answer_tokens))

    def ask(self, call: PendingCall) -> Answer:
        """Ask the model that the question is for. Raises what that model raises."""
        model = self.checker if call.question.kind == "check" else self.writer
        return model.ask(call)
