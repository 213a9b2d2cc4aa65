"""Why a question has no answer."""

from __future__ import annotations

from typing import Literal

NOT_IN_TIME = "the model did not answer in time"


class Unanswered(Exception):
    """A question has no usable answer. Its message says why."""

    state: Literal["failed", "skipped"] = "failed"


class LimitReached(Unanswered):
    """A usage limit prevents another request."""

    state = "skipped"


class CallFailed(Unanswered):
    """A call failed after all retries."""


class ModelRefuses(CallFailed):
    """No other call would be answered: a wrong key or model, or a server that asks to wait."""


class UnreadableAnswer(Unanswered):
    """An answer does not have the requested form."""

    def __init__(self, why: str, text: str) -> None:
        super().__init__(why)
        self.text = text
