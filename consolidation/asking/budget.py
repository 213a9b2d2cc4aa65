"""What a run may use at the most, and the books that keep it to that, call by call."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from threading import Lock

from slowwave.consolidation.proposals import Usage

from .estimates import Estimate

# Gives the price in USD of so many tokens of a question and an answer; None if it is not known.
Price = Callable[[int, int], float | None]
# By how much more than estimated a question is taken to come to at the most.
_AT_MOST = 1.25


@dataclass(frozen=True)
class Budget:
    """What a run may use at the most; None is without limit. Time in seconds.

    A call is a request, whether or not it was answered: one that is tried again, after a rate
    limit or in another form of output, counts again. No request is sent once a limit is reached;
    one that is under way is waited for.
    """

    calls: int | None = None
    tokens: int | None = None
    cost_usd: float | None = None
    seconds: float | None = None


class BudgetSpent(Exception):
    """A budget forbids another request. Its message says which."""


class Flight:
    """One call under way: what it will take, and the requests that were sent for it."""

    def __init__(self, books: Books, estimate: Estimate, most_tokens: int) -> None:
        """Take the estimate, and the most tokens that the answer may have."""
        self._books = books
        self.estimate = estimate
        # What it cannot go beyond: so much of the budget is not given to others meanwhile.
        self.ceiling = Estimate(round(estimate.prompt * _AT_MOST), most_tokens)
        self.requests = 0

    def permit(self) -> None:
        """Allow one request more, in any thread. Raises `BudgetSpent`."""
        # Whoever began the call has counted its first request.
        if self.requests:
            self._books.take_another()
        self.requests += 1


class Books:
    """What was used, and what is under way.

    A new call counts with its estimate, those under way with the most that they can come to. So
    tokens and money are never overshot by more than one call's estimate was wrong.
    """

    def __init__(self, budget: Budget, price: Price) -> None:
        """Begin with nothing used; the time counts from here."""
        self._budget = budget
        self._price = price
        self._began = time.monotonic()
        self._lock = Lock()
        self._calls = 0
        self._used = Usage()
        self._flying: list[Flight] = []

    def refusal(self, estimate: Estimate) -> str | None:
        """Give which limit forbids a call of this size now; None if none does."""
        with self._lock:
            spent = self._spent()
        return spent or self._short_of_tokens(estimate) or self._short_of_money(estimate)

    def begin(self, estimate: Estimate, most_tokens: int) -> Flight:
        """Count a call that is about to be sent."""
        flight = Flight(self, estimate, most_tokens)
        with self._lock:
            self._calls += 1
        self._flying.append(flight)
        return flight

    def take_another(self) -> None:
        """Count one more request of a call under way. Raises `BudgetSpent`."""
        with self._lock:
            spent = self._spent()
            if spent is not None:
                raise BudgetSpent(spent)
            self._calls += 1

    def end(self, flight: Flight, used: Usage) -> None:
        """Put what a call took in the place of its estimate."""
        self._flying.remove(flight)
        self._used += used

    def seconds_left(self) -> float | None:
        """Give how long requests may still be sent; None is without limit."""
        if self._budget.seconds is None:
            return None
        return self._budget.seconds - (time.monotonic() - self._began)

    def _spent(self) -> str | None:
        most, left = self._budget.calls, self.seconds_left()
        if most is not None and self._calls >= most:
            return f"the budget of {most} calls is used up"
        if left is not None and left <= 0:
            return f"the budget of {self._budget.seconds:g} seconds is used up"
        return None

    def _short_of_tokens(self, estimate: Estimate) -> str | None:
        most = self._budget.tokens
        if most is None:
            return None
        used = self._used.prompt_tokens + self._used.completion_tokens
        used += sum(flight.ceiling.total for flight in self._flying)
        if used + estimate.total <= most:
            return None
        return f"the budget of {most} tokens has no room for another call: {used} are used"

    def _short_of_money(self, estimate: Estimate) -> str | None:
        most = self._budget.cost_usd
        if most is None:
            return None
        used = self._used.cost_usd
        for size in (estimate, *(flight.ceiling for flight in self._flying)):
            price = self._price(size.prompt, size.answer)
            used = None if used is None or price is None else used + price
        if used is None:
            return f"the model's price is not known: {most:g} USD cannot be kept to"
        if used <= most:
            return None
        return f"the budget of {most:g} USD has no room for another call"
