"""Calls under way: so many at a time, and the next one leaves the moment another has come back.

Each call under way has a thread, and the thread that ends one makes the next: no call waits until
somebody has looked at what another brought, nor until a thread has started.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import partial
from queue import Empty, SimpleQueue
from threading import Lock
from typing import Generic

from slowwave.consolidation.proposals import Usage
from slowwave.consolidation.runtime.threads import start_in_thread
from slowwave.store.model_answers import Answer

from .interface import Call, CallFailed, Model, ModelRefuses
from .question import Made, Question
from .usage_limits import LimitReached, PendingCall, UsageMeter

# Reason of later calls, once a model has refused for good: the first call has the full one.
_REFUSED_BEFORE = "not asked, since the model refuses every call"


@dataclass(frozen=True)
class CompletedCall(Generic[Made]):
    """A question that is no longer under way: its answer, or why there is none."""

    question: Question[Made]
    outcome: Answer | BaseException
    # What was used for it, whether or not an answer came.
    used: Usage


class Dispatcher(Generic[Made]):
    """The questions that wait for their call, and the calls under way. Safe in threads."""

    def __init__(self, model: Model, meter: UsageMeter, most: int) -> None:
        """Take how many calls may be under way at one time."""
        self._model = model
        self._meter = meter
        self._most = most
        self._lock = Lock()
        self._waiting: deque[Question[Made]] = deque()
        self._flying: dict[PendingCall, Question[Made]] = {}
        self._completed: SimpleQueue[CompletedCall[Made]] = SimpleQueue()
        # Why nothing is asked any more.
        self.refused: str | None = None
        self._closed = False

    @property
    def waiting(self) -> int:
        """How many questions wait for their call."""
        return len(self._waiting)

    @property
    def is_idle(self) -> bool:
        """Whether nothing waits and nothing is under way; what came of it may lie there still."""
        with self._lock:
            return not self._waiting and not self._flying

    def ask(self, question: Question[Made], first: bool = False) -> None:
        """Queue a question, first or last."""
        with self._lock:
            if first:
                self._waiting.appendleft(question)
            else:
                self._waiting.append(question)
            self._send()

    def completed(self, seconds: float) -> Iterator[CompletedCall[Made]]:
        """Yield what has come, and if nothing has, wait for it so long."""
        with suppress(Empty):
            yield self._completed.get(timeout=seconds) if seconds else self._completed.get_nowait()
            while True:
                yield self._completed.get_nowait()

    def give_up_what_takes_too_long(self) -> None:
        """Wait no longer for calls whose time is over; a thread ends when its server lets go."""
        with self._lock:
            for pending in list(self._flying):
                why = self._overdue(pending)
                if why is not None:
                    pending.given_up = str(why)
                    pending.lose()
                    self._complete(pending, why)
            self._send()

    def close(self) -> None:
        """Send nothing more. Without the lock: an interrupted thread may still hold it."""
        self._closed = True

    def _send(self) -> None:
        """Start as many calls as may be under way. The caller holds the lock."""
        while (call := self._next()) is not None:
            start_in_thread(partial(self._call, call))

    def _next(self) -> Call | None:
        """Return the next call, if one may begin, as under way. The caller holds the lock."""
        while self._waiting and len(self._flying) < self._most and not self._closed:
            question = self._waiting[0]
            try:
                if self.refused is not None:
                    raise LimitReached(_REFUSED_BEFORE)
                most_tokens = self._model.limit(question.most_tokens)
                pending = self._meter.begin(question.estimate, most_tokens)
            except LimitReached as spent:
                # Those under way may leave room: they count with the most they can take.
                if self._flying:
                    return None
                self._completed.put(CompletedCall(self._waiting.popleft(), spent, Usage()))
            else:
                self._flying[pending] = self._waiting.popleft()
                return Call(question.form, question.messages, pending)
        return None

    def _call(self, first: Call) -> None:
        """Make a call, and the next one after it, until there is none."""
        call: Call | None = first
        while call is not None:
            outcome: Answer | BaseException
            try:
                outcome = self._model.ask(call)
            except BaseException as error:  # noqa: BLE001 - it is reported in place of the answer
                outcome = error
            with self._lock:
                if call.pending in self._flying:  # otherwise it was given up
                    self._complete(call.pending, outcome)
                call = self._next()
                # Of a budget one call may leave room for several.
                self._send()

    def _complete(self, pending: PendingCall, outcome: Answer | BaseException) -> None:
        """Record what a call used. The caller holds the lock."""
        answer = None if isinstance(outcome, BaseException) else outcome
        last = _used(pending.requests, answer)
        self._meter.end(pending, last)
        used = last + pending.wasted
        if isinstance(outcome, ModelRefuses):
            if self.refused is None:
                self.refused = str(outcome)
            else:
                outcome = LimitReached(_REFUSED_BEFORE)
        # An answer that did not come may be charged for: nobody here knows how much.
        used = replace(used, cost_usd=None) if pending.lost else used
        self._completed.put(CompletedCall(self._flying.pop(pending), outcome, used))

    def _overdue(self, pending: PendingCall) -> LimitReached | CallFailed | None:
        out_of_time = self._meter.out_of_time()
        if out_of_time is not None:
            return LimitReached(out_of_time)
        most = self._model.patience_s
        if pending.seconds > most:
            return CallFailed(f"the model did not answer within {most:g} seconds")
        return None


def _used(requests: int, answer: Answer | None) -> Usage:
    if answer is None:
        return Usage(calls=requests)
    # What was answered without a request was known before.
    return Usage(
        requests, int(not requests), answer.prompt_tokens, answer.completion_tokens, answer.cost_usd
    )
