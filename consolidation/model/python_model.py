"""Ask a model through Python: any function, or an object with litellm's `completion`."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, replace
from typing import Any, Protocol, runtime_checkable

from slowwave.consolidation.errors import ModelError
from slowwave.consolidation.runtime.redaction import without_secrets
from slowwave.consolidation.text.token_count import count_tokens
from slowwave.store.conversations.messages import replace_half_pairs
from slowwave.store.model_answers import Answer

from .interface import Opener, Terms
from .litellm_model import Endpoint
from .responses import cost_of, one_line, read_completion
from .unanswered import CallFailed
from .usage_limits import PendingCall

# Answers messages, each with `role` and `content`, with JSON of a schema. May be slow, and raise.
AnswersMessages = Callable[[list[dict[str, str]], dict[str, Any]], str]


@runtime_checkable
class CompletesMessages(Protocol):
    """An object with litellm's `completion`, such as its `Router`."""

    def completion(self, model: str, messages: Any) -> Any:
        """Return litellm's response."""


# What a Python program may pass as a model: its name, a function, or an object.
ModelLike = str | AnswersMessages | CompletesMessages | Opener


@dataclass(frozen=True)
class FunctionModel:
    """A model behind a function. It is its own opener."""

    # Answers are kept by this name.
    model: str
    # Makes an answer to a call.
    respond: Callable[[PendingCall], Answer]
    # Concurrent calls; a function may not be thread-safe.
    concurrency: int = 1
    answered_as: str | None = field(default=None, init=False)

    @classmethod
    def calling(cls, function: AnswersMessages) -> FunctionModel:
        """Return a model that calls a function."""

        def respond(call: PendingCall) -> Answer:
            text = function(call.question.messages, call.question.schema)
            if not isinstance(text, str):
                raise CallFailed(f"the function returned a {type(text).__name__}, not text")
            text = replace_half_pairs(text)
            return Answer(text, call.estimate.prompt, count_tokens(text), None)

        named = getattr(function, "__qualname__", None) or type(function).__qualname__
        return cls(f"python:{named}", respond)

    @classmethod
    def completing(cls, served: CompletesMessages, model: str | None = None) -> FunctionModel:
        """Return a model that calls `completion` of an object. model: by default its first."""
        name = model or next(iter(_names_of(served)), None)
        if name is None:
            raise ModelError(
                f"The {type(served).__name__} does not list its models.",
                "Use FunctionModel.completing(it, NAME).",
            )

        def respond(call: PendingCall) -> Answer:
            response = served.completion(model=name, messages=call.question.messages)
            found = read_completion(response, call)
            if found.unusable is not None:
                raise CallFailed(without_secrets(found.unusable))
            charged = (getattr(response, "_hidden_params", None) or {}).get("response_cost")
            tokens = found.prompt_tokens, found.answer_tokens
            return Answer(found.text, *tokens, cost_of(charged))

        return cls(f"python:{type(served).__name__}/{name}", respond, Endpoint.concurrency)

    @property
    def terms(self) -> Terms:
        """No price, and no limit: a function cannot be stopped."""
        return Terms(lambda prompt, answer: None, lambda tokens: tokens, math.inf)

    def open(self) -> FunctionModel:
        """Return itself."""
        return self

    def ask(self, call: PendingCall) -> Answer:
        """Call the function. Raises `CallFailed`, and what `permit` raises."""
        call.permit()
        try:
            answer = self.respond(call)
        except CallFailed:
            raise
        except Exception as error:  # the function is not ours
            call.lose()
            message = one_line(without_secrets(str(error)))
            raise CallFailed(f"{type(error).__name__}: {message}".removesuffix(": ")) from error
        cleaned = without_secrets(answer.answer)
        if not cleaned.strip():
            raise CallFailed("the model's answer is empty")
        return replace(answer, answer=cleaned)


def _names_of(served: CompletesMessages) -> Iterable[str]:
    """Return the names of a router's models, in their order."""
    models = getattr(served, "model_list", None)
    if not isinstance(models, list):
        return ()
    return [model["model_name"] for model in models if isinstance(model, dict)]
