"""litellm, loaded without telemetry, without redirects and without log lines."""

from __future__ import annotations

import logging
import warnings
from collections.abc import Iterator
from threading import Lock
from typing import TYPE_CHECKING, Any

from .answer_limit import AnswerRefused, limit_answers

if TYPE_CHECKING:
    import httpx

# Their logs show whole requests, with the headers that hold the key.
_LOGGERS = ("LiteLLM", "LiteLLM Router", "LiteLLM Proxy", "openai", "httpx", "httpcore")
_LOADING = Lock()


def load_litellm() -> Any:
    """Return litellm.

    What it reads from the environment at its import is set by `cli/terminal/interpreter.py`.
    """
    # Two threads that import it at once may each see half of it.
    with _LOADING:
        import litellm

        litellm.suppress_debug_info = True
        litellm.telemetry = False
        for name in _LOGGERS:
            logging.getLogger(name).disabled = True
        # They quote answers that are not of the form that was expected.
        warnings.filterwarnings("ignore", category=UserWarning, module=r"pydantic|litellm")
        if litellm.client_session is None:
            _restrict_clients(litellm)
    return litellm


def _restrict_clients(litellm: Any) -> None:
    """Have every client of litellm follow no redirects and read no answer without a limit.

    litellm follows redirects, with the question and, for some providers, with the key: nothing is
    sent to an address that the user did not name, though a server says so.
    """
    from litellm.llms.custom_httpx.http_handler import HTTPHandler

    create_client = HTTPHandler.create_client

    def create_restricted(handler: HTTPHandler) -> httpx.Client:
        client = create_client(handler)
        client.follow_redirects = False
        limit_answers(client)
        return client

    # There is no setting that reaches the clients of all providers.
    HTTPHandler.create_client = create_restricted  # type: ignore[assignment, method-assign]  # the same, restricted
    litellm.client_session = HTTPHandler().client


def status_of(error: BaseException) -> int | None:
    """Return the status that the server itself sent with an error; None if it sent none.

    litellm gives each of its own errors a status, whether or not one came.
    """
    for one in _chain(error):
        response = getattr(one, "response", None)
        if type(one).__module__.startswith(("openai", "httpx")) and response is not None:
            return int(response.status_code)
    return None


def why_unreadable(error: BaseException) -> str | None:
    """Return why the server's answer was not read to its end; None if that is not the error."""
    return next((str(one) for one in _chain(error) if isinstance(one, AnswerRefused)), None)


def _chain(error: BaseException) -> Iterator[BaseException]:
    seen: set[int] = set()
    one: BaseException | None = error
    while one is not None and id(one) not in seen:
        seen.add(id(one))
        yield one
        one = one.__cause__ or one.__context__
