"""One call of a model through litellm: forms of output, retries, prices, and what may go wrong."""

from __future__ import annotations

import os
import re
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import TYPE_CHECKING, Any

from slowwave.consolidation.errors import ModelError
from slowwave.store.ledger import Answer

from . import prompts
from .estimates import Question
from .prompts import Messages

if TYPE_CHECKING:
    import tenacity

# litellm waits 6,000 s by default; a draft that takes longer than this will not come.
TIMEOUT_S = 60.0
# Of a rate limit, a server's error or a broken connection: how often it is tried, waiting in
# between from one second on, twice as long each time.
ATTEMPTS = 3
FIRST_WAIT_S = 1.0
# A server that is asked to wait for longer than this is tried again all the same.
LONGEST_WAIT_S = 30.0
# Answers that every other question would get, too: no key, no permission, no such model.
_REFUSES_ALL = (401, 403, 404)
# What servers understand of structured output, in the order in which it is tried.
_FORMS_OF_OUTPUT = ("json_schema", "json_object", "none")
# Variables of the environment with such a name hold secrets; a shorter value is none.
_SECRET = re.compile(r"KEY|TOKEN|SECRET|PASSWORD")
_SHORTEST_SECRET = 8


class CallFailed(Exception):
    """One call failed for good. Its message says how."""


class ModelRefuses(CallFailed):
    """The model will refuse every other call, too: the key is wrong, or there is no such model."""


@dataclass(frozen=True)
class Call:
    """One question on its way to the model."""

    question: Question
    messages: Messages
    # Of the answer.
    most_tokens: int
    # Called before each request. What it raises ends the call.
    permit: Callable[[], None]
    # Gives how long it may go on, in seconds; None is without limit.
    seconds_left: Callable[[], float | None]


@dataclass(frozen=True)
class Endpoint:
    """Where a model is reached. `model` is litellm's name for it."""

    model: str
    api_base: str | None = None
    timeout_s: float = TIMEOUT_S
    first_wait_s: float = FIRST_WAIT_S


def open_model(endpoint: Endpoint) -> Model:
    """Load litellm and give the model.

    Raises `ModelError` if litellm does not know the model or a key is missing.
    """
    # Else litellm fetches a price list and reads any .env it finds, at its import.
    os.environ["LITELLM_LOCAL_MODEL_COST_MAP"] = "True"
    os.environ["LITELLM_LOCAL_ANTHROPIC_BETA_HEADERS"] = "True"
    os.environ["LITELLM_MODE"] = "PRODUCTION"
    import litellm

    litellm.suppress_debug_info = True
    litellm.telemetry = False
    missing = _missing_keys(endpoint, litellm)
    if missing and endpoint.api_base is None:
        raise ModelError(
            f"There is no key for the model '{endpoint.model}'.", f"Set {' or '.join(missing)}."
        )
    # A server of one's own wants no key, but the client wants one to send.
    return Model(endpoint, litellm, "none" if missing else None)


def _missing_keys(endpoint: Endpoint, litellm: Any) -> list[str]:
    try:
        litellm.get_llm_provider(endpoint.model, api_base=endpoint.api_base)
    except litellm.exceptions.BadRequestError as error:
        raise ModelError(
            f"litellm does not know the model '{endpoint.model}'.",
            "Names look like openai/gpt-4o-mini or ollama/llama3.",
        ) from error
    found = litellm.validate_environment(endpoint.model, api_base=endpoint.api_base)
    missing = [] if found["keys_in_environment"] else found["missing_keys"]
    # An address has a default, and who may use a cloud is settled in more ways than by a key.
    return [name for name in missing if "API_KEY" in name]


class Model:
    """Asks one model; remembers which form of structured output it understood."""

    def __init__(self, endpoint: Endpoint, litellm: Any, key: str | None) -> None:
        """Take where it is; `open_model` is the way to one."""
        self._endpoint = endpoint
        self._litellm = litellm
        # None: litellm finds the provider's own in the environment.
        self._key = key
        self._forms: tuple[str, ...] = _FORMS_OF_OUTPUT

    def price(self, prompt_tokens: int, answer_tokens: int) -> float | None:
        """Give the price of so many tokens in USD; None if litellm knows none for the model."""
        try:
            prompt, answer = self._litellm.cost_per_token(
                model=self._endpoint.model,
                prompt_tokens=prompt_tokens,
                completion_tokens=answer_tokens,
            )
        except Exception as error:  # noqa: BLE001 - litellm raises a bare Exception for "no price"
            del error
            return None
        return float(prompt + answer)

    def ask(self, call: Call) -> Answer:
        """Ask, with retries where they can help. Raises `CallFailed`, and what `permit` does."""
        # The base of every error of litellm's; what is named so in litellm is a mere leaf.
        from openai import OpenAIError

        try:
            return self._retrying(call)(self._ask_in_any_form, call)
        except self._litellm.exceptions.Timeout as error:
            raise CallFailed(
                f"the model did not answer within {self._endpoint.timeout_s:g} seconds"
            ) from error
        except OpenAIError as error:
            refuses_all = getattr(error, "status_code", None) in _REFUSES_ALL
            kind = ModelRefuses if refuses_all else CallFailed
            raise kind(f"the model could not be asked: {_first_line(error)}") from error

    def _retrying(self, call: Call) -> tenacity.Retrying:
        import tenacity

        errors = self._litellm.exceptions
        passing = (
            errors.RateLimitError,
            errors.InternalServerError,
            errors.ServiceUnavailableError,
            errors.APIConnectionError,
            errors.BadGatewayError,
            errors.Timeout,
        )
        growing = tenacity.wait_exponential(multiplier=self._endpoint.first_wait_s)

        def waiting(state: tenacity.RetryCallState) -> float:
            asked_for = _retry_after(state.outcome.exception() if state.outcome else None)
            seconds = growing(state) if asked_for is None else min(asked_for, LONGEST_WAIT_S)
            left = call.seconds_left()
            # No need to wait for a moment at which nothing may be sent any more.
            return seconds if left is None else max(0.0, min(seconds, left))

        return tenacity.Retrying(
            retry=tenacity.retry_if_exception_type(passing),
            wait=waiting,
            stop=tenacity.stop_after_attempt(ATTEMPTS),
            reraise=True,
        )

    def _ask_in_any_form(self, call: Call) -> Answer:
        *forms, last = self._forms
        for form in forms:
            with suppress(self._litellm.exceptions.BadRequestError):
                return self._ask_once(call, form)
        return self._ask_once(call, last)

    def _ask_once(self, call: Call, form: str) -> Answer:
        call.permit()
        response = self._litellm.completion(
            model=self._endpoint.model,
            messages=call.messages,
            api_base=self._endpoint.api_base,
            api_key=self._key,
            timeout=self._endpoint.timeout_s,
            max_tokens=call.most_tokens,
            temperature=0,
            max_retries=0,
            num_retries=0,
            drop_params=True,
            **_response_format(form, call.question),
        )
        if not response.choices:
            raise CallFailed("the model sent no answer")
        self._forms = _FORMS_OF_OUTPUT[_FORMS_OF_OUTPUT.index(form) :]
        usage = getattr(response, "usage", None)
        tokens = (
            getattr(usage, "prompt_tokens", 0) or 0,
            getattr(usage, "completion_tokens", 0) or 0,
        )
        content = response.choices[0].message.content or ""
        return Answer(content, *tokens, self._cost(response, *tokens))

    def _cost(self, response: Any, prompt_tokens: int, answer_tokens: int) -> float | None:
        """Give the price of a call in USD; None if litellm knows no price for the model."""
        try:
            return float(self._litellm.completion_cost(completion_response=response))
        except Exception as error:  # noqa: BLE001 - litellm raises a bare Exception for "no price"
            del error
            # A server may answer under a name that has no price where the one asked for has.
            return self.price(prompt_tokens, answer_tokens)


def _response_format(form: str, question: Question) -> dict[str, Any]:
    if form == "none":
        return {}
    shape = prompts.schema(question)
    if form == "json_object":  # the spelling of llama.cpp's server
        return {"response_format": {"type": "json_object", "schema": shape}}
    return {
        "response_format": {
            "type": "json_schema",
            "json_schema": {"name": question, "schema": shape},
        }
    }


def _retry_after(error: BaseException | None) -> float | None:
    """Give the seconds that a server asks to wait, None if it does not say."""
    headers = getattr(error, "litellm_response_headers", None) or {}
    text = str(headers.get("retry-after", "")).strip()
    if re.fullmatch(r"\d+(\.\d+)?", text):
        return float(text)
    try:
        moment = parsedate_to_datetime(text)
    except ValueError:
        return None
    if moment.tzinfo is None:
        return None
    return max(0.0, (moment - datetime.now(UTC)).total_seconds())


def _first_line(error: Exception) -> str:
    """Give what an error says, without the keys that a server may have repeated in it."""
    text = str(error).strip() or type(error).__name__
    for name, value in os.environ.items():
        if _SECRET.search(name) and len(value) >= _SHORTEST_SECRET:
            text = text.replace(value, f"${name}")
    return text.splitlines()[0][:300]
