"""Whose share a file is in, and what share of a budget that has."""

from __future__ import annotations

import hashlib

from slowwave.consolidation.model.usage_limits import UsageLimits
from slowwave.extensions.fleet.store.archive import Shard


def falls_to(key: str, shard: Shard) -> bool:
    """Whether a file is of a shard: by its key alone, so that no two shards have to agree."""
    digest = hashlib.blake2b(key.encode(errors="surrogateescape"), digest_size=8).digest()
    return int.from_bytes(digest) % shard.of == shard.number


def share_of(budget: UsageLimits, shard: Shard) -> UsageLimits:
    """Return a shard's share of a budget. Shards work side by side: each has the whole time."""
    return UsageLimits(
        None if budget.calls is None else _whole(budget.calls, shard),
        None if budget.tokens is None else _whole(budget.tokens, shard),
        None if budget.cost_usd is None else budget.cost_usd / shard.of,
        budget.seconds,
    )


def _whole(amount: int, shard: Shard) -> int:
    """Return a share of what is not to be parted: all shares make the whole."""
    return amount * (shard.number + 1) // shard.of - amount * shard.number // shard.of
