"""One call of a model through litellm: forms of output, retries, prices, and what may go wrong."""

from __future__ import annotations

import os
import re
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

from slowwave.store.ledger import Answer

from . import prompts
from .errors import ModelError
from .proposals import Operation

# litellm waits 6,000 s by default; a draft that takes longer than this will not come.
TIMEOUT_S = 60.0
# Of a rate limit, a server's error or a broken connection: how often it is tried, waiting in
# between from one second on, twice as long each time.
ATTEMPTS = 3
FIRST_WAIT_S = 1.0
# What servers understand of structured output, in the order in which it is tried.
_FORMS_OF_OUTPUT = ("json_schema", "json_object", "none")
# Variables of the environment with such a name hold secrets; a shorter value is none.
_SECRET = re.compile(r"KEY|TOKEN|SECRET|PASSWORD")
_SHORTEST_SECRET = 8

Messages = list[dict[str, str]]
# Takes messages, the operation and the most tokens of the answer; raises `CallFailed`.
Ask = Callable[[Messages, Operation, int], Answer]


class CallFailed(Exception):
    """One call failed for good. Its message says how."""


@dataclass(frozen=True)
class Endpoint:
    """Where a model is reached. `model` is litellm's name for it."""

    model: str
    api_base: str | None = None
    timeout_s: float = TIMEOUT_S
    first_wait_s: float = FIRST_WAIT_S


def open_model(endpoint: Endpoint) -> Ask:
    """Load litellm and give the function that asks the model and gives its answer.

    Raises `ModelError` if litellm does not know the model or a key is missing. The function
    raises `CallFailed`.
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
    return _Caller(endpoint, litellm, "none" if missing else None).ask


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


class _Caller:
    """Asks one model; remembers which form of structured output it understood."""

    def __init__(self, endpoint: Endpoint, litellm: Any, key: str | None) -> None:
        self._endpoint = endpoint
        self._litellm = litellm
        # None: litellm finds the provider's own in the environment.
        self._key = key
        self._forms: tuple[str, ...] = _FORMS_OF_OUTPUT

    def ask(self, messages: Messages, operation: Operation, most_tokens: int) -> Answer:
        """Ask, with retries where they can help. Raises `CallFailed`."""
        import tenacity

        # The base of every error of litellm's; what is named so in litellm is a mere leaf.
        from openai import OpenAIError

        errors = self._litellm.exceptions
        passing = (
            errors.RateLimitError,
            errors.InternalServerError,
            errors.ServiceUnavailableError,
            errors.APIConnectionError,
            errors.BadGatewayError,
            errors.Timeout,
        )
        retrying = tenacity.Retrying(
            retry=tenacity.retry_if_exception_type(passing),
            wait=tenacity.wait_exponential(multiplier=self._endpoint.first_wait_s),
            stop=tenacity.stop_after_attempt(ATTEMPTS),
            reraise=True,
        )
        try:
            return retrying(self._ask_in_any_form, messages, operation, most_tokens)
        except errors.Timeout as error:
            raise CallFailed(
                f"the model did not answer within {self._endpoint.timeout_s:g} seconds"
            ) from error
        except OpenAIError as error:
            raise CallFailed(f"the model could not be asked: {_first_line(error)}") from error

    def _ask_in_any_form(
        self, messages: Messages, operation: Operation, most_tokens: int
    ) -> Answer:
        *forms, last = self._forms
        for form in forms:
            with suppress(self._litellm.exceptions.BadRequestError):
                return self._ask_once(messages, operation, most_tokens, form)
        return self._ask_once(messages, operation, most_tokens, last)

    def _ask_once(
        self, messages: Messages, operation: Operation, most_tokens: int, form: str
    ) -> Answer:
        response = self._litellm.completion(
            model=self._endpoint.model,
            messages=messages,
            api_base=self._endpoint.api_base,
            api_key=self._key,
            timeout=self._endpoint.timeout_s,
            max_tokens=most_tokens,
            temperature=0,
            max_retries=0,
            num_retries=0,
            drop_params=True,
            **_response_format(form, operation),
        )
        if not response.choices:
            raise CallFailed("the model sent no answer")
        self._forms = _FORMS_OF_OUTPUT[_FORMS_OF_OUTPUT.index(form) :]
        usage = getattr(response, "usage", None)
        return Answer(
            response.choices[0].message.content or "",
            getattr(usage, "prompt_tokens", 0) or 0,
            getattr(usage, "completion_tokens", 0) or 0,
            self._cost(response),
        )

    def _cost(self, response: Any) -> float | None:
        """Give the price of a call in USD; None if litellm knows no price for the model."""
        try:
            return float(self._litellm.completion_cost(completion_response=response))
        except Exception as error:  # noqa: BLE001 - litellm raises a bare Exception for "no price"
            del error
            return None


def _response_format(form: str, operation: Operation) -> dict[str, Any]:
    if form == "none":
        return {}
    shape = prompts.schema(operation)
    if form == "json_object":  # the spelling of llama.cpp's server
        return {"response_format": {"type": "json_object", "schema": shape}}
    return {
        "response_format": {
            "type": "json_schema",
            "json_schema": {"name": operation, "schema": shape},
        }
    }


def _first_line(error: Exception) -> str:
    """Give what an error says, without the keys that a server may have repeated in it."""
    text = str(error).strip() or type(error).__name__
    for name, value in os.environ.items():
        if _SECRET.search(name) and len(value) >= _SHORTEST_SECRET:
            text = text.replace(value, f"${name}")
    return text.splitlines()[0][:300]
