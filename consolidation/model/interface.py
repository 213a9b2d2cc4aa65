"""The interface of a model, and two models behind it: the writer, and the checker of its drafts."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

from slowwave.store.model_answers import Answer

from . import prompts
from .usage_limits import PendingCall, Price


@dataclass(frozen=True)
class Models:
    """litellm's names of the writing model and the checking model, if any."""

    writer: str
    checker: str | None

    @property
    def key(self) -> str:
        """The hash of the model, of a different checker, and of the prompts."""
        checker = "" if self.checker == self.writer else f"\n{self.checker}"
        instructions = "\n".join(map(prompts.prompt, ("write", "check", "repair")))
        identity = f"{self.writer}{checker}\n{instructions}"
        return hashlib.sha256(identity.encode()).hexdigest()


@dataclass(frozen=True)
class Terms:
    """The prices and limits of a model's calls."""

    price: Price
    # Returns the token limit, reasoning included, for an answer of a length.
    limit: Callable[[int], int]
    # The longest that a call may take, in seconds.
    patience_s: float


class Model(Protocol):
    """Answers calls: a served model, or a recording of one. Thread-safe."""

    @property
    def terms(self) -> Terms:
        """The prices and limits."""

    def ask(self, call: PendingCall) -> Answer:
        """Ask a call's question. Raises `CallFailed`, and what `PendingCall.permit` raises."""


@dataclass(frozen=True)
class ModelWithChecker:
    """A model whose drafts another model checks: each price and limit is the higher of the two."""

    writer: Model
    checker: Model

    @property
    def terms(self) -> Terms:
        """The higher prices and limits."""
        writer, checker = self.writer.terms, self.checker.terms

        def price(prompt_tokens: int, answer_tokens: int) -> float | None:
            prices = [terms.price(prompt_tokens, answer_tokens) for terms in (writer, checker)]
            known = [price for price in prices if price is not None]
            return max(known) if len(known) == len(prices) else None

        return Terms(
            price,
            lambda answer_tokens: max(writer.limit(answer_tokens), checker.limit(answer_tokens)),
            max(writer.patience_s, checker.patience_s),
        )

    def ask(self, call: PendingCall) -> Answer:
        """Ask the model that the question is for. Raises what that model raises."""
        model = self.checker if call.question.kind == "check" else self.writer
        return model.ask(call)
