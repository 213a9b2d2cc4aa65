"""Load litellm, without telemetry and redirects, and read its responses and errors."""

from __future__ import annotations

import logging
import math
import os
import re
import warnings
from collections.abc import Iterator
from json import JSONDecodeError
from threading import Lock
from types import ModuleType
from typing import TYPE_CHECKING, Any

from slowwave.store.conversations.messages import replace_half_pairs

if TYPE_CHECKING:
    import httpx

# Their logs contain whole requests, with the headers that hold the key.
_LOGGERS = ("LiteLLM", "LiteLLM Router", "LiteLLM Proxy", "openai", "httpx", "httpcore")
_LOADING = Lock()
# Read from the environment when litellm is imported, also by a program of the user's.
_ENVIRONMENT = {
    # Otherwise it downloads a price list and reads any .env that it finds.
    "LITELLM_LOCAL_MODEL_COST_MAP": "True",
    "LITELLM_LOCAL_ANTHROPIC_BETA_HEADERS": "True",
    "LITELLM_MODE": "PRODUCTION",
    # Otherwise it logs each call in threads of its own, for a tenth of the time of a call.
    "LOGGING_EXECUTOR_MAX_PENDING_TASKS": "0",
}
# More than any answer, reasoning included; without a limit an answer could exhaust the memory.
MAX_ANSWER_BYTES = 4 * 1024 * 1024
# More than any answer takes, and small enough for SQLite and prices.
_MAX_TOKENS = 10**9
# The longest part of a provider's message that is shown.
_MAX_SHOWN = 300
# Statuses that every other call would get, too: no key, no money, no permission, no such model.
REFUSAL_STATUSES = (401, 402, 403, 404)
# Refusals in the words of providers that send another status: a pattern.
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


def load_litellm() -> Any:
    """Return litellm."""
    # Concurrent imports may each see a half-loaded module.
    with _LOADING:
        os.environ.update(_ENVIRONMENT)
        import litellm

        litellm.suppress_debug_info = True
        litellm.telemetry = False
        for name in _LOGGERS:
            logging.getLogger(name).disabled = True
        # They quote malformed answers.
        warnings.filterwarnings("ignore", category=UserWarning, module=r"pydantic|litellm")
        if litellm.client_session is None:
            _restrict_clients(litellm)
    return litellm


def _restrict_clients(litellm: Any) -> None:
    """Make every client of litellm follow no redirects and limit its answers.

    litellm would follow redirects with the question and, for some providers, with the key, to an
    address that the user did not choose.
    """
    from litellm.llms.custom_httpx.http_handler import HTTPHandler

    create_client = HTTPHandler.create_client

    def create_restricted(handler: HTTPHandler) -> httpx.Client:
        client = create_client(handler)
        client.follow_redirects = False
        limit_answers(client)
        return client

    # No setting reaches the clients of all providers.
    HTTPHandler.create_client = create_restricted  # type: ignore[assignment, method-assign]  # the same, restricted
    litellm.client_session = HTTPHandler().client


class AnswerRefused(Exception):
    """The server's answer was not read to its end. Its message says why."""


def limit_answers(client: httpx.Client) -> None:
    """Make a client refuse answers beyond `MAX_ANSWER_BYTES`, and compressed ones.

    A compressed answer may expand a thousandfold, so none is requested. Reading beyond the limit
    raises `AnswerRefused`, for any status of the response.
    """
    import httpx

    class Limited(httpx.SyncByteStream):
        def __init__(self, stream: Any) -> None:
            self._stream = stream

        def __iter__(self) -> Iterator[bytes]:
            byte_count = 0
            for chunk in self._stream:
                byte_count += len(chunk)
                if byte_count > MAX_ANSWER_BYTES:
                    raise AnswerRefused(
                        f"the server's answer is longer than {MAX_ANSWER_BYTES:,} bytes"
                    )
                yield chunk

        def close(self) -> None:
            self._stream.close()

    def ask_for_plain_text(request: httpx.Request) -> None:
        request.headers["accept-encoding"] = "identity"

    def limit(response: httpx.Response) -> None:
        encoding = response.headers.get("content-encoding", "identity").strip().lower()
        if encoding != "identity":
            raise AnswerRefused("the server compresses its answer although it was asked not to")
        response.stream = Limited(response.stream)

    client.event_hooks = {"request": [ask_for_plain_text], "response": [limit]}


def status_of(error: BaseException) -> int | None:
    """Return the HTTP status that the server sent with an error; None if it sent none.

    litellm's own errors have a status even if the server sent none.
    """
    for cause in _causes(error):
        response = getattr(cause, "response", None)
        if type(cause).__module__.startswith(("openai", "httpx")) and response is not None:
            return int(response.status_code)
    return None


def unsent_to(error: BaseException) -> str | None:
    """Return the address that no request reached; None if the server may have got it."""
    import httpx

    unsent = (
        *(httpx.ConnectError, httpx.ConnectTimeout),
        *(httpx.UnsupportedProtocol, httpx.LocalProtocolError),
    )
    requests = (cause.request for cause in _causes(error) if isinstance(cause, unsent))
    return next((str(request.url.copy_with(query=None)) for request in requests), None)


def why_unreadable(error: BaseException) -> str | None:
    """Return why an answer was refused; None if the error has another cause."""
    return next((str(cause) for cause in _causes(error) if isinstance(cause, AnswerRefused)), None)


def why_not_json(error: BaseException) -> str | None:
    """Return why a successful answer could not be parsed; None if the error has another cause."""
    if status_of(error) is None:
        for cause in _causes(error):
            if isinstance(cause, JSONDecodeError | UnicodeDecodeError):
                is_empty = isinstance(cause, JSONDecodeError) and not cause.doc.strip()
                return f"the server's answer is {'empty' if is_empty else 'not JSON'}"
    return None


def _causes(error: BaseException) -> Iterator[BaseException]:
    seen: set[int] = set()
    cause: BaseException | None = error
    while cause is not None and id(cause) not in seen:
        seen.add(id(cause))
        yield cause
        cause = cause.__cause__ or cause.__context__


def cost_of(reported: Any) -> float | None:
    """Return a reported cost in USD; None if it is unknown or implausible."""
    is_plausible = isinstance(reported, int | float) and math.isfinite(reported) and reported >= 0
    return float(reported) if is_plausible else None


def one_line(text: str) -> str:
    """Return the beginning of a message, as one line."""
    return " ".join(text.split())[:_MAX_SHOWN]


def text_of(message: Any) -> str:
    """Return the text of a message; some providers answer by a tool call."""
    calls = getattr(message, "tool_calls", None) or []
    content = message.content or (calls[0].function.arguments if calls else "")
    # Neither a file nor a question can hold what UTF-8 cannot encode.
    return replace_half_pairs(str(content or ""))


def why_unusable(choice: Any, content: str) -> str | None:
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
    """Return the seconds that a server asks to wait; None if it does not say, or names a date."""
    headers = getattr(error, "litellm_response_headers", None) or {}
    text = str(headers.get("retry-after", "")).strip()
    return float(text) if re.fullmatch(r"\d+(\.\d+)?", text) else None


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
    is_permanent = redirects or why_unreadable(error) is not None or refuses_all(error)
    return isinstance(error, passing) and not is_permanent


def is_about_style(error: BaseException, errors: ModuleType) -> bool:
    """Whether another request style may help: neither the question nor the caller is refused.

    errors: litellm's exceptions module.
    """
    if isinstance(error, errors.InternalServerError):
        return _ABOUT_STYLE.search(str(error)) is not None
    of_the_question = errors.ContentPolicyViolationError, errors.ContextWindowExceededError
    is_refused = isinstance(error, of_the_question) or refuses_all(error)
    is_about_question = _ABOUT_QUESTION.search(str(error)) is not None
    return isinstance(error, errors.BadRequestError) and not is_refused and not is_about_question
