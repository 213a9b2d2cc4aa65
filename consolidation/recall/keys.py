"""Find the memory that each text of a file leads to, now or at an earlier time."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import pairwise

from slowwave.store.lineage import Edge
from slowwave.store.records import Memory

# The row of a text that leads to no memory.
NOWHERE = -1
# Sorts after every timestamp.
NEVER = "~"


def current_holders(memories: Sequence[Memory], edges: Iterable[Edge], now: str) -> list[int]:
    """Return for each memory the row of its current version, or `NOWHERE`.

    An active memory is its own. A superseded one leads to its replacement, over any number of
    generations.
    """
    places = {memory.id: place for place, memory in enumerate(memories)}
    made_of_it: dict[str, list[str]] = {}
    for edge in edges:
        made_of_it.setdefault(edge.source_id, []).append(edge.derived_id)

    def lead(memory: Memory) -> Iterator[str]:
        if memory.superseded_by is not None:
            yield memory.superseded_by
        yield from made_of_it.get(memory.id, ())

    def holder(place: int) -> int:
        # Depth first: replacements before other derived memories, such as rules.
        waiting, seen = [place], {place}
        while waiting:
            memory = memories[waiting.pop()]
            if memory.status == "active" and not memory.expired(now):
                return places[memory.id]
            if memory.status == "superseded":
                after = [places[memory_id] for memory_id in lead(memory) if memory_id in places]
                waiting += [place for place in reversed(after) if place not in seen]
                seen.update(after)
        return NOWHERE

    return [holder(place) for place in range(len(memories))]


def holders_at(memories: Sequence[Memory], edges: Iterable[Edge], moment: str) -> list[int]:
    """Return for each memory its own row if it was valid at `moment`, else `NOWHERE`.

    Only memories observed by then count. A derived memory may contain later facts, and only counts
    if none of its sources is in the file. The sources of an update were valid until the next one
    was observed.
    """
    edges = tuple(edges)
    by_id = {memory.id: memory for memory in memories}
    derived_ids = {edge.derived_id for edge in edges if edge.source_id in by_id}
    source_ids = {edge.source_id for edge in edges}
    ends = _ends(edges, by_id)

    def end(memory: Memory) -> str:
        if memory.status == "superseded" and memory.id not in source_ids:
            # A person replaced it: its text is in no derived memory.
            return memory.superseded_at or memory.observed_at
        return ends.get(memory.id, NEVER)

    def was_valid(memory: Memory) -> bool:
        return (
            memory.observed_at <= moment
            and not memory.expired(moment)
            # The survivor of a merge keeps its text.
            and (memory.generation == 0 or memory.id not in derived_ids)
            and moment < end(memory)
        )

    return [place if was_valid(memory) else NOWHERE for place, memory in enumerate(memories)]


def _ends(edges: Iterable[Edge], by_id: Mapping[str, Memory]) -> dict[str, str]:
    """Return when a later source of an update replaced each earlier one, by id.

    A source that a person found wrong although it is later ended when it was superseded.
    """
    updates: dict[str, set[str]] = {}
    for edge in edges:
        if edge.operation == "update":
            updates.setdefault(edge.derived_id, set()).add(edge.source_id)
    ends: dict[str, str] = {}
    for derived, sources in updates.items():
        # One of the sources may have replaced the others itself.
        members = [by_id[memory_id] for memory_id in (*sources, derived) if memory_id in by_id]
        members = [memory for memory in members if memory.id != derived or memory.generation == 0]
        members.sort(key=lambda memory: (memory.id == derived, memory.observed_at, memory.id))
        for earlier, later in pairwise(members):
            end = later.observed_at
            if end < earlier.observed_at:
                end = earlier.superseded_at or NEVER
            if end > earlier.observed_at:
                ends[earlier.id] = min(end, ends.get(earlier.id, NEVER))
    return ends
