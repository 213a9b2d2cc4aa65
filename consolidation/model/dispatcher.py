"""Run calls concurrently, up to a maximum, in threads.

The thread that completes a call starts the next one, so that no call waits for the results of
another to be read.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from queue import Empty, SimpleQueue
from threading import Lock
from typing import Any

from slowwave.consolidation.proposals import Usage
from slowwave.consolidation.runtime.threads import start_in_thread
from slowwave.store.model_answers import Answer

from .interface import Terms
from .question import Question
from .unanswered import NOT_IN_TIME, CallFailed, LimitReached, ModelRefuses, Unanswered
from .usage_limits import PendingCall, UsageMeter, usage_of

# The reason of calls after a permanent refusal; the first refused call has the full one.
_REFUSED_BEFORE = "not asked, because an earlier call was refused"


@dataclass(frozen=True)
class CompletedCall:
    """A question whose call has ended, with the answer or the error."""

    question: Question[Any]
    outcome: Answer | BaseException
    # The usage, whether or not an answer arrived.
    used: Usage


class Dispatcher:
    """The queued questions and the calls in flight. Thread-safe."""

    def __init__(
        self,
        ask: Callable[[PendingCall], Answer],
        terms: Terms,
        meter: UsageMeter,
        max_calls: int,
    ) -> None:
        """Take what asks a model, its terms, and the maximum number of calls in flight."""
        self._ask = ask
        self._terms = terms
        self._meter = meter
        self._max_calls = max_calls
        self._lock = Lock()
        self._queue: deque[Question[Any]] = deque()
        self._in_flight: set[PendingCall] = set()
        self._completed: SimpleQueue[CompletedCall] = SimpleQueue()
        # Why calls have stopped.
        self.refused: str | None = None
        self._closed = False

    @property
    def queued(self) -> int:
        """The number of queued questions."""
        return len(self._queue)

    def ask(self, question: Question[Any], first: bool = False) -> None:
        """Queue a question, first or last."""
        with self._lock:
            (self._queue.appendleft if first else self._queue.append)(question)
            self._send()

    def completed(self, seconds: float) -> Iterator[CompletedCall]:
        """Yield completed calls; wait up to `seconds` for the first."""
        with suppress(Empty):
            yield self._completed.get(timeout=seconds) if seconds else self._completed.get_nowait()
            while True:
                yield self._completed.get_nowait()

    def abandon_overdue(self) -> None:
        """Abandon overdue calls; a thread that cannot be stopped ends when its server responds."""
        with self._lock:
            for pending in list(self._in_flight):
                why = self._overdue(pending)
                if why is not None:
                    pending.abandon(str(why))
                    pending.lose()
                    self._complete(pending, why)
            self._send()

    def close(self) -> None:
        """Stop starting calls, and stop those in flight.

        Without the lock: an interrupted thread may hold it.
        """
        self._closed = True
        for pending in list(self._in_flight):
            pending.abandon("the run ended")

    def unfinished(self) -> Usage:
        """Return the usage of calls that nobody collected; those in flight are estimated."""
        with self._lock:
            in_flight = [
                Usage(pending.requests) + pending.spent + pending.estimated
                for pending in self._in_flight
                if pending.requests
            ]
            return sum((*in_flight, *(call.used for call in self.completed(0))), start=Usage())

    def _send(self) -> None:
        """Start as many calls as are allowed. The caller holds the lock."""
        while (pending := self._next()) is not None:
            start_in_thread(partial(self._call, pending))

    def _next(self) -> PendingCall | None:
        """Return the next call, now in flight, or None. The caller holds the lock."""
        while self._queue and len(self._in_flight) < self._max_calls and not self._closed:
            question = self._queue[0]
            try:
                if self.refused is not None:
                    raise LimitReached(_REFUSED_BEFORE)
                pending = self._meter.begin(question, self._terms.limit(question.max_tokens))
            except LimitReached as spent:
                # Calls in flight count with their maximum, so they may leave room.
                if self._in_flight:
                    return None
                self._completed.put(CompletedCall(self._queue.popleft(), spent, Usage()))
            else:
                self._queue.popleft()
                self._in_flight.add(pending)
                return pending
        return None

    def _call(self, pending: PendingCall) -> None:
        """Make a call, and start those that it leaves room for."""
        outcome: Answer | BaseException
        try:
            outcome = self._ask(pending)
        except BaseException as error:  # noqa: BLE001 - it is reported in place of the answer
            outcome = error
        with self._lock:
            if pending in self._in_flight:  # otherwise it was abandoned
                self._complete(pending, outcome)
            self._send()

    def _complete(self, pending: PendingCall, outcome: Answer | BaseException) -> None:
        """Record a completed call. The caller holds the lock."""
        requests = pending.requests
        if isinstance(outcome, BaseException):
            last = Usage(calls=requests)
        else:
            # An answer without a request came from a recording.
            last = usage_of(outcome, requests, cached=int(not requests))
        self._meter.end(pending, last)
        if isinstance(outcome, ModelRefuses):
            if self.refused is None:
                self.refused = str(outcome)
            else:
                outcome = LimitReached(_REFUSED_BEFORE)
        used = last + pending.spent
        self._in_flight.remove(pending)
        self._completed.put(CompletedCall(pending.question, outcome, used))

    def _overdue(self, pending: PendingCall) -> Unanswered | None:
        out_of_time = self._meter.out_of_time()
        if out_of_time is not None:
            pending.problem = pending.problem or LimitReached(NOT_IN_TIME)
            return pending.ended_by(out_of_time)
        patience_s = self._terms.patience_s
        if pending.seconds > patience_s:
            return CallFailed(f"the model did not answer within {patience_s:g} seconds")
        return None
