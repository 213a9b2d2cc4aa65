"""The interface of a model, and two models behind it: the writer, and the checker of its drafts."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Protocol

from slowwave.store.model_answers import Answer

from . import prompts
from .usage_limits import PendingCall, Price

# Reasoning tokens come before the answer and are charged. OpenAI advises to reserve 25,000; the
# questions here are a page long.
REASONING_FACTOR = 4
_MIN_REASONING = 4_000


@dataclass(frozen=True)
class Models:
    """The names of the writing model and the checking model, if any."""

    writer: str
    checker: str | None
    # Returns a name with the model that its answers name, for the lineage.
    full_name: Callable[[str], str] = field(default=str, compare=False)

    @property
    def authors(self) -> tuple[str, str | None]:
        """The full names of both."""
        return self.full_name(self.writer), self.checker and self.full_name(self.checker)

    @property
    def key(self) -> str:
        """The hash of the model, of a different checker, and of the prompts of a night."""
        checker = "" if self.checker == self.writer else f"\n{self.checker}"
        instructions = "\n".join(map(prompts.prompt, ("write", "notes", "check", "repair")))
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


def limit_with_reasoning(answer_tokens: int) -> int:
    """Return the token limit for an answer of a model that reasons."""
    return max(REASONING_FACTOR * answer_tokens, answer_tokens + _MIN_REASONING)


class Model(Protocol):
    """Answers calls: a served model, or a recording of one. Thread-safe."""

    @property
    def terms(self) -> Terms:
        """The prices and limits."""

    def ask(self, call: PendingCall) -> Answer:
        """Ask a call's question. Raises `CallFailed`, and what `PendingCall.permit` raises."""


class Opener(Protocol):
    """A way to a model that is not opened yet: an address, a program, or a function."""

    @property
    def model(self) -> str:
        """The model's name."""

    @property
    def concurrency(self) -> int:
        """The maximum number of concurrent calls, unless the user chooses another."""

    @property
    def answered_as(self) -> str | None:
        """The name that its last answer gave the model; None if it gave none."""

    def open(self) -> Model:
        """Return the model. Raises `ModelError` if it cannot be asked."""


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
            known_prices = [price for price in prices if price is not None]
            return max(known_prices) if len(known_prices) == len(prices) else None

        return Terms(
            price,
            lambda answer_tokens: max(writer.limit(answer_tokens), checker.limit(answer_tokens)),
            max(writer.patience_s, checker.patience_s),
        )

    def ask(self, call: PendingCall) -> Answer:
        """Ask the model that the question is for. Raises what that model raises."""
        return (self.checker if call.question.kind == "check" else self.writer).ask(call)
