"""Load litellm without telemetry, redirects and log lines, and with a limit on answers."""

from __future__ import annotations

import logging
import os
import sys
import warnings
from collections.abc import Iterator
from json import JSONDecodeError
from threading import Lock
from typing import TYPE_CHECKING, Any

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


def load_litellm() -> Any:
    """Return litellm."""
    # Concurrent imports may each see a half-loaded module.
    with _LOADING:
        os.environ.update(_ENVIRONMENT)
        try:
            import litellm
        except BaseException:
            # Such as an interrupt: a second import of a half-imported package fails.
            for name in [name for name in sys.modules if name.partition(".")[0] == "litellm"]:
                del sys.modules[name]
            raise
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
            read = 0
            for chunk in self._stream:
                read += len(chunk)
                if read > MAX_ANSWER_BYTES:
                    raise AnswerRefused(
                        f"the server's answer is longer than {MAX_ANSWER_BYTES} bytes"
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


def was_sent(error: BaseException) -> bool:
    """Whether a request that failed may have reached the server."""
    import httpx

    unsent = (
        *(httpx.ConnectError, httpx.ConnectTimeout),
        *(httpx.UnsupportedProtocol, httpx.LocalProtocolError),
    )
    return not any(isinstance(cause, unsent) for cause in _causes(error))


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
