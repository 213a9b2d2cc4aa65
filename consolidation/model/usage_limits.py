"""The usage limits of a run, and the meter that enforces them call by call."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from threading import Lock

from slowwave.consolidation.planning.estimates import Estimate
from slowwave.consolidation.proposals import Usage

from .portions import BudgetOwner, Portion

# Returns the price in USD for the tokens of a question and an answer; None if it is unknown.
Price = Callable[[int, int], float | None]
# The maximum size of a question, relative to its estimate.
_MAX_GROWTH = 1.25


@dataclass(frozen=True)
class UsageLimits:
    """The maximum usage of a run; None is no limit. Time in seconds.

    Each request is a call, retries and unanswered ones included. Once a limit is reached no request
    is sent; requests in flight finish, unless the time is over.
    """

    calls: int | None = None
    tokens: int | None = None
    cost_usd: float | None = None
    seconds: float | None = None


class LimitReached(Exception):
    """A usage limit prevents another request. Its message says which."""


class PendingCall:
    """A call in flight: its estimate, its limits, and its requests."""

    def __init__(self, meter: UsageMeter, estimate: Estimate, most_tokens: int) -> None:
        """Take the estimate, and the token limit of the answer."""
        self._meter = meter
        self.estimate = estimate
        self.most_tokens = most_tokens
        # Its maximum, which is reserved meanwhile.
        self.ceiling = Estimate(round(estimate.prompt * _MAX_GROWTH), most_tokens)
        self.requests = 0
        # The usage of unusable answers, which were paid for.
        self.wasted = Usage()
        # Why it was abandoned; None if it was not.
        self.abandoned: str | None = None
        # Whether an answer to one of its requests was lost.
        self.lost = False
        self._began = time.monotonic()

    @property
    def seconds(self) -> float:
        """How long it has been in flight."""
        return time.monotonic() - self._began

    def permit(self) -> None:
        """Permit another request, in any thread. Raises `LimitReached`."""
        if self.abandoned is not None:
            raise LimitReached(self.abandoned)
        # The first request was counted when the call began.
        if self.requests:
            self._meter.take_another(self)
        self.requests += 1

    def waste(self, used: Usage) -> None:
        """Add the usage of an unusable answer, in any thread."""
        self.wasted += used
        self._meter.charge(used)

    def raise_limit(self) -> None:
        """Double the token limit, and restart the time limit."""
        # The answer exceeds the old limit.
        self.estimate = Estimate(self.estimate.prompt, self.most_tokens)
        self.most_tokens *= 2
        self.ceiling = Estimate(self.ceiling.prompt, self.most_tokens)
        self._began = time.monotonic()

    def lose(self) -> None:
        """Record a lost answer, which may be charged, in any thread."""
        self.lost = True
        self._meter.lose(self.estimate)

    def seconds_left(self) -> float | None:
        """Return the seconds left to send requests; None is no limit."""
        return self._meter.seconds_left()


class UsageMeter:
    """The usage so far and the calls in flight. Thread-safe.

    A new call counts with its estimate, calls in flight with their maximum, and a lost answer with
    its estimate. So tokens and money are only exceeded by the error of one estimate, and by what a
    server uses beyond its token limits.
    """

    def __init__(self, limits: UsageLimits, price: Price, owner: BudgetOwner | None = None) -> None:
        """Start with no usage, at the current time.

        owner: grants portions of a budget that several runs share; `limits` is then that budget.
        """
        self._limits = limits
        self._price = price
        self._owner = owner
        # What this meter may spend: all of it, or what the owner has granted so far.
        self._granted = Portion(limits.calls, limits.tokens, limits.cost_usd)
        if owner is not None:
            self._granted = self._granted.nothing()
        self._began = time.monotonic()
        self._lock = Lock()
        self._calls = 0
        self._used = Usage()
        self._lost: list[Estimate] = []
        self._in_flight: list[PendingCall] = []

    def begin(self, estimate: Estimate, most_tokens: int) -> PendingCall:
        """Count a new call. Raises `LimitReached` if it is not allowed."""
        pending = PendingCall(self, estimate, most_tokens)
        with self._lock:
            self._take(estimate, self._in_flight)
            self._in_flight.append(pending)
        return pending

    def take_another(self, pending: PendingCall) -> None:
        """Count another request of a call in flight. Raises `LimitReached`."""
        with self._lock:
            self._take(pending.estimate, [call for call in self._in_flight if call is not pending])

    def lose(self, estimate: Estimate) -> None:
        """Count a lost answer with its estimate."""
        with self._lock:
            self._lost.append(estimate)

    def charge(self, used: Usage) -> None:
        """Count the usage of an answer whose call continues."""
        with self._lock:
            self._used += used

    def end(self, pending: PendingCall, used: Usage) -> None:
        """Replace the estimate of a call by the usage of its last answer."""
        with self._lock:
            self._in_flight.remove(pending)
            self._used += used
            # A recorded answer took no request.
            self._calls -= not pending.requests

    def seconds_left(self) -> float | None:
        """Return the seconds left to send requests; None is no limit."""
        if self._limits.seconds is None:
            return None
        return self._limits.seconds - (time.monotonic() - self._began)

    def out_of_time(self) -> str | None:
        """Return the reason if the time is over; None if not."""
        left = self.seconds_left()
        if left is None or left > 0:
            return None
        return f"the budget of {self._limits.seconds:g} seconds is used up"

    def give_back(self) -> None:
        """Return the unused part of the grant to the owner; negative if more was used.

        Calls in flight count with their maximum.
        """
        if self._owner is None:
            return
        with self._lock:
            reserved = [pending.ceiling for pending in self._in_flight] + self._lost
            self._owner.give_back(self._granted.minus(self._needed(0, reserved)))
            self._granted = self._granted.nothing()
            # Later calls need a new grant.
            self._calls, self._used, self._lost = 0, Usage(), []

    def _needed(self, calls: int, sizes: Sequence[Estimate]) -> Portion:
        """Return the usage, plus `calls` and reservations."""
        used, cost = self._used, self._used.cost_usd
        for size in sizes:
            price = self._price(size.prompt, size.answer)
            cost = None if cost is None or price is None else cost + price
        tokens = used.prompt_tokens + used.completion_tokens + sum(size.total for size in sizes)
        return Portion(self._calls + calls, tokens, cost)

    def _request_grant(self, estimate: Estimate, reserved: Sequence[Estimate]) -> None:
        """Request what another call lacks from the owner."""
        lacking = self._needed(1, (estimate, *reserved)).minus(self._granted).where_positive()
        if self._owner is not None and lacking.is_nonzero:
            self._granted = self._granted.plus(self._owner.take(lacking))

    def _take(self, estimate: Estimate, in_flight: Sequence[PendingCall]) -> None:
        reserved = [pending.ceiling for pending in in_flight] + self._lost
        spent = self.out_of_time()
        if spent is None:
            self._request_grant(estimate, reserved)
            if self._granted.calls is not None and self._calls >= self._granted.calls:
                spent = f"the budget of {self._limits.calls} calls is used up"
        spent = spent or self._short_of_tokens(estimate, reserved)
        spent = spent or self._short_of_money(estimate, reserved)
        if spent is not None:
            raise LimitReached(spent)
        self._calls += 1

    def _short_of_tokens(self, estimate: Estimate, reserved: Sequence[Estimate]) -> str | None:
        granted = self._granted.tokens
        if granted is None:
            return None
        used = self._used.prompt_tokens + self._used.completion_tokens
        used += sum(size.total for size in reserved)
        if used + estimate.total <= granted:
            return None
        what = f"the budget of {self._limits.tokens} tokens has no room for another call"
        return what if self._owner is not None else f"{what}: {used} are used"

    def _short_of_money(self, estimate: Estimate, reserved: Sequence[Estimate]) -> str | None:
        granted = self._granted.cost_usd
        if granted is None:
            return None
        used = self._needed(1, (estimate, *reserved)).cost_usd
        whole = self._limits.cost_usd
        if used is None:
            return f"the model's price is unknown, so a budget of {whole:g} USD cannot be enforced"
        if used <= granted:
            return None
        return f"the budget of {whole:g} USD has no room for another call"
