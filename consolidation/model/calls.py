"""Calls of a served model through litellm: request style, retries, prices, possible failures."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from slowwave.consolidation.errors import ModelError
from slowwave.consolidation.proposals import Usage
from slowwave.consolidation.runtime.redaction import without_secrets
from slowwave.store.model_answers import Answer

from .call_errors import is_beyond_style, may_pass, refuses_all
from .interface import Call, CallFailed, ModelRefuses
from .parsing import breaks_off
from .prompts import Messages
from .provider import load_litellm, status_of, why_unreadable
from .responses import retry_after, text_of_response, token_count_of, why_unusable
from .structured import RequestStyle, response_format, temperature_of

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
# The shortest timeout of a request, sent when the time is nearly over.
_SHORTEST_TIMEOUT_S = 0.1
# What a call may take besides, where the machine is busy: 0.4 s were seen.
_BESIDES_S = 2.0
# A model that thinks does so before it answers, and is charged for it: OpenAI advises to begin
# with a reserve of 25,000 tokens; what is asked here is a page long.
_THOUGHTS_TIMES = 4
_LEAST_THOUGHTS = 4_000
# Ollama silently cuts what is longer than its window, and loads a model anew for another.
_LEAST_WINDOW = 8_192
# More than any token has on the average of an answer.
_LETTERS_OF_A_TOKEN = 16


@dataclass(frozen=True)
class _Response:
    """What a server answered to one request."""

    answer: Answer
    # Whether it is without its end.
    cut_off: bool


@dataclass(frozen=True)
class Endpoint:
    """Where a model is reached. `model` is litellm's name for it."""

    model: str
    api_base: str | None = None
    timeout_s: float = TIMEOUT_S
    first_wait_s: float = FIRST_WAIT_S


def open_model(endpoint: Endpoint) -> ServedModel:
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
    return ServedModel(endpoint, litellm, "none" if missing else None)


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


class ServedModel:
    """Asks one model; remembers the style that its server understood."""

    def __init__(self, endpoint: Endpoint, litellm: Any, key: str | None) -> None:
        """Take the endpoint; use `open_model` to make one."""
        self._endpoint = endpoint
        self._litellm = litellm
        # None: litellm finds the provider's own in the environment.
        self._key = key
        self._thinks = _thinks(endpoint.model, litellm)
        self._style = RequestStyle(temperature=None if self._thinks else 0)
        self._timeout_s = endpoint.timeout_s * (_THOUGHTS_TIMES if self._thinks else 1)
        # To find that out takes as long as a price, and is wanted with each call.
        self._has_price = self._price(1, 1) is not None

    @property
    def patience_s(self) -> float:
        """How long a call may take at the most: a server may answer a byte at a time."""
        waiting = min(LONGEST_WAIT_S, 2**ATTEMPTS * self._endpoint.first_wait_s)
        return float(ATTEMPTS * (self._timeout_s + waiting) + _BESIDES_S)

    def price(self, prompt_tokens: int, answer_tokens: int) -> float | None:
        """Return the price of so many tokens in USD; None if litellm knows none for the model."""
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

    def limit(self, answer_tokens: int) -> int:
        """Return the most tokens to allow for an answer of so many: more if the model thinks."""
        if not self._thinks:
            return answer_tokens
        return max(_THOUGHTS_TIMES * answer_tokens, answer_tokens + _LEAST_THOUGHTS)

    def note_kept(self, messages: Messages, answer: Answer) -> None:
        """Ignore answers that were kept."""

    def ask(self, call: Call) -> Answer:
        """Ask, with retries where they can help. Raises `CallFailed`, and what `permit` does."""
        # The base of every error of litellm's; what is named so in litellm is a mere leaf.
        from openai import OpenAIError

        try:
            return self._whole_answer(call)
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
            kind = ModelRefuses if refuses_all(error) else CallFailed
            raise kind(f"the model could not be asked: {self._said_by(error)}") from error

    def _whole_answer(self, call: Call) -> Answer:
        """Ask, and once more with twice the limit if the answer is cut off."""
        # A style that was refused is not tried again with this call.
        styles = [self._style]
        said = self._retrying(call)(self._ask_in_any_style, call, styles)
        if said.cut_off:
            call.pending.waste(_usage(said.answer))
            call.pending.raise_limit()
            said = self._retrying(call)(self._ask_in_any_style, call, styles)
        if said.cut_off:
            call.pending.waste(_usage(said.answer))
            most = call.pending.most_tokens
            raise CallFailed(
                f"the answer breaks off before its end, also with a limit of {most} tokens, "
                "which is twice the first one"
            )
        return said.answer

    def _retrying(self, call: Call) -> tenacity.Retrying:
        import tenacity

        errors = self._litellm.exceptions
        growing = tenacity.wait_exponential(multiplier=self._endpoint.first_wait_s)

        def waiting(state: tenacity.RetryCallState) -> float:
            asked_for = retry_after(state.outcome.exception() if state.outcome else None)
            seconds = growing(state) if asked_for is None else min(asked_for, LONGEST_WAIT_S)
            left = call.pending.seconds_left()
            # No need to wait for a moment at which nothing may be sent any more.
            return seconds if left is None else max(0.0, min(seconds, left))

        return tenacity.Retrying(
            retry=tenacity.retry_if_exception(lambda error: may_pass(error, errors)),
            wait=waiting,
            stop=tenacity.stop_after_attempt(ATTEMPTS),
            reraise=True,
        )

    def _ask_in_any_style(self, call: Call, styles: list[RequestStyle]) -> _Response:
        errors = self._litellm.exceptions
        while True:
            try:
                said = self._ask_once(call, styles[-1])
            except (errors.BadRequestError, errors.InternalServerError) as error:
                simpler = styles[-1].simpler(str(error))
                if simpler is None or is_beyond_style(error, errors):
                    raise
                styles.append(simpler)
            else:
                self._style = styles[-1]
                return said

    def _ask_once(self, call: Call, style: RequestStyle) -> _Response:
        call.pending.permit()
        response = self._response(call, style)
        if not response.choices:
            call.pending.lose()
            raise CallFailed("the model sent no answer")
        choice = response.choices[0]
        # A server that keeps to no limit must not fill the file.
        most = call.pending.most_tokens * _LETTERS_OF_A_TOKEN
        content = text_of_response(choice.message)
        said = self._clean(content[:most])
        tokens = self._tokens(call, response, bool(content))
        answer = Answer(said, *tokens, self._cost(response, *tokens))
        without = why_unusable(choice, content)
        if without is not None:
            call.pending.waste(_usage(answer))
            raise CallFailed(self._clean(without))
        cut_off = choice.finish_reason == "length" or len(content) > most or breaks_off(said)
        return _Response(answer, cut_off)

    def _tokens(self, call: Call, response: Any, answered: bool) -> tuple[int, int]:
        usage, expected = getattr(response, "usage", None), call.pending.estimate
        return (
            token_count_of(getattr(usage, "prompt_tokens", None), expected.prompt),
            token_count_of(
                getattr(usage, "completion_tokens", None), expected.answer if answered else 0
            ),
        )

    def _response(self, call: Call, style: RequestStyle) -> Any:
        from openai import OpenAIError

        try:
            return self._litellm.completion(
                model=self._endpoint.model,
                messages=call.messages,
                api_base=self._endpoint.api_base,
                api_key=self._key,
                timeout=self._timeout(call),
                max_tokens=call.pending.most_tokens,
                temperature=temperature_of(style, call.form),
                max_retries=0,
                num_retries=0,
                drop_params=True,
                **response_format(style.output, call.form),
                **self._window(call),
            )
        except Exception as error:  # a server's nonsense may break litellm in any way
            unreadable = why_unreadable(error)
            # A server that says no charges nothing; what became of the others is unknown.
            if unreadable is not None or (status_of(error) or 0) < 300:
                call.pending.lose()
            if isinstance(error, OpenAIError) and unreadable is None:
                raise
            why = unreadable or f"the model could not be asked: {self._said_by(error)}"
            raise CallFailed(why) from error

    def _window(self, call: Call) -> dict[str, int]:
        """Ask Ollama for a window that holds the question and its answer: some power of two."""
        if not self._endpoint.model.startswith(("ollama/", "ollama_chat/")):
            return {}
        most = call.pending.ceiling.total
        return {"num_ctx": max(_LEAST_WINDOW, 1 << (most - 1).bit_length())}

    def _timeout(self, call: Call) -> float:
        left = call.pending.seconds_left()
        most = self._timeout_s
        return most if left is None else max(_SHORTEST_TIMEOUT_S, min(most, left))

    def _cost(self, response: Any, prompt_tokens: int, answer_tokens: int) -> float | None:
        """Return the price of a call in USD; None if litellm knows no price for the model.

        By the name that was asked for: a server may answer under another, that costs less.
        """
        known = self.price(prompt_tokens, answer_tokens)
        if known is not None:
            return known
        try:
            cost = float(self._litellm.completion_cost(completion_response=response))
        except Exception as error:  # noqa: BLE001 - litellm raises a bare Exception for "no price"
            del error
            return None
        return cost if math.isfinite(cost) and cost >= 0 else None

    def _said_by(self, error: Exception) -> str:
        """Return what an error says, without keys, on one line."""
        text = self._clean(str(error).strip() or type(error).__name__)
        # litellm puts its own traceback behind what it says.
        said = text.partition("Traceback (most recent call last)")[0].strip()
        return " ".join(said.split())[:300] or type(error).__name__

    def _clean(self, text: str) -> str:
        return without_secrets(text, self._endpoint.api_base)


def _thinks(model: str, litellm: Any) -> bool:
    """Whether a model thinks before it answers, unasked."""
    # Claude does so only if it is told to, and that is not done here.
    return "claude" not in model and bool(litellm.supports_reasoning(model))


def _usage(answer: Answer) -> Usage:
    return Usage(0, 0, answer.prompt_tokens, answer.completion_tokens, answer.cost_usd)
