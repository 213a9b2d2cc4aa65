"""Call a served model through litellm: request styles, retries, prices and failures."""

from __future__ import annotations

import os
import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar

from slowwave.consolidation.errors import ModelError
from slowwave.consolidation.runtime.redaction import without_secrets
from slowwave.store.model_answers import Answer

from .answer_forms import RequestStyle, breaks_off, response_format
from .interface import REASONING_FACTOR, limit_with_reasoning
from .known_models import key_variable
from .litellm_client import (
    cost_of,
    is_about_style,
    is_transient,
    load_litellm,
    one_line,
    refuses_all,
    retry_after,
    status_of,
    text_of,
    token_count_of,
    unsent_to,
    why_not_json,
    why_unreadable,
    why_unusable,
)
from .unanswered import NOT_IN_TIME, CallFailed, LimitReached, ModelRefuses, Unanswered
from .usage_limits import Call

if TYPE_CHECKING:
    import tenacity

# litellm's default is 6,000 s; a draft that takes longer than this never arrives.
TIMEOUT_S = 60.0
# Attempts after a rate limit, a server error or a broken connection, with exponential backoff.
ATTEMPTS = 3
FIRST_WAIT_S = 1.0
# The longest wait before a retry; a server that asks for more is not asked again.
MAX_WAIT_S = 30.0
# The shortest timeout of a request, sent when the time is nearly over.
_SHORTEST_TIMEOUT_S = 0.1
# Overhead of a call on a busy machine: 0.4 s were measured.
_OVERHEAD_S = 2.0
# Ollama silently truncates to its context window, and reloads a model to change it.
_MIN_WINDOW = 8_192
# What litellm writes before a server's message, as in "litellm.NotFoundError: OpenAIException - ".
_NAMES_OF_ERRORS = re.compile(r"(?:[\w.]+(?:Error|Exception)(?:: | - ))+")


@dataclass
class Endpoint:
    """A served model. `model` is litellm's name for it.

    It remembers the request style that its server accepts.
    """

    model: str
    api_base: str | None = None
    timeout_s: float = TIMEOUT_S
    first_wait_s: float = FIRST_WAIT_S
    # Servers answer under names of their own choice.
    answered_as: str | None = field(default=None, init=False)
    # Concurrent calls.
    concurrency: ClassVar = 4
    # None until it is opened.
    _litellm: Any = field(default=None, init=False, compare=False, repr=False)

    def open(self) -> Endpoint:
        """Load litellm, once, and return itself.

        Raises `ModelError` if litellm does not know the model or a key is missing.
        """
        if self._litellm is not None:
            return self
        litellm = load_litellm()
        try:
            _, provider, *_ = litellm.get_llm_provider(self.model, api_base=self.api_base)
        except litellm.exceptions.BadRequestError as error:
            raise ModelError(
                f"litellm does not know the model '{self.model}'.",
                "Use a litellm name such as openai/gpt-4o-mini or ollama_chat/qwen3.",
            ) from error
        environment = litellm.validate_environment(self.model, api_base=self.api_base)
        missing_keys = [] if environment["keys_in_environment"] else environment["missing_keys"]
        # Addresses have defaults, and clouds authorize in other ways than by a key.
        missing_keys = [name for name in missing_keys if "API_KEY" in name]
        why = f"No API key is set for the model '{self.model}'."
        # litellm accepts a key of whitespace.
        name = key_variable(provider)
        if environment["keys_in_environment"] and not os.environ.get(name, "-").strip():
            missing_keys, why = [name], f"The variable {name} is empty."
        if missing_keys and self.api_base is None:
            raise ModelError(why, f"Set {' or '.join(missing_keys)}.")
        # A local server needs no key, but the client must send one. None: litellm finds the
        # provider's key in the environment.
        self._key = "none" if missing_keys else None
        # Whether it reasons before it answers, by default; Claude only does so on request.
        is_claude = "claude" in self.model
        self._reasons = not is_claude and bool(litellm.supports_reasoning(self.model))
        self._style = RequestStyle(has_temperature=not self._reasons)
        self._timeout_s = self.timeout_s * (REASONING_FACTOR if self._reasons else 1)
        self._litellm = litellm
        # Looked up once: that there is no price takes as long as a price.
        self._has_price = True
        self._has_price = self.price(1, 1) is not None
        return self

    @property
    def patience_s(self) -> float:
        """The longest that a call may take, in seconds; a server may send a byte at a time."""
        waiting: float = min(MAX_WAIT_S, 2**ATTEMPTS * self.first_wait_s)
        return ATTEMPTS * (self._timeout_s + waiting) + _OVERHEAD_S

    def price(self, prompt_tokens: int, answer_tokens: int) -> float | None:
        """Return what a call costs in USD; None if litellm does not know it."""
        if not self._has_price:
            return None
        try:
            prompt, answer = self._litellm.cost_per_token(
                model=self.model,
                prompt_tokens=prompt_tokens,
                completion_tokens=answer_tokens,
            )
        except Exception:  # noqa: BLE001 - litellm raises a bare Exception for "no price"
            return None
        return float(prompt + answer)

    def limit(self, answer_tokens: int) -> int:
        """Return the token limit, reasoning included, for an answer of a length."""
        return limit_with_reasoning(answer_tokens) if self._reasons else answer_tokens

    def answer(self, call: Call) -> Answer:
        """Ask, with retries, and with twice the limit if the answer is cut off.

        Raises `CallFailed`, and what `permit` raises.
        """
        # Refused styles are not tried again for this call.
        styles = [self._style]
        for is_last in (False, True):
            answer, is_cut_off = self._retrying(call)(self._ask_in_any_style, call, styles)
            if not is_cut_off:
                return answer
            call.spend(answer)
            if not is_last:
                call.raise_limit()
        raise CallFailed(
            f"the answer is cut off, even with the doubled limit of {call.max_tokens} tokens"
        )

    def _retrying(self, call: Call) -> tenacity.Retrying:
        import tenacity

        growing = tenacity.wait_exponential(multiplier=self.first_wait_s)

        def is_worth_waiting(problem: BaseException) -> bool:
            error = problem.__cause__
            is_passing = error is not None and is_transient(error, self._litellm.exceptions)
            return is_passing and (retry_after(error) or 0) <= MAX_WAIT_S

        def waiting(state: tenacity.RetryCallState) -> float:
            problem = state.outcome.exception() if state.outcome else None
            requested = retry_after(problem and problem.__cause__)
            seconds = growing(state) if requested is None else requested
            # Do not wait beyond the deadline.
            return max(0.0, min(seconds, call.meter.seconds_left()))

        return tenacity.Retrying(
            retry=tenacity.retry_if_exception(is_worth_waiting),
            wait=waiting,
            stop=tenacity.stop_after_attempt(ATTEMPTS),
            reraise=True,
        )

    def _ask_in_any_style(self, call: Call, styles: list[RequestStyle]) -> tuple[Answer, bool]:
        """Return an answer, and whether its end is missing; add each simpler style to `styles`."""
        while True:
            try:
                answer = self._ask_once(call, styles[-1])
            except CallFailed as problem:
                error = problem.__cause__
                simpler = styles[-1].simpler(str(error))
                if (
                    error is None
                    or simpler is None
                    or not is_about_style(error, self._litellm.exceptions)
                ):
                    raise
                styles.append(simpler)
            else:
                self._style = styles[-1]
                return answer

    def _ask_once(self, call: Call, style: RequestStyle) -> tuple[Answer, bool]:
        call.permit()
        response = self._response(call, style)
        if not response.choices:
            call.lose()
            raise CallFailed("the model sent no answer")
        choice, usage = response.choices[0], getattr(response, "usage", None)
        text, expected = text_of(choice.message), call.estimate
        tokens = (
            token_count_of(getattr(usage, "prompt_tokens", None), expected.prompt),
            token_count_of(
                getattr(usage, "completion_tokens", None), expected.answer if text else 0
            ),
        )
        answer = Answer(self._clean(text), *tokens, self._cost(response, *tokens))
        if (why := why_unusable(choice, text)) is not None:
            call.spend(answer)
            raise CallFailed(self._clean(why))
        return answer, choice.finish_reason == "length" or breaks_off(answer.answer)

    def _response(self, call: Call, style: RequestStyle) -> Any:
        """Return litellm's response. Raises `Unanswered` from litellm's error."""
        form = call.question.form
        timeout_s = self._timeout(call)
        try:
            return self._litellm.completion(
                model=self.model,
                messages=call.question.messages,
                api_base=self.api_base,
                api_key=self._key,
                timeout=timeout_s,
                max_tokens=call.max_tokens,
                temperature=form.temperature if style.has_temperature else None,
                max_retries=0,
                num_retries=0,
                drop_params=True,
                **response_format(style.output, form),
                **self._window(call),
            )
        except Exception as error:  # a malformed response may break litellm in any way
            # An error status costs nothing; without one the cost is unknown.
            is_free = (status_of(error) or 0) >= 300 or unsent_to(error) is not None
            if not is_free or why_unreadable(error) is not None:
                call.lose()
            call.problem = self._problem_of(error, timeout_s)
            raise call.problem from error

    def _problem_of(self, error: Exception, timeout_s: float) -> Unanswered:
        """Return what a request failed with. timeout_s: how long it was waited for."""
        if (unreadable := why_unreadable(error)) is not None:
            return CallFailed(unreadable)
        if isinstance(error, self._litellm.exceptions.Timeout):
            if timeout_s < self._timeout_s:  # what a limit of time had left
                return LimitReached(NOT_IN_TIME)
            return CallFailed(f"the model did not answer within {timeout_s:g} seconds")
        status = status_of(error)
        if status is not None and 300 <= status < 400:
            return ModelRefuses(
                f"the server redirects (HTTP {status}), and redirects are not followed"
            )
        message, wait = self._message_of(error), retry_after(error) or 0
        if wait > MAX_WAIT_S:
            message += f"; the server asks to wait for {wait:.0f} seconds"
        # Whether the other questions would only be refused, too.
        refuses = refuses_all(error) or wait > MAX_WAIT_S
        return (ModelRefuses if refuses else CallFailed)(message)

    def _window(self, call: Call) -> dict[str, int]:
        """Return Ollama's parameter for a context window that is large enough, a power of two."""
        if not self.model.startswith(("ollama/", "ollama_chat/")):
            return {}
        return {"num_ctx": max(_MIN_WINDOW, 1 << (call.ceiling.total - 1).bit_length())}

    def _timeout(self, call: Call) -> float:
        return max(_SHORTEST_TIMEOUT_S, min(self._timeout_s, call.meter.seconds_left()))

    def _cost(self, response: Any, prompt_tokens: int, answer_tokens: int) -> float | None:
        """Return the price of a call in USD; None if litellm does not know it.

        By the requested model: a server may answer under the name of a cheaper one.
        """
        price = self.price(prompt_tokens, answer_tokens)
        if price is not None:
            return price
        try:
            return cost_of(self._litellm.completion_cost(completion_response=response))
        except Exception:  # noqa: BLE001 - litellm raises a bare Exception for "no price"
            return None

    def _message_of(self, error: Exception) -> str:
        """Return what failed on one line, with an error's status and message, without keys."""
        if (unparsed := why_not_json(error)) is not None:
            return unparsed
        text = self._clean(str(error).strip())
        # litellm appends its own traceback.
        summary = text.partition("Traceback (most recent call last)")[0].strip()
        message = one_line(_NAMES_OF_ERRORS.sub("", summary)) or type(error).__name__
        status = status_of(error)
        if status is not None:
            message = f"HTTP {status}: {message}"
        if (address := unsent_to(error)) is not None:
            message = f"{message.rstrip('.')}, at {self._clean(address)}"
        return f"the call to the model failed: {message}"

    def _clean(self, text: str) -> str:
        return without_secrets(text, self.api_base)
