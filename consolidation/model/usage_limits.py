"""The usage limits of a run, and the meter that enforces them call by call."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import inf
from threading import RLock
from typing import TYPE_CHECKING, Any, NamedTuple

from slowwave.consolidation.planning.estimates import Estimate
from slowwave.consolidation.proposals import Usage

from .unanswered import LimitReached, Unanswered

if TYPE_CHECKING:
    from slowwave.store.model_answers import Answer

    from .question import Question

# Returns the price in USD for the tokens of a question and an answer; None if it is unknown.
Price = Callable[[int, int], float | None]
# The maximum size of a question, relative to its estimate.
_MAX_GROWTH = 1.25


@dataclass(frozen=True)
class UsageLimits:
    """The maximum usage of a run; None means unlimited. Time in seconds.

    Each request is a call, retries and unanswered ones included. Once a limit is reached no request
    is sent; requests in flight finish, unless the time is over.
    """

    calls: int | None = None
    tokens: int | None = None
    cost_usd: float | None = None
    seconds: float | None = None
    # The name of the limit in USD in messages; None: by its amount.
    budget_name: str | None = None


class Amount(NamedTuple):
    """An amount of usage. None means no limit or, of usage, unknown."""

    calls: float | None
    tokens: float | None
    cost_usd: float | None


class Call:
    """A question on its way to a model: its limits, its requests, and what became of it."""

    # Set when it has ended.
    outcome: Answer | BaseException

    def __init__(self, meter: UsageMeter, question: Question[Any], max_tokens: int) -> None:
        """max_tokens: the limit of the answer."""
        self.meter = meter
        self.question = question
        self.estimate = question.estimate
        self.max_tokens = max_tokens
        # Its maximum, which is reserved meanwhile.
        self.ceiling = Estimate(round(self.estimate.prompt * _MAX_GROWTH), max_tokens)
        self.requests = 0
        # The usage so far; that of a lost answer is estimated, at an unknown cost.
        self.used = Usage()
        # Why it was abandoned; None if it was not.
        self.abandoned: str | None = None
        # What its last request failed with, and its type; None if it did not fail.
        self.problem: Unanswered | None = None
        # Ends a request in flight, if that is possible.
        self.stop: Callable[[], None] | None = None
        self._began = time.monotonic()

    @property
    def estimated(self) -> Usage:
        """The usage of a request without an answer: estimated tokens, at an unknown cost."""
        return Usage(0, 0, self.estimate.prompt, self.estimate.answer, None)

    @property
    def seconds(self) -> float:
        """How long it has been in flight."""
        return time.monotonic() - self._began

    def permit(self) -> None:
        """Permit another request, in any thread. Raises `Unanswered`."""
        if self.abandoned is not None:
            raise LimitReached(self.abandoned)
        # The first request was counted when the call began.
        if self.requests:
            try:
                self.meter.take(self)
            except LimitReached as reached:
                raise self.ended_by(str(reached)) from None
        self.requests += 1

    def ended_by(self, limit: str) -> Unanswered:
        """Return why there is no answer: the server's error, then the limit that was reached."""
        if self.problem is None:
            return LimitReached(limit)
        return type(self.problem)(f"{self.problem}; {limit}")

    def spend(self, answer: Answer) -> None:
        """Add the usage of an unusable answer, in any thread."""
        self._add(usage_of(answer), usage_of(answer))

    def raise_limit(self) -> None:
        """Double the token limit, and restart the time limit."""
        # The answer exceeds the old limit.
        self.estimate = Estimate(self.estimate.prompt, self.max_tokens)
        self.max_tokens *= 2
        self.ceiling = Estimate(self.ceiling.prompt, self.max_tokens)
        self._began = time.monotonic()

    def lose(self) -> None:
        """Add the estimate of a lost answer, which may be charged, in any thread."""
        self._add(self.estimated, self.meter.priced(self.estimate))

    def _add(self, used: Usage, charged: Usage) -> None:
        # What was abandoned is counted as lost already.
        if self.abandoned is None:
            self.used += used
            self.meter.charge(charged)

    def abandon(self, why: str) -> None:
        """Permit no further request, and end the one in flight, in any thread."""
        self.abandoned = why
        if self.stop is not None:
            self.stop()


def usage_of(answer: Answer, calls: int = 0) -> Usage:
    """Return the usage of an answer."""
    return Usage(calls, 0, answer.prompt_tokens, answer.completion_tokens, answer.cost_usd)


class UsageMeter:
    """The usage so far and the calls in flight. Thread-safe.

    A new call counts with its estimate, calls in flight with their maximum, and a lost answer with
    its estimate. So tokens and money are only exceeded by the error of one estimate, and by what a
    server uses beyond its token limits.
    """

    def __init__(self, limits: UsageLimits, price: Price) -> None:
        """Start with no usage, at the current time."""
        self._limits = limits
        self._price = price
        self._began = time.monotonic()
        self._lock = RLock()
        self._calls = 0
        self._used = Usage()
        self._in_flight: list[Call] = []

    def begin(self, call: Call) -> None:
        """Count a new call. Raises `LimitReached` if it is not allowed."""
        with self._lock:
            self.take(call)
            self._in_flight.append(call)

    def take(self, pending: Call) -> None:
        """Count a request of a call. Raises `LimitReached`."""
        with self._lock:
            in_flight = [call.ceiling for call in self._in_flight if call is not pending]
            reached = self.out_of_time()
            if reached is None:
                needed = self._with_reserved(1, [pending.estimate, *in_flight])
                reached = self._reached(needed, pending.estimate)
            if reached is not None:
                raise LimitReached(reached)
            self._calls += 1

    def charge(self, used: Usage) -> None:
        """Count the usage of an answer whose call continues."""
        with self._lock:
            self._used += used

    def end(self, call: Call, outcome: Answer | BaseException) -> None:
        """Replace the estimate of a call by the usage of its last answer."""
        last = Usage(call.requests)
        if not isinstance(outcome, BaseException):
            last = usage_of(outcome, call.requests)
        call.used += last
        with self._lock:
            self._in_flight.remove(call)
            self._used += last
            self._calls -= not call.requests

    def priced(self, size: Estimate) -> Usage:
        """Return the usage of a request, with its price."""
        return Usage(0, 0, size.prompt, size.answer, self._price(size.prompt, size.answer))

    def seconds_left(self) -> float:
        """Return the seconds left to send requests; infinite without a limit."""
        limit = inf if self._limits.seconds is None else self._limits.seconds
        return limit - (time.monotonic() - self._began)

    def cost_left(self, pending: Call) -> float | None:
        """Return the USD that the other calls in flight leave for a call; None means unlimited."""
        limit = self._limits.cost_usd
        if limit is None:
            return None
        with self._lock:
            ceilings = [call.ceiling for call in self._in_flight if call is not pending]
            used = self._with_reserved(0, ceilings).cost_usd
        return None if used is None else max(0.0, limit - used)

    def out_of_time(self) -> str | None:
        """Return the reason if the time is over; None if not."""
        if self.seconds_left() > 0:
            return None
        return _used_up(self._limits.seconds or 0, "second")

    def overspent(self) -> str | None:
        """Return the usage that exceeds a limit, and the limit; None if none is exceeded."""
        used, limits = self._used, self._limits
        tokens = used.prompt_tokens + used.completion_tokens
        if _exceeds(tokens, limits.tokens):
            return f"{tokens:,} tokens, more than the budget of {limits.tokens:,} tokens"
        if _exceeds(used.cost_usd or 0.0, limits.cost_usd):
            return f"{used.cost_usd:.4f} USD, more than the {self._budget_name}"
        return None

    @property
    def _budget_name(self) -> str:
        return self._limits.budget_name or f"budget of {self._limits.cost_usd:g} USD"

    def _with_reserved(self, calls: int, reserved: Sequence[Estimate]) -> Amount:
        """Return the usage with `calls` more, and reservations."""
        used = sum(map(self.priced, reserved), start=self._used)
        tokens = used.prompt_tokens + used.completion_tokens
        return Amount(self._calls + calls, tokens, used.cost_usd)

    def _available(self, needed: Amount) -> Amount:
        """Return how much may be used in all, by a run that needs some."""
        return Amount(self._limits.calls, self._limits.tokens, self._limits.cost_usd)

    def _reached(self, needed: Amount, estimate: Estimate) -> str | None:
        """Return which limit would be exceeded; None if none would be."""
        available, limits = self._available(needed), self._limits
        if _exceeds(needed.calls, available.calls):
            return _used_up(limits.calls or 0, "call")
        if _exceeds(needed.tokens, available.tokens):
            return (
                f"the budget of {limits.tokens:,} tokens has no room for another call of about "
                f"{estimate.total:,} tokens"
            )
        if not _exceeds(needed.cost_usd, available.cost_usd):
            return None
        if needed.cost_usd is None:
            return f"the model's price is unknown, so a {self._budget_name} cannot be enforced"
        price = self._price(estimate.prompt, estimate.answer)
        return f"the {self._budget_name} has no room for another call of about {price:.4f} USD"


MakeMeter = Callable[[UsageLimits, Price], UsageMeter]


def _used_up(limit: float, unit: str) -> str:
    """Return that a limit is reached; of a limit of zero, nothing was used."""
    amount = f"{limit:g} {unit}" if limit == 1 else f"{limit:,.10g} {unit}s"
    return f"the budget of {amount} is used up" if limit else f"the budget is {amount}"


def _exceeds(needed: float | None, limit: float | None) -> bool:
    """Whether usage exceeds a limit; unknown usage does, if there is a limit."""
    return limit is not None and (needed is None or needed > limit)
