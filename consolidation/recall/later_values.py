"""Rank hits with an outdated value after the hit with the later one, and mark them.

Conflicting memories both stay active until somebody decides. A reader who only gets the outdated
one would believe it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace

from slowwave.consolidation.planning.conflicts import find_conflicts
from slowwave.consolidation.snapshot.cache import Cache
from slowwave.store.records import UNDATED, Memory
from slowwave.store.shown_to_model import Dispute

from .hit import Hit


def demote_outdated(hits: Sequence[Hit], disputes: Iterable[Dispute]) -> list[Hit]:
    """Move each hit with an outdated value after the hit with the later value, and set `later`.

    disputes: the conflicts that a model named. Conflicts found in the texts alone set
    `perhaps_later`. Undated memories are never outdated.
    """
    by_id = {hit.memory.id: hit for hit in hits}
    named = _latest(_disputed(by_id, disputes))
    found = _latest(_rivals(by_id))
    marked = [
        replace(
            hit,
            later=by_id[named[hit.memory.id]].memory if hit.memory.id in named else None,
            perhaps_later=by_id[found[hit.memory.id]].memory
            if hit.memory.id in found and hit.memory.id not in named
            else None,
        )
        for hit in hits
    ]
    behind: dict[str, list[Hit]] = {}
    first: list[Hit] = []
    for hit in marked:
        later = hit.later or hit.perhaps_later
        (first if later is None else behind.setdefault(later.id, [])).append(hit)
    return [each for hit in first for each in _with_older(hit, behind)]


def _with_older(hit: Hit, behind: dict[str, list[Hit]]) -> Iterator[Hit]:
    yield hit
    for older in behind.get(hit.memory.id, ()):
        yield from _with_older(older, behind)


def _latest(pairs: Iterable[tuple[Memory, Memory]]) -> dict[str, str]:
    """Return the id of the latest value by the id of each outdated memory."""
    dated = [
        (earlier, later)
        for earlier, later in pairs
        if UNDATED != earlier.observed_at < later.observed_at
    ]
    dated.sort(key=lambda pair: (pair[1].observed_at, pair[1].id))
    return {earlier.id: later.id for earlier, later in dated}


def _rivals(hits: dict[str, Hit]) -> Iterator[tuple[Memory, Memory]]:
    for conflict in find_conflicts([hit.memory for hit in hits.values()], (), Cache()):
        earlier, later = conflict.sources
        yield hits[earlier].memory, hits[later].memory


def _disputed(hits: dict[str, Hit], disputes: Iterable[Dispute]) -> Iterator[tuple[Memory, Memory]]:
    by_hash = {(hit.memory.tenant, hit.memory.content_hash): hit.memory for hit in hits.values()}
    for dispute in disputes:
        earlier = by_hash.get((dispute.tenant, dispute.earlier_hash))
        later = by_hash.get((dispute.tenant, dispute.later_hash))
        if earlier is not None and later is not None:
            yield earlier, later
