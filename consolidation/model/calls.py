"""One call of a model through litellm: forms of output, retries, prices, and what may go wrong."""

from __future__ import annotations

import math
import re
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import TYPE_CHECKING, Any

from slowwave.consolidation.errors import ModelError
from slowwave.consolidation.runtime.redaction import without_secrets
from slowwave.store.ledger import Answer

from . import prompts
from .budget import PendingCall
from .prompts import Messages
from .provider import load_litellm, status_of

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
# Of a request that is sent when the time is all but over.
_SHORTEST_TIMEOUT_S = 0.1
# What a call may take besides, where the machine is busy: 0.4 s were seen.
_BESIDES_S = 2.0
# Answers that every other question would get, too: no key, no permission, no such model.
_REFUSES_ALL = (401, 403, 404)
# What servers understand of structured output, in the order in which it is tried.
_FORMS_OF_OUTPUT = ("json_schema", "json_object", "none")
# More than any answer takes; SQLite and prices can still reckon with it.
_MOST_TOKENS = 10**9
# More than any token has on the average of an answer.
_LETTERS_OF_A_TOKEN = 16


class CallFailed(Exception):
    """One call failed for good. Its message says how."""


class ModelRefuses(CallFailed):
    """The model will refuse every other call, too: the key is wrong, or there is no such model."""


@dataclass(frozen=True)
class Call:
    """One question on its way to the model."""

    messages: Messages
    # What it may use, and what is to be told of it.
    pending: PendingCall


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
    litellm = load_litellm()
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
        # To find that out takes as long as a price, and is wanted with each call.
        self._has_price = self._price(1, 1) is not None

    @property
    def patience_s(self) -> float:
        """How long a call may take at the most: a server may answer a byte at a time."""
        waiting = min(LONGEST_WAIT_S, 2**ATTEMPTS * self._endpoint.first_wait_s)
        return float(ATTEMPTS * (self._endpoint.timeout_s + waiting) + _BESIDES_S)

    def price(self, prompt_tokens: int, answer_tokens: int) -> float | None:
        """Give the price of so many tokens in USD; None if litellm knows none for the model."""
        return self._price(prompt_tokens, answer_tokens) if self._has_price else None

    def _price(self, prompt_tokens: int, answer_tokens: int) -> float | None:
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

        forms = list(self._forms)
        try:
            return self._retrying(call)(self._ask_in_any_form, call, forms)
        except self._litellm.exceptions.Timeout as error:
            raise CallFailed(
                f"the model did not answer within {self._timeout(call):g} seconds"
            ) from error
        except OpenAIError as error:
            status = status_of(error)
            if status is not None and 300 <= status < 400:
                raise ModelRefuses(
                    f"the server sends on to another address (HTTP {status}), where nothing is sent"
                ) from error
            refuses_all = getattr(error, "status_code", None) in _REFUSES_ALL
            kind = ModelRefuses if refuses_all else CallFailed
            raise kind(f"the model could not be asked: {self._first_line(error)}") from error

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

        def may_pass(error: BaseException) -> bool:
            return isinstance(error, passing) and not 300 <= (status_of(error) or 0) < 400

        growing = tenacity.wait_exponential(multiplier=self._endpoint.first_wait_s)

        def waiting(state: tenacity.RetryCallState) -> float:
            asked_for = _retry_after(state.outcome.exception() if state.outcome else None)
            seconds = growing(state) if asked_for is None else min(asked_for, LONGEST_WAIT_S)
            left = call.pending.seconds_left()
            # No need to wait for a moment at which nothing may be sent any more.
            return seconds if left is None else max(0.0, min(seconds, left))

        return tenacity.Retrying(
            retry=tenacity.retry_if_exception(may_pass),
            wait=waiting,
            stop=tenacity.stop_after_attempt(ATTEMPTS),
            reraise=True,
        )

    def _ask_in_any_form(self, call: Call, forms: list[str]) -> Answer:
        # A form that was refused is not tried again with this call.
        while len(forms) > 1:
            with suppress(self._litellm.exceptions.BadRequestError):
                return self._ask_once(call, forms[0])
            del forms[0]
        return self._ask_once(call, forms[0])

    def _ask_once(self, call: Call, form: str) -> Answer:
        call.pending.permit()
        response = self._response(call, form)
        if not response.choices:
            call.pending.lose()
            raise CallFailed("the model sent no answer")
        self._forms = _FORMS_OF_OUTPUT[_FORMS_OF_OUTPUT.index(form) :]
        content = str(response.choices[0].message.content or "")
        usage, expected = getattr(response, "usage", None), call.pending.estimate
        tokens = (
            _count(getattr(usage, "prompt_tokens", None), expected.prompt),
            _count(getattr(usage, "completion_tokens", None), expected.answer if content else 0),
        )
        # A server that keeps to no limit must not fill the file: what is cut off is unreadable.
        said = self._clean(content[: call.pending.most_tokens * _LETTERS_OF_A_TOKEN])
        return Answer(said, *tokens, self._cost(response, *tokens))

    def _response(self, call: Call, form: str) -> Any:
        from openai import OpenAIError

        try:
            return self._litellm.completion(
                model=self._endpoint.model,
                messages=call.messages,
                api_base=self._endpoint.api_base,
                api_key=self._key,
                timeout=self._timeout(call),
                max_tokens=call.pending.most_tokens,
                temperature=0,
                max_retries=0,
                num_retries=0,
                drop_params=True,
                **_response_format(form),
            )
        except OpenAIError as error:
            # A server that says no charges nothing; what became of the others nobody knows.
            if (status_of(error) or 0) < 300:
                call.pending.lose()
            raise
        except Exception as error:  # a server's nonsense may break litellm in any way
            call.pending.lose()
            raise CallFailed(f"the model could not be asked: {self._first_line(error)}") from error

    def _timeout(self, call: Call) -> float:
        left = call.pending.seconds_left()
        most = self._endpoint.timeout_s
        return most if left is None else max(_SHORTEST_TIMEOUT_S, min(most, left))

    def _cost(self, response: Any, prompt_tokens: int, answer_tokens: int) -> float | None:
        """Give the price of a call in USD; None if litellm knows no price for the model.

        By the name that was asked for: a server may answer under another, that costs less.
        """
        known = self.price(prompt_tokens, answer_tokens)
        if known is not None:
            return known
        try:
            told = float(self._litellm.completion_cost(completion_response=response))
        except Exception as error:  # noqa: BLE001 - litellm raises a bare Exception for "no price"
            del error
            return None
        return told if math.isfinite(told) and told >= 0 else None

    def _first_line(self, error: Exception) -> str:
        """Give what an error says, without keys."""
        text = self._clean(str(error).strip() or type(error).__name__)
        # litellm puts its own traceback behind what it says.
        said = text.partition("Traceback (most recent call last)")[0].strip()
        return (said or type(error).__name__).splitlines()[0][:300]

    def _clean(self, text: str) -> str:
        return without_secrets(text, self._endpoint.api_base)


def _response_format(form: str) -> dict[str, Any]:
    if form == "none":
        return {}
    shape = prompts.schema()
    if form == "json_object":  # the spelling of llama.cpp's server
        return {"response_format": {"type": "json_object", "schema": shape}}
    return {
        "response_format": {
            "type": "json_schema",
            "json_schema": {"name": "groups", "schema": shape},
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


def _count(told: Any, expected: int) -> int:
    """Give the tokens that a server tells, or those expected where it tells none that can be."""
    if not isinstance(told, int) or told <= 0:
        return expected
    return min(told, _MOST_TOKENS)
