"""What became of many files, added up as their receipts come."""

from __future__ import annotations

import heapq
from collections import Counter
from dataclasses import dataclass, field
from typing import TypeVar

from slowwave.extensions.fleet.store.receipt import Became, Receipt

_Ranked = TypeVar("_Ranked", tuple[float, str], tuple[int, str])
_NOT_THERE: tuple[Became, ...] = ("gone", "missing")
# How many files each list names.
MOST_NAMED = 10


@dataclass
class Totals:
    """Sums over receipts, and the files that a person may want to look at."""

    # The folder of the receipts; None where none are kept.
    night: str | None = None
    files: int = 0
    became: Counter[Became] = field(default_factory=Counter)
    # Of the files of which both counts are known.
    memories_before: int = 0
    memories_after: int = 0
    tokens_before: int = 0
    tokens_after: int = 0
    runs: int = 0
    applied: int = 0
    rejected: int = 0
    pending: int = 0
    failed: int = 0
    planned: int = 0
    calls: int = 0
    prompt_tokens: int = 0
    completion_tokens: int = 0
    # In USD; None once one is not known.
    cost: float | None = 0.0
    seconds: float = 0.0
    # Whether all files were come to, or somebody ended the night.
    complete: bool = True
    interrupted: bool = False
    # How many files are other shards'.
    elsewhere: int = 0
    # What could not be read of earlier receipts.
    unreadable: list[str] = field(default_factory=list)
    # (what became of them, why) to how many, and the first of them by name.
    troubles: dict[tuple[Became, str], tuple[int, list[str]]] = field(default_factory=dict)
    _longest: list[tuple[float, str]] = field(default_factory=list)
    _largest: list[tuple[int, str]] = field(default_factory=list)

    def add(self, receipt: Receipt) -> None:
        """Add a receipt."""
        self.files += 1
        self.became[receipt.became] += 1
        self._count(receipt)
        if not receipt.is_well:
            why = (receipt.became, receipt.why or "no reason is known")
            count, keys = self.troubles.get(why, (0, []))
            self.troubles[why] = count + 1, [*keys, receipt.key][:MOST_NAMED]
        if receipt.became not in ("unchanged", *_NOT_THERE):
            _keep(self._longest, (receipt.seconds, receipt.key))
        _keep(self._largest, (receipt.tokens_after or 0, receipt.key))

    @property
    def longest(self) -> list[tuple[str, float]]:
        """The files whose nights took longest, and seconds."""
        return [(key, seconds) for seconds, key in sorted(self._longest, reverse=True)]

    @property
    def largest(self) -> list[tuple[str, int]]:
        """The files that hold the most, and tokens."""
        return [(key, tokens) for tokens, key in sorted(self._largest, reverse=True) if tokens]

    @property
    def memory_files(self) -> int:
        """How many of the files are there, and are not another program's."""
        return self.files - self.became["foreign"] - sum(self.became[one] for one in _NOT_THERE)

    @property
    def in_trouble(self) -> int:
        """How many files somebody has to look at, or another night."""
        return sum(count for count, _ in self.troubles.values())

    def _count(self, receipt: Receipt) -> None:
        if receipt.memories_before is not None and receipt.memories_after is not None:
            self.memories_before += receipt.memories_before
            self.memories_after += receipt.memories_after
        if receipt.tokens_before is not None and receipt.tokens_after is not None:
            self.tokens_before += receipt.tokens_before
            self.tokens_after += receipt.tokens_after
        self.runs += len(receipt.runs)
        self.applied += receipt.applied
        self.rejected += receipt.rejected
        self.pending += receipt.pending
        self.failed += receipt.failed
        self.planned += receipt.planned
        self.calls += receipt.calls
        self.prompt_tokens += receipt.prompt_tokens
        self.completion_tokens += receipt.completion_tokens
        known = self.cost is not None and receipt.cost is not None
        self.cost = (self.cost or 0.0) + (receipt.cost or 0.0) if known else None
        self.seconds += receipt.seconds


def _keep(most: list[_Ranked], one: _Ranked) -> None:
    heapq.heappush(most, one)
    if len(most) > MOST_NAMED:
        heapq.heappop(most)
