"""Two models as one: what writes, and what gives the second opinions."""

from __future__ import annotations

from dataclasses import dataclass

from slowwave.store.model_answers import Answer

from .answer_forms import AnswerForm
from .interface import Call, Model
from .prompts import Messages, form_of


@dataclass(frozen=True)
class Models:
    """litellm's names of the model that is asked, and of the one for second opinions, if any."""

    writer: str
    checker: str | None


class ModelWithSecondOpinions:
    """A model that has another one give the second opinions."""

    def __init__(self, writer: Model, checker: Model) -> None:
        """Take both; prices are the dearer one's, and limits of a call the more patient one's."""
        self._of: dict[AnswerForm, Model] = {
            "groups": writer,
            "opinions": checker,
            "experience": writer,
            "memories": writer,
        }

    @property
    def patience_s(self) -> float:
        """How long a call may take at the most."""
        return max(one.patience_s for one in self._of.values())

    def price(self, prompt_tokens: int, answer_tokens: int) -> float | None:
        """Return the price of the dearer; None if one of them is not known."""
        prices = [one.price(prompt_tokens, answer_tokens) for one in self._of.values()]
        known = [one for one in prices if one is not None]
        return max(known) if len(known) == len(prices) else None

    def limit(self, answer_tokens: int) -> int:
        """Return the most tokens to allow for an answer of so many."""
        return max(one.limit(answer_tokens) for one in self._of.values())

    def ask(self, call: Call) -> Answer:
        """Ask whom the question is for. Raises what that model does."""
        return self._of[call.form].ask(call)

    def note_kept(self, messages: Messages, answer: Answer) -> None:
        """Pass a kept answer on to the model that the question was for."""
        self._of[form_of(messages)].note_kept(messages, answer)
