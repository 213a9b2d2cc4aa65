"""Choose the model that a name or a function names, and the writer that asks it."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar

from slowwave.consolidation.errors import ModelError
from slowwave.consolidation.runtime.redaction import without_secrets
from slowwave.consolidation.text.tokens import count_tokens
from slowwave.consolidation.writing.writer import BuiltInWriter, Writer
from slowwave.store.conversations.messages import replace_half_pairs
from slowwave.store.model_answers import Answer

from .cli_model import PREFIX, ProgramModel
from .interface import Model
from .litellm_client import one_line
from .litellm_model import Endpoint
from .model_writer import ModelWriter
from .unanswered import CallFailed
from .usage_limits import Call

# Answers messages, each with `role` and `content`, with JSON of a schema. May be slow, and raise.
AnswersMessages = Callable[[list[dict[str, str]], dict[str, Any]], str]
# What a Python program may pass as a model: its name, or a function.
ModelLike = str | AnswersMessages | Model


@dataclass(frozen=True)
class FunctionModel:
    """A model behind a Python function."""

    function: AnswersMessages
    # A function may not be thread-safe.
    concurrency: ClassVar = 1
    answered_as: ClassVar = None
    # It cannot be stopped.
    patience_s: ClassVar = math.inf

    @property
    def model(self) -> str:
        """The function's name; answers are kept by it."""
        function = self.function
        name = getattr(function, "__qualname__", None) or type(function).__qualname__
        return f"python:{name}"

    def price(self, prompt_tokens: int, answer_tokens: int) -> None:
        """Return None: it is unknown."""

    def limit(self, answer_tokens: int) -> int:
        """Return the length itself."""
        return answer_tokens

    def open(self) -> FunctionModel:
        """Return itself."""
        return self

    def answer(self, call: Call) -> Answer:
        """Call the function. Raises `CallFailed`, and what `permit` raises."""
        call.permit()
        try:
            text = self.function(call.question.messages, call.question.schema)
        except Exception as error:  # the function is not ours
            call.lose()
            message = one_line(without_secrets(str(error)))
            raise CallFailed(f"{type(error).__name__}: {message}".removesuffix(": ")) from error
        if not isinstance(text, str):
            raise CallFailed(f"the function returned a {type(text).__name__}, not text")
        text = without_secrets(replace_half_pairs(text))
        if not text.strip():
            raise CallFailed("the model's answer is empty")
        return Answer(text, call.estimate.prompt, count_tokens(text), None)


def model_of(model: ModelLike, api_base: str | None = None) -> Model:
    """Return the model that is meant. Raises `ModelError` for anything else.

    model: litellm's name, or that of a program (`cli:claude`), or a function, or a `Model`.
    """
    if isinstance(model, str):
        return ProgramModel(model) if model.startswith(PREFIX) else Endpoint(model, api_base)
    if callable(model):
        return FunctionModel(model)
    if hasattr(model, "answer"):
        return model
    raise ModelError(
        f"An object of type {type(model).__name__} is not a model.",
        "Pass a name, or a function of messages and a schema.",
    )


def chosen_writer(
    model: ModelLike | None, checker: ModelLike | None, writer: Writer | None = None
) -> Writer:
    """Return the writer, or one that asks the model, or else the built-in one.

    checker: who checks the drafts; by default the model, "none" for nobody. Raises `ModelError`.
    """
    if model is None and checker is None:
        return writer or BuiltInWriter()
    if model is None or writer is not None:
        raise ModelError("Pass a model, perhaps with a checker, or a writer.")
    models = [model_of(model)]
    if checker not in (None, "none", model):
        models.append(model_of(checker))
    return ModelWriter(
        models[0],
        min(each.concurrency for each in models),
        checker="none" if checker == "none" else models[-1],
    )
