"""What the error of a call means: another try, another request style, or refused for good."""

from __future__ import annotations

import re
from types import ModuleType

from .provider import status_of

# Answers that every other question would get, too: no key, no money, no permission, no such model.
_REFUSES_ALL = (401, 402, 403, 404)
# The same, as providers say it that send another status.
_SAID_TO_REFUSE_ALL = re.compile(
    r"insufficient_quota|credit balance|not a valid model|invalid model|model_not_found|"
    r"api key not valid|invalid api key",
    re.IGNORECASE,
)
# Refusals of what is asked, not of how: no other style would mend them. litellm knows some.
_SAID_OF_THE_QUESTION = re.compile(
    r"content[ _](policy|filter|management)|safety system|moderation|"
    r"(context|input|prompt)\b.{0,40}\b(length|size|window|limit|too long)|"
    r"maximum number of tokens",
    re.IGNORECASE,
)
# A refusal of how it is asked: llama-cpp-python's server sends it as a defect of its own, with 500.
_SAID_OF_THE_STYLE = re.compile(r"response_format|json_schema")


def refuses_all(error: BaseException) -> bool:
    """Whether every other question would get the same answer."""
    if getattr(error, "status_code", None) in _REFUSES_ALL:
        return True
    return _SAID_TO_REFUSE_ALL.search(str(error)) is not None


def may_pass(error: BaseException, errors: ModuleType) -> bool:
    """Whether the same call may succeed in a while. errors: litellm's module of them."""
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
    """Whether no other style of request would help: the question or the caller is refused.

    errors: litellm's module of them.
    """
    if isinstance(error, errors.InternalServerError):
        return _SAID_OF_THE_STYLE.search(str(error)) is None
    of_the_question = errors.ContentPolicyViolationError, errors.ContextWindowExceededError
    said = _SAID_OF_THE_QUESTION.search(str(error)) is not None
    return said or isinstance(error, of_the_question) or refuses_all(error)
