"""litellm, loaded without telemetry, without redirects and without log lines."""

from __future__ import annotations

import logging
import warnings
from collections.abc import Iterator
from functools import partialmethod
from threading import Lock
from typing import Any

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
            _follow_no_redirects(litellm)
    return litellm


def _follow_no_redirects(litellm: Any) -> None:
    """Send nothing to an address that the user did not name, though a server says so.

    litellm follows redirects, with the question and, for some providers, with the key.
    """
    from litellm.llms.custom_httpx.http_handler import HTTPHandler

    # There is no setting that reaches the clients of all providers.
    HTTPHandler.__init__ = partialmethod(  # type: ignore[assignment]  # the same, with a default
        HTTPHandler.__init__, follow_redirects=False
    )
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


def _chain(error: BaseException) -> Iterator[BaseException]:
    seen: set[int] = set()
    one: BaseException | None = error
    while one is not None and id(one) not in seen:
        seen.add(id(one))
        yield one
        one = one.__cause__ or one.__context__
