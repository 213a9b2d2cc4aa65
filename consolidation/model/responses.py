"""Read a server's responses and errors: text, usage, retries, refusals."""

from __future__ import annotations

import math
import re
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from types import ModuleType
from typing import Any, NamedTuple

from slowwave.store.conversations.messages import replace_half_pairs

from .litellm_client import status_of
from .unanswered import CallFailed
from .usage_limits import PendingCall

# More than any answer takes, and small enough for SQLite and prices.
_MAX_TOKENS = 10**9
# The longest part of a provider's message that is shown.
_MAX_SHOWN = 300
# Statuses that every other call would get, too: no key, no money, no permission, no such model.
REFUSAL_STATUSES = (401, 402, 403, 404)
# The same, in the words of providers that send another status: a pattern.
REFUSAL_WORDS = (
    r"insufficient_quota|credit balance|not a valid model|invalid model|model_not_found|"
    r"api key not valid|invalid api key"
)
_REFUSAL = re.compile(REFUSAL_WORDS, re.IGNORECASE)
# Refusals of the question, which another request style cannot fix. litellm knows some.
_ABOUT_QUESTION = re.compile(
    r"content[ _](policy|filter|management)|safety system|moderation|"
    r"(context|input|prompt)\b.{0,40}\b(length|size|window|limit|too long)|"
    r"maximum number of tokens",
    re.IGNORECASE,
)
# Refusals of the request style: llama-cpp-python's server sends them with status 500.
_ABOUT_STYLE = re.compile(r"response_format|json_schema")


class Completion(NamedTuple):
    """What a response in OpenAI's form contains."""

    text: str
    prompt_tokens: int
    answer_tokens: int
    is_cut_off: bool
    # Why the text cannot be used; None if it can.
    unusable: str | None


def read_completion(response: Any, call: PendingCall) -> Completion:
    """Return what a response to a call contains. Raises `CallFailed` if there is no answer."""
    if not response.choices:
        call.lose()
        raise CallFailed("the model sent no answer")
    choice = response.choices[0]
    text = _text_of(choice.message)
    usage, expected = getattr(response, "usage", None), call.estimate
    return Completion(
        text,
        token_count_of(getattr(usage, "prompt_tokens", None), expected.prompt),
        token_count_of(getattr(usage, "completion_tokens", None), expected.answer if text else 0),
        choice.finish_reason == "length",
        _why_unusable(choice, text),
    )


def cost_of(reported: Any) -> float | None:
    """Return a reported cost in USD; None if it is unknown or implausible."""
    is_plausible = isinstance(reported, int | float) and math.isfinite(reported) and reported >= 0
    return float(reported) if is_plausible else None


def one_line(text: str) -> str:
    """Return the beginning of a message, as one line."""
    return " ".join(text.split())[:_MAX_SHOWN]


def _text_of(message: Any) -> str:
    """Return the text of a message; some providers answer by a tool call."""
    calls = getattr(message, "tool_calls", None) or []
    content = message.content or (calls[0].function.arguments if calls else "")
    # Neither a file nor a question can hold what UTF-8 cannot encode.
    return replace_half_pairs(str(content or ""))


def _why_unusable(choice: Any, content: str) -> str | None:
    """Return why an answer is unusable; None if it may be used."""
    refusal = getattr(choice.message, "refusal", None) or (
        getattr(choice.message, "provider_specific_fields", None) or {}
    ).get("refusal")
    if refusal := str(refusal or "").strip():
        return f"the model will not answer: {refusal.splitlines()[0][:_MAX_SHOWN]}"
    if choice.finish_reason == "content_filter":
        return "the provider's filter withheld the answer"
    if not content.strip() and choice.finish_reason != "length":
        return "the model's answer is empty"
    return None


def retry_after(error: BaseException | None) -> float | None:
    """Return the seconds that a server asks to wait; None if it does not say."""
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


def token_count_of(reported: Any, expected: int) -> int:
    """Return the number of tokens that a server reports, or the expected one if implausible."""
    if not isinstance(reported, int) or reported <= 0:
        return expected
    return min(reported, _MAX_TOKENS)


def refuses_all(error: BaseException) -> bool:
    """Whether every other call would fail in the same way."""
    if getattr(error, "status_code", None) in REFUSAL_STATUSES:
        return True
    return _REFUSAL.search(str(error)) is not None


def is_transient(error: BaseException, errors: ModuleType) -> bool:
    """Whether the same call may succeed later. errors: litellm's exceptions module."""
    passing = (
        errors.RateLimitError,
        errors.InternalServerError,
        errors.ServiceUnavailableError,
        errors.APIConnectionError,
        errors.BadGatewayError,
        errors.Timeout,
    )
    redirects = 300 <= (status_of(error) or 0) < 400
    return isinstance(error, passing) and not redirects and not refuses_all(error)


def is_beyond_style(error: Exception, errors: ModuleType) -> bool:
    """Whether no other request style would help: the question or the caller is refused.

    errors: litellm's exceptions module.
    """
    if isinstance(error, errors.InternalServerError):
        return _ABOUT_STYLE.search(str(error)) is None
    of_the_question = errors.ContentPolicyViolationError, errors.ContextWindowExceededError
    is_about_question = _ABOUT_QUESTION.search(str(error)) is not None
    return is_about_question or isinstance(error, of_the_question) or refuses_all(error)
