"""The interface of models, and what the writer and the checker of its drafts have in common."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Protocol

from slowwave.store.model_answers import Answer

from . import prompts
from .usage_limits import Call

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


def limit_with_reasoning(answer_tokens: int) -> int:
    """Return the token limit for an answer of a model that reasons."""
    return max(REASONING_FACTOR * answer_tokens, answer_tokens + _MIN_REASONING)


class Model(Protocol):
    """Answers calls: a served model, a program, or a Python function. Thread-safe."""

    @property
    def model(self) -> str:
        """The model's name."""

    @property
    def concurrency(self) -> int:
        """The maximum number of concurrent calls, unless the user chooses another."""

    @property
    def answered_as(self) -> str | None:
        """The name that its last answer gave the model; None if it gave none."""

    @property
    def patience_s(self) -> float:
        """The longest that a call may take, in seconds; open it first."""

    def price(self, prompt_tokens: int, answer_tokens: int) -> float | None:
        """Return what a call costs in USD; None if it is unknown. Open it first."""

    def limit(self, answer_tokens: int) -> int:
        """Return the token limit, reasoning included, for an answer of a length; open it first."""

    def open(self) -> Model:
        """Return itself, ready to be asked. Raises `ModelError` if it cannot be asked."""

    def answer(self, call: Call) -> Answer:
        """Ask a call's question. Raises `CallFailed`, and what `Call.permit` raises."""
