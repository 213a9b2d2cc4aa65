"""Hits that give an older value than another hit: they stand behind it, and say so.

Two memories that give one thing two values stay both active where nothing says that the later one
replaces the earlier. A reader who gets only the first of them would take it for what is so.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from slowwave.consolidation.text.reading import read
from slowwave.consolidation.thresholds import PERHAPS_ONE_THING
from slowwave.consolidation.updates.dated_memory import dated_memory
from slowwave.consolidation.updates.replacements import find_updates
from slowwave.store.records import UNDATED, Memory
from slowwave.store.shown_to_model import Dispute

from .hit import Hit

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


def behind_later_values(hits: Sequence[Hit], disputes: Iterable[Dispute]) -> list[Hit]:
    """Put each hit with an older value behind the one with the later value, which it then names.

    disputes: the conflicts that a model named. What has no date is older than nothing.
    """
    ranked = {hit.memory.id: hit for hit in hits}
    later = dict(_later_of([hit.memory for hit in hits], disputes))
    marked = [
        replace(hit, later=ranked[later[hit.memory.id]].memory) if hit.memory.id in later else hit
        for hit in hits
    ]
    behind: dict[str, list[Hit]] = {}
    for hit in marked:
        if hit.later is not None:
            behind.setdefault(hit.later.id, []).append(hit)
    return [one for hit in marked if hit.later is None for one in _with_older(hit, behind)]


def with_doubts(hits: Sequence[Hit], vectors: NDArray[np.float32]) -> list[Hit]:
    """Name for each hit the nearest later one that has another value of the same kind.

    vectors: float32, shape (n, d), unit length, a row a hit. Whether both values are of one thing
    nobody knows here, so no hit changes its place.
    """
    cosines = vectors @ vectors.T
    return [
        hit if hit.later else replace(hit, perhaps_later=_perhaps_later(hit, hits, row))
        for hit, row in zip(hits, cosines.tolist(), strict=True)
    ]


def _perhaps_later(hit: Hit, hits: Sequence[Hit], cosines: Sequence[float]) -> Memory | None:
    for cosine, other in sorted(zip(cosines, hits, strict=True), key=lambda pair: -pair[0]):
        if cosine < PERHAPS_ONE_THING:
            break
        dates = hit.memory.observed_at, other.memory.observed_at
        if UNDATED not in dates and dates[0] < dates[1] and _other_value(hit, other):
            return other.memory
    return None


def _other_value(hit: Hit, other: Hit) -> bool:
    """Whether each of two texts has a value of one kind that the other has not."""
    one, two = read(hit.memory.content), read(other.memory.content)
    here = {value.kind for value in one.values if value.key not in two.value_keys}
    return any(value.kind in here for value in two.values if value.key not in one.value_keys)


def _with_older(hit: Hit, behind: dict[str, list[Hit]]) -> Iterator[Hit]:
    yield hit
    for older in behind.get(hit.memory.id, ()):
        yield from _with_older(older, behind)


def _later_of(memories: Sequence[Memory], disputes: Iterable[Dispute]) -> Iterator[tuple[str, str]]:
    """Yield the id of each memory that gives an older value, with that of the last later one."""
    by_id = {one.id: one for one in memories}
    pairs = sorted(
        (
            (by_id[earlier], by_id[later])
            for earlier, later in (*_rivals(memories), *_disputed(memories, disputes))
            if by_id[earlier].observed_at < by_id[later].observed_at
        ),
        key=lambda pair: (pair[1].observed_at, pair[1].id),
    )
    yield from ((earlier.id, later.id) for earlier, later in pairs)


def _rivals(memories: Sequence[Memory]) -> Iterator[tuple[str, str]]:
    """Yield pairs of which rules find that they give one thing two values, the earlier first."""
    dated = [one for one in memories if one.observed_at != UNDATED]
    stated = [dated_memory(one, one.generation == 0) for one in dated]
    found = find_updates(stated, lambda _: True)
    yield from (conflict.sources for conflict in found.conflicts)
    for replacement in found.replacements:
        for at, stage in enumerate(replacement.stages[1:]):
            newer = replacement.stages[at].memories[-1]
            yield from ((one.memory.id, newer.memory.id) for one in stage.memories)


def _disputed(memories: Sequence[Memory], disputes: Iterable[Dispute]) -> Iterator[tuple[str, str]]:
    by_hash = {(one.tenant, one.content_hash): one.id for one in memories}
    for one in disputes:
        earlier = by_hash.get((one.tenant, one.earlier_hash))
        later = by_hash.get((one.tenant, one.later_hash))
        if earlier is not None and later is not None:
            yield earlier, later
