"""Run calls concurrently, up to a maximum, in threads.

The thread that completes a call starts the next one, so that no call waits for the results of
another to be read.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator
from contextlib import suppress
from functools import partial
from queue import Empty, SimpleQueue
from threading import Lock
from typing import Any

from slowwave.consolidation.proposals import Usage
from slowwave.consolidation.runtime.threads import start_in_thread
from slowwave.store.model_answers import Answer

from .interface import Model
from .question import Question
from .unanswered import NOT_IN_TIME, CallFailed, LimitReached, ModelRefuses, Unanswered
from .usage_limits import Call, UsageMeter

# The reason of calls after a permanent refusal; the first refused call has the full one.
_REFUSED_BEFORE = "not asked, because an earlier call was refused"


class Dispatcher:
    """The queued questions and the calls in flight. Thread-safe."""

    def __init__(
        self,
        answer: Callable[[Call], Answer],
        model_of: Callable[[Question[Any]], Model],
        meter: UsageMeter,
        max_calls: int,
    ) -> None:
        """max_calls: the maximum number of calls in flight."""
        self._answer = answer
        self._model_of = model_of
        self._meter = meter
        self._max_calls = max_calls
        self._lock = Lock()
        self._queue: deque[Question[Any]] = deque()
        self._in_flight: set[Call] = set()
        self._completed: SimpleQueue[Call] = SimpleQueue()
        # Why calls have stopped.
        self.refused: str | None = None
        self._closed = False

    @property
    def queued(self) -> int:
        """The number of queued questions."""
        return len(self._queue)

    def queue(self, question: Question[Any], first: bool = False) -> None:
        """Queue a question, first or last."""
        with self._lock:
            (self._queue.appendleft if first else self._queue.append)(question)
            self._send()

    def completed(self, seconds: float) -> Iterator[Call]:
        """Yield completed calls; wait up to `seconds` for the first."""
        with suppress(Empty):
            yield self._completed.get(timeout=seconds) if seconds else self._completed.get_nowait()
            while True:
                yield self._completed.get_nowait()

    def abandon_overdue(self) -> None:
        """Abandon overdue calls; a thread that cannot be stopped ends when its server responds."""
        with self._lock:
            for call in list(self._in_flight):
                why = self._overdue(call)
                if why is not None:
                    call.lose()
                    call.abandon(str(why))
                    self._complete(call, why)
            self._send()

    def close(self) -> None:
        """Stop starting calls, and stop those in flight.

        Without the lock: an interrupted thread may hold it.
        """
        self._closed = True
        for call in list(self._in_flight):
            call.abandon("the run ended")

    def unfinished(self) -> Usage:
        """Return the usage of calls that nobody collected; those in flight are estimated."""
        with self._lock:
            in_flight = [
                Usage(call.requests) + call.used + call.estimated
                for call in self._in_flight
                if call.requests
            ]
            return sum((*in_flight, *(call.used for call in self.completed(0))), start=Usage())

    def _send(self) -> None:
        """Start as many calls as are allowed. The caller holds the lock."""
        while self._queue and len(self._in_flight) < self._max_calls and not self._closed:
            question = self._queue[0]
            limit = self._model_of(question).limit(question.max_tokens)
            call = Call(self._meter, question, limit)
            try:
                if self.refused is not None:
                    raise LimitReached(_REFUSED_BEFORE)
                self._meter.begin(call)
            except LimitReached as reached:
                # Calls in flight count with their maximum, so they may leave room.
                if self._in_flight:
                    return
                call.outcome = reached
                self._completed.put(call)
            else:
                self._in_flight.add(call)
                start_in_thread(partial(self._call, call))
            self._queue.popleft()

    def _call(self, call: Call) -> None:
        """Make a call, and start those that it leaves room for."""
        outcome: Answer | BaseException
        try:
            outcome = self._answer(call)
        except BaseException as error:  # noqa: BLE001 - it is reported in place of the answer
            outcome = error
        with self._lock:
            if call in self._in_flight:  # otherwise it was abandoned
                self._complete(call, outcome)
            self._send()

    def _complete(self, call: Call, outcome: Answer | BaseException) -> None:
        """Record a completed call. The caller holds the lock."""
        self._meter.end(call, outcome)
        if isinstance(outcome, ModelRefuses):
            if self.refused is None:
                self.refused = str(outcome)
            else:
                outcome = LimitReached(_REFUSED_BEFORE)
        call.outcome = outcome
        self._in_flight.remove(call)
        self._completed.put(call)

    def _overdue(self, call: Call) -> Unanswered | None:
        out_of_time = self._meter.out_of_time()
        if out_of_time is not None:
            call.problem = call.problem or LimitReached(NOT_IN_TIME)
            return call.ended_by(out_of_time)
        patience_s = self._model_of(call.question).patience_s
        if call.seconds <= patience_s:
            return None
        return CallFailed(f"the model did not answer within {patience_s:g} seconds")
