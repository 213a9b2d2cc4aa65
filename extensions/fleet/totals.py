"""The outcomes of many files, added up as their receipts come."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from heapq import nlargest
from typing import NamedTuple

from slowwave.extensions.fleet.store.archive import Archive, ShardNight
from slowwave.extensions.fleet.store.receipt import Became, Receipt
from slowwave.store.errors import UnusableFile

_ABSENT: tuple[Became, ...] = ("gone", "missing")
# The first are summed over the files with both counts, the others over all files.
_BEFORE_AND_AFTER = ("memories_before", "memories_after"), ("tokens_before", "tokens_after")
_COUNTED = (
    *("applied", "rejected", "pending", "failed", "planned"),
    *("calls", "prompt_tokens", "completion_tokens"),
)
SUMMED = (*_BEFORE_AND_AFTER[0], *_BEFORE_AND_AFTER[1], "runs", *_COUNTED)
# How many files each list names.
MAX_NAMED = 10


@dataclass
class Totals:
    """Sums over receipts, and the files that a person may want to look at."""

    # The folder of the receipts; None if none are written.
    night: str | None = None
    files: int = 0
    became: Counter[Became] = field(default_factory=Counter)
    # By the names of `SUMMED`.
    sums: Counter[str] = field(default_factory=Counter)
    # In USD; None once a cost is unknown.
    cost: float | None = 0.0
    seconds: float = 0.0
    # Whether all files were maintained, and whether a signal ended the run.
    complete: bool = True
    interrupted: bool = False
    # How many files belong to other shards.
    elsewhere: int = 0
    # Why earlier receipts could not be read.
    unreadable: list[str] = field(default_factory=list)
    # By outcome and reason: how many files, and the first of their keys.
    troubles: dict[tuple[Became, str], tuple[int, list[str]]] = field(default_factory=dict)
    # By outcome and reason, for files that have a reason but are well.
    set_aside: dict[tuple[Became, str], tuple[int, list[str]]] = field(default_factory=dict)
    # The files with the most tokens.
    largest: list[tuple[int, str]] = field(default_factory=list)

    def add(self, receipt: Receipt) -> None:
        """Add a receipt."""
        self.files += 1
        self.became[receipt.became] += 1
        self._count(receipt)
        if not receipt.is_well or receipt.why is not None:
            named = self.set_aside if receipt.is_well else self.troubles
            why = (receipt.became, receipt.why or "unknown reason")
            count, keys = named.get(why, (0, []))
            named[why] = count + 1, [*keys, receipt.key][:MAX_NAMED]
        if receipt.tokens_after:
            largest = (*self.largest, (receipt.tokens_after, receipt.key))
            self.largest = nlargest(MAX_NAMED, largest)

    @property
    def memory_files(self) -> int:
        """How many of the files exist, and are not another program's."""
        return self.files - sum(self.became[became] for became in ("foreign", *_ABSENT))

    @property
    def unfinished_files(self) -> int:
        """How many files need another run or a person."""
        return sum(count for count, _ in self.troubles.values())

    def _count(self, receipt: Receipt) -> None:
        for names in _BEFORE_AND_AFTER:
            counts = {name: getattr(receipt, name) for name in names}
            if None not in counts.values():
                self.sums.update(counts)
        self.sums["runs"] += len(receipt.runs)
        self.sums.update({name: getattr(receipt, name) for name in _COUNTED})
        self.seconds += receipt.seconds
        is_known = self.cost is not None and receipt.cost is not None
        self.cost = (self.cost or 0.0) + (receipt.cost or 0.0) if is_known else None


class ShardState(NamedTuple):
    """The state of a shard."""

    shard: str
    night: str | None
    # "complete", "interrupted", "not ended" (killed, or it goes on) or "missing"
    state: str


def last_night(archive: Archive) -> tuple[Totals, list[ShardState]]:
    """Return the sums over the latest run of each shard, and the states of the shards.

    Raises `StoreError`; `UnusableFile` if there are no receipts, or damaged ones.
    """
    nights = archive.nights()
    if not nights:
        raise UnusableFile(
            f"There are no receipts in '{archive.place}'.",
            "Specify the folder to which 'slowwave fleet maintain' wrote them.",
        )
    shard_count = nights[0].shard.of
    latest: dict[int, ShardNight] = {}
    for night in nights:
        if night.shard.of == shard_count:
            latest.setdefault(night.shard.number, night)
    totals = Totals(night=nights[0].name)
    for night in latest.values():
        for receipt in archive.receipts(night):
            totals.add(receipt)
    shards = [_state(number, shard_count, latest.get(number)) for number in range(shard_count)]
    totals.complete = all(shard.state == "complete" for shard in shards)
    return totals, shards


def _state(number: int, shard_count: int, night: ShardNight | None) -> ShardState:
    shard = f"{number}/{shard_count}"
    if night is None:
        return ShardState(shard, None, "missing")
    if night.is_complete:
        return ShardState(shard, night.name, "complete")
    return ShardState(shard, night.name, "interrupted" if night.end else "not ended")
