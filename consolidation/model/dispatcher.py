"""Run calls concurrently, up to a maximum, in threads.

The thread that completes a call makes the next one, so that no call waits for the results of
another to be read, nor for a thread to start.
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

# The reason of calls after a permanent refusal; the first refused call has the full one.
_REFUSED_BEFORE = "not asked, because the model refuses every call"


@dataclass(frozen=True)
class CompletedCall(Generic[Made]):
    """A question whose call has ended, with the answer or the error."""

    question: Question[Made]
    outcome: Answer | BaseException
    # The usage, whether or not an answer arrived.
    used: Usage


class Dispatcher(Generic[Made]):
    """The queued questions and the calls in flight. Thread-safe."""

    def __init__(self, model: Model, meter: UsageMeter, most: int) -> None:
        """Take the maximum number of calls in flight."""
        self._model = model
        self._meter = meter
        self._most = most
        self._lock = Lock()
        self._waiting: deque[Question[Made]] = deque()
        self._in_flight: dict[PendingCall, Question[Made]] = {}
        self._completed: SimpleQueue[CompletedCall[Made]] = SimpleQueue()
        # Why no more calls are made.
        self.refused: str | None = None
        self._closed = False

    @property
    def waiting(self) -> int:
        """The number of queued questions."""
        return len(self._waiting)

    @property
    def is_idle(self) -> bool:
        """Whether nothing is queued or in flight; results may still be unread."""
        with self._lock:
            return not self._waiting and not self._in_flight

    def ask(self, question: Question[Made], first: bool = False) -> None:
        """Queue a question, first or last."""
        with self._lock:
            if first:
                self._waiting.appendleft(question)
            else:
                self._waiting.append(question)
            self._send()

    def completed(self, seconds: float) -> Iterator[CompletedCall[Made]]:
        """Yield completed calls; wait up to `seconds` for the first."""
        with suppress(Empty):
            yield self._completed.get(timeout=seconds) if seconds else self._completed.get_nowait()
            while True:
                yield self._completed.get_nowait()

    def abandon_overdue(self) -> None:
        """Abandon overdue calls; each thread ends when its server responds."""
        with self._lock:
            for pending in list(self._in_flight):
                why = self._overdue(pending)
                if why is not None:
                    pending.abandoned = str(why)
                    pending.lose()
                    self._complete(pending, why)
            self._send()

    def close(self) -> None:
        """Stop starting calls. Without the lock: an interrupted thread may hold it."""
        self._closed = True

    def _send(self) -> None:
        """Start as many calls as are allowed. The caller holds the lock."""
        while (call := self._next()) is not None:
            start_in_thread(partial(self._call, call))

    def _next(self) -> Call | None:
        """Return the next call, now in flight, or None. The caller holds the lock."""
        while self._waiting and len(self._in_flight) < self._most and not self._closed:
            question = self._waiting[0]
            try:
                if self.refused is not None:
                    raise LimitReached(_REFUSED_BEFORE)
                most_tokens = self._model.limit(question.most_tokens)
                pending = self._meter.begin(question.estimate, most_tokens)
            except LimitReached as spent:
                # Calls in flight count with their maximum, so they may leave room.
                if self._in_flight:
                    return None
                self._completed.put(CompletedCall(self._waiting.popleft(), spent, Usage()))
            else:
                self._in_flight[pending] = self._waiting.popleft()
                return Call(question.form, question.messages, pending)
        return None

    def _call(self, first: Call) -> None:
        """Make calls one after another until none is queued."""
        call: Call | None = first
        while call is not None:
            outcome: Answer | BaseException
            try:
                outcome = self._model.ask(call)
            except BaseException as error:  # noqa: BLE001 - it is reported in place of the answer
                outcome = error
            with self._lock:
                if call.pending in self._in_flight:  # otherwise it was abandoned
                    self._complete(call.pending, outcome)
                call = self._next()
                # A cheap call may leave room for more than one.
                self._send()

    def _complete(self, pending: PendingCall, outcome: Answer | BaseException) -> None:
        """Record a completed call. The caller holds the lock."""
        answer = None if isinstance(outcome, BaseException) else outcome
        last = _used(pending.requests, answer)
        self._meter.end(pending, last)
        used = last + pending.wasted
        if isinstance(outcome, ModelRefuses):
            if self.refused is None:
                self.refused = str(outcome)
            else:
                outcome = LimitReached(_REFUSED_BEFORE)
        # A lost answer may be charged, at an unknown price.
        used = replace(used, cost_usd=None) if pending.lost else used
        self._completed.put(CompletedCall(self._in_flight.pop(pending), outcome, used))

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
    # An answer without a request came from a recording.
    return Usage(
        requests, int(not requests), answer.prompt_tokens, answer.completion_tokens, answer.cost_usd
    )
