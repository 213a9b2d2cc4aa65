"""The last night of a fleet, from its receipts: all shards of it."""

from __future__ import annotations

from typing import NamedTuple

from slowwave.extensions.fleet.store.archive import Archive, ShardNight
from slowwave.store.errors import UnusableFile

from .totals import Totals


class ShardState(NamedTuple):
    """What there is of a shard."""

    shard: str
    night: str | None
    # "complete", "interrupted", "not ended" (killed, or it goes on) or "missing"
    state: str


def last_night(archive: Archive) -> tuple[Totals, list[ShardState]]:
    """Return the sums over the latest night of each shard, and what there is of the shards.

    Raises `StoreError`; `UnusableFile` if there are no receipts, or damaged ones.
    """
    nights = archive.nights()
    if not nights:
        raise UnusableFile(
            f"There are no receipts in '{archive.place}'.",
            "Name the folder that 'slowwave fleet maintain' wrote them to.",
        )
    of = nights[0].shard.of
    latest: dict[int, ShardNight] = {}
    for night in nights:
        if night.shard.of == of:
            latest.setdefault(night.shard.number, night)
    totals = Totals(night=nights[0].name)
    for night in latest.values():
        for receipt in archive.receipts(night):
            totals.add(receipt)
    shards = [_state(number, of, latest.get(number)) for number in range(of)]
    totals.complete = all(one.state == "complete" for one in shards)
    return totals, shards


def _state(number: int, of: int, night: ShardNight | None) -> ShardState:
    shard = f"{number}/{of}"
    if night is None:
        return ShardState(shard, None, "missing")
    if night.is_complete:
        return ShardState(shard, night.name, "complete")
    return ShardState(shard, night.name, "interrupted" if night.end else "not ended")
