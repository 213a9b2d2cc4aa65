"""Two models behind one interface: the writer, and the checker of its drafts."""

from __future__ import annotations

from dataclasses import dataclass

from slowwave.store.model_answers import Answer

from .interface import Call, Model
from .prompts import Messages, prompt


@dataclass(frozen=True)
class Models:
    """litellm's names of the writing model and the checking model, if any."""

    writer: str
    checker: str | None


class ModelWithChecker:
    """A model whose drafts another model checks."""

    def __init__(self, writer: Model, checker: Model) -> None:
        """Take both; each price and limit is the higher of the two."""
        self._writer = writer
        self._checker = checker

    @property
    def patience_s(self) -> float:
        """The longest that a call may take."""
        return max(self._writer.patience_s, self._checker.patience_s)

    def price(self, prompt_tokens: int, answer_tokens: int) -> float | None:
        """Return the higher price; None if either is unknown."""
        prices = [model.price(prompt_tokens, answer_tokens) for model in self._both]
        known = [price for price in prices if price is not None]
        return max(known) if len(known) == len(prices) else None

    def limit(self, answer_tokens: int) -> int:
        """Return the higher token limit for an answer of this length."""
        return max(model.limit(answer_tokens) for model in self._both)

    def ask(self, call: Call) -> Answer:
        """Ask the model that the question is for. Raises what that model raises."""
        return self._for(call.messages).ask(call)

    def note_kept(self, messages: Messages, answer: Answer) -> None:
        """Pass a kept answer on to the model that the question was for."""
        self._for(messages).note_kept(messages, answer)

    @property
    def _both(self) -> tuple[Model, Model]:
        return self._writer, self._checker

    def _for(self, messages: Messages) -> Model:
        return self._checker if messages[0]["content"] == prompt("check") else self._writer
