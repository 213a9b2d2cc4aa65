"""What stands in a server's response, whatever else is wrong with it."""

from __future__ import annotations

import re
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import Any

# More than any answer takes; SQLite and prices can still reckon with it.
_MOST_TOKENS = 10**9
# Of a sentence of the provider's own.
_MOST_SHOWN = 300


def text_of_response(message: Any) -> str:
    """Return what a model said; some are made to answer by the call of a tool."""
    calls = getattr(message, "tool_calls", None) or []
    said = message.content or (calls[0].function.arguments if calls else "")
    # Half a surrogate pair is no UTF-8: no file could hold it, and no question repeat it.
    return str(said or "").encode(errors="replace").decode()


def why_unusable(choice: Any, content: str) -> str | None:
    """Return why nothing in an answer can be used; None if something may be."""
    refusal = _refusal(choice.message)
    if refusal:
        return f"the model will not answer: {refusal.splitlines()[0][:_MOST_SHOWN]}"
    if choice.finish_reason == "content_filter":
        return "the provider's filter withheld the answer"
    if not content.strip() and choice.finish_reason != "length":
        return "the model's answer is empty"
    return None


def _refusal(message: Any) -> str:
    refusal = getattr(message, "refusal", None)
    refusal = refusal or (getattr(message, "provider_specific_fields", None) or {}).get("refusal")
    return str(refusal or "").strip()


def retry_after(error: BaseException | None) -> float | None:
    """Return the seconds that a server asks to wait, None if it does not say."""
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
    """Return the tokens that a server tells, or those expected where it tells none that can be."""
    if not isinstance(reported, int) or reported <= 0:
        return expected
    return min(reported, _MOST_TOKENS)
