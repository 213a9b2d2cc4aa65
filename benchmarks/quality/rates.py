"""Shares with their 95% Wilson intervals."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TypedDict

from scipy.stats import binomtest


class Rate(TypedDict):
    """So many of so many. The share and its interval are None of nothing."""

    hits: int
    n: int
    rate: float | None
    low: float | None
    high: float | None


def rate(hits: int, n: int) -> Rate:
    """Return a share with its interval."""
    if not n:
        return Rate(hits=0, n=0, rate=None, low=None, high=None)
    interval = binomtest(hits, n).proportion_ci(method="wilson")
    return Rate(hits=hits, n=n, rate=hits / n, low=float(interval.low), high=float(interval.high))


def rate_of(outcomes: Iterable[bool]) -> Rate:
    """Return the share of what is true."""
    listed = list(outcomes)
    return rate(sum(listed), len(listed))


def shown(one: Rate) -> str:
    """Return a share for people."""
    if one["rate"] is None or one["low"] is None or one["high"] is None:
        return "-"
    return f"{one['rate']:.1%} [{one['low']:.1%}, {one['high']:.1%}]"
