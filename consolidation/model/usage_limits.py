"""What a run may use at the most, and the meter that keeps it to that, call by call."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from threading import Lock

from slowwave.consolidation.planning.estimates import Estimate
from slowwave.consolidation.proposals import Usage

from .portions import BudgetOwner, Portion

# Gives the price in USD of so many tokens of a question and an answer; None if it is not known.
Price = Callable[[int, int], float | None]
# By how much more than estimated a question is taken to come to at the most.
_AT_MOST = 1.25


@dataclass(frozen=True)
class UsageLimits:
    """What a run may use at the most; None is without limit. Time in seconds.

    A call is a request, whether or not it was answered: one that is tried again, after a rate
    limit or in another form of output, counts again. No request is sent once a limit is reached;
    one that is under way is waited for, but not beyond the time.
    """

    calls: int | None = None
    tokens: int | None = None
    cost_usd: float | None = None
    seconds: float | None = None


class LimitReached(Exception):
    """A usage limit forbids another request. Its message says which."""


class PendingCall:
    """One call under way: what it will take, and the requests that were sent for it."""

    def __init__(self, meter: UsageMeter, estimate: Estimate, most_tokens: int) -> None:
        """Take the estimate, and the most tokens that the answer may have."""
        self._meter = meter
        self.estimate = estimate
        self.most_tokens = most_tokens
        # What it cannot go beyond: so much of the limits is not given to others meanwhile.
        self.ceiling = Estimate(round(estimate.prompt * _AT_MOST), most_tokens)
        self.requests = 0
        # What was used for answers of which nothing could be used: they were paid for.
        self.wasted = Usage()
        # Why it is waited for no longer; None as long as it is.
        self.given_up: str | None = None
        # Whether an answer to one of its requests will not come.
        self.lost = False
        self._began = time.monotonic()

    @property
    def seconds(self) -> float:
        """How long it has been under way."""
        return time.monotonic() - self._began

    def permit(self) -> None:
        """Allow one request more, in any thread. Raises `LimitReached`."""
        if self.given_up is not None:
            raise LimitReached(self.given_up)
        # The first request was counted when the call began.
        if self.requests:
            self._meter.take_another(self)
        self.requests += 1

    def waste(self, used: Usage) -> None:
        """Note, in any thread, what an answer took of which nothing can be used."""
        self.wasted += used
        self._meter.charge(used)

    def raise_limit(self) -> None:
        """Allow an answer of twice the length, in a request with a new time limit."""
        # It is known to be longer than was allowed.
        self.estimate = Estimate(self.estimate.prompt, self.most_tokens)
        self.most_tokens *= 2
        self.ceiling = Estimate(self.ceiling.prompt, self.most_tokens)
        self._began = time.monotonic()

    def lose(self) -> None:
        """Note, in any thread, that a request's answer will not come: it may be charged for."""
        self.lost = True
        self._meter.lose(self.estimate)

    def seconds_left(self) -> float | None:
        """Return how long requests may still be sent; None is without limit."""
        return self._meter.seconds_left()


class UsageMeter:
    """What was used, and what is under way. Safe in threads.

    A new call counts with its estimate, those under way with the most that they can come to. So
    tokens and money are never overshot by more than one call's estimate was wrong, and by what a
    server takes beyond the most that it was allowed for the calls under way. What nobody can
    know, the price of an answer that never came, counts with its estimate.
    """

    def __init__(self, limits: UsageLimits, price: Price, owner: BudgetOwner | None = None) -> None:
        """Begin with nothing used; the time counts from now on.

        owner: who grants what may be used, if the budget is of several runs; it says then what all
        of them may use.
        """
        self._limits = limits
        self._price = price
        self._owner = owner
        # What this meter may count: all of it, or what the owner has granted by now.
        self._most = Portion(limits.calls, limits.tokens, limits.cost_usd)
        if owner is not None:
            self._most = self._most.nothing()
        self._began = time.monotonic()
        self._lock = Lock()
        self._calls = 0
        self._used = Usage()
        self._lost: list[Estimate] = []
        self._flying: list[PendingCall] = []

    def begin(self, estimate: Estimate, most_tokens: int) -> PendingCall:
        """Count a call that is about to be sent. Raises `LimitReached` if it may not be."""
        pending = PendingCall(self, estimate, most_tokens)
        with self._lock:
            self._take(estimate, self._flying)
            self._flying.append(pending)
        return pending

    def take_another(self, pending: PendingCall) -> None:
        """Count one more request of a call under way. Raises `LimitReached`."""
        with self._lock:
            self._take(pending.estimate, [one for one in self._flying if one is not pending])

    def lose(self, estimate: Estimate) -> None:
        """Count a request whose answer will not come with what it was expected to take."""
        with self._lock:
            self._lost.append(estimate)

    def charge(self, used: Usage) -> None:
        """Count what an answer took, while its call goes on."""
        with self._lock:
            self._used += used

    def end(self, pending: PendingCall, used: Usage) -> None:
        """Replace the estimate of a call by what its last answer used."""
        with self._lock:
            self._flying.remove(pending)
            self._used += used
            # An answer that was known took no request.
            self._calls -= not pending.requests

    def seconds_left(self) -> float | None:
        """Return how long requests may still be sent; None is without limit."""
        if self._limits.seconds is None:
            return None
        return self._limits.seconds - (time.monotonic() - self._began)

    def out_of_time(self) -> str | None:
        """Return the reason if the time is over, else None."""
        left = self.seconds_left()
        if left is None or left > 0:
            return None
        return f"the budget of {self._limits.seconds:g} seconds is used up"

    def give_back(self) -> None:
        """Give the owner back what was granted and is not used; what more was used, it is told.

        A call that is still under way counts with the most that it can come to.
        """
        if self._owner is None:
            return
        with self._lock:
            kept_free = [pending.ceiling for pending in self._flying] + self._lost
            self._owner.give_back(self._most.minus(self._needed(0, kept_free)))
            self._most = self._most.nothing()
            # What is asked after this is asked for anew.
            self._calls, self._used, self._lost = 0, Usage(), []

    def _needed(self, calls: int, sizes: Sequence[Estimate]) -> Portion:
        """Return what is used with so many calls more, and so much kept free."""
        used, cost = self._used, self._used.cost_usd
        for size in sizes:
            price = self._price(size.prompt, size.answer)
            cost = None if cost is None or price is None else cost + price
        tokens = used.prompt_tokens + used.completion_tokens + sum(size.total for size in sizes)
        return Portion(self._calls + calls, tokens, cost)

    def _have_more_granted(self, estimate: Estimate, kept_free: Sequence[Estimate]) -> None:
        """Ask the owner for what another call lacks, if anything."""
        lacking = self._needed(1, (estimate, *kept_free)).minus(self._most).where_positive()
        if self._owner is not None and lacking.is_something:
            self._most = self._most.plus(self._owner.take(lacking))

    def _take(self, estimate: Estimate, beside: Sequence[PendingCall]) -> None:
        kept_free = [pending.ceiling for pending in beside] + self._lost
        spent = self.out_of_time()
        if spent is None:
            self._have_more_granted(estimate, kept_free)
            if self._most.calls is not None and self._calls >= self._most.calls:
                spent = f"the budget of {self._limits.calls} calls is used up"
        spent = spent or self._short_of_tokens(estimate, kept_free)
        spent = spent or self._short_of_money(estimate, kept_free)
        if spent is not None:
            raise LimitReached(spent)
        self._calls += 1

    def _short_of_tokens(self, estimate: Estimate, kept_free: Sequence[Estimate]) -> str | None:
        most = self._most.tokens
        if most is None:
            return None
        used = self._used.prompt_tokens + self._used.completion_tokens
        used += sum(size.total for size in kept_free)
        if used + estimate.total <= most:
            return None
        what = f"the budget of {self._limits.tokens} tokens has no room for another call"
        return what if self._owner is not None else f"{what}: {used} are used"

    def _short_of_money(self, estimate: Estimate, kept_free: Sequence[Estimate]) -> str | None:
        most = self._most.cost_usd
        if most is None:
            return None
        used = self._needed(1, (estimate, *kept_free)).cost_usd
        whole = self._limits.cost_usd
        if used is None:
            return f"the model's price is not known: {whole:g} USD cannot be kept to"
        if used <= most:
            return None
        return f"the budget of {whole:g} USD has no room for another call"
