"""Which memory each text of a file leads to: now, or at an earlier moment."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import pairwise

from slowwave.store.lineage import Edge
from slowwave.store.records import Memory

# Where a text leads nowhere: what it said is no longer there to be handed over.
NOWHERE = -1
# After every moment that can be written.
NEVER = "~"


def current_holders(memories: Sequence[Memory], edges: Iterable[Edge], now: str) -> list[int]:
    """Return for each memory the place of the one that says today what it says, or `NOWHERE`.

    An active memory stands for itself. A superseded one leads to what took its place, over as many
    generations as there are.
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
        # Depth first: what replaced a memory, and what replaced that, before what else it was
        # made into (it may support a rule, too).
        waiting, seen = [place], {place}
        while waiting:
            memory = memories[waiting.pop()]
            if memory.status == "active" and not memory.expired(now):
                return places[memory.id]
            if memory.status == "superseded":
                after = [places[one] for one in lead(memory) if one in places]
                waiting += [one for one in reversed(after) if one not in seen]
                seen.update(after)
        return NOWHERE

    return [holder(place) for place in range(len(memories))]


def holders_at(memories: Sequence[Memory], edges: Iterable[Edge], moment: str) -> list[int]:
    """Return for each memory its own place if it said at `moment` what was so, or else `NOWHERE`.

    Only what was observed by then counts, in its own words: a derived memory may hold what came
    later, and is taken only where none of its sources is in the file any more. What an update
    replaced was so until the next of its memories was observed.
    """
    edges = tuple(edges)
    by_id = {memory.id: memory for memory in memories}
    derived_from_these = {edge.derived_id for edge in edges if edge.source_id in by_id}
    part_of_something = {edge.source_id for edge in edges}
    ends = _ends(edges, by_id)

    def end(memory: Memory) -> str:
        if memory.status == "superseded" and memory.id not in part_of_something:
            # Somebody replaced it by hand: what it said goes on in nothing else.
            return memory.superseded_at or memory.observed_at
        return ends.get(memory.id, NEVER)

    def was_so(memory: Memory) -> bool:
        return (
            memory.observed_at <= moment
            and not memory.expired(moment)
            and not _is_made(memory, derived_from_these)
            and moment < end(memory)
        )

    return [place if was_so(memory) else NOWHERE for place, memory in enumerate(memories)]


def _is_made(memory: Memory, derived: set[str]) -> bool:
    # A memory that took others in by a merge says what it always said.
    return memory.generation > 0 and memory.id in derived


def _ends(edges: Iterable[Edge], by_id: Mapping[str, Memory]) -> dict[str, str]:
    """Return the moment from which on a later memory of an update says what is so, by id."""
    updates: dict[str, set[str]] = {}
    for edge in edges:
        if edge.operation == "update":
            updates.setdefault(edge.derived_id, set()).add(edge.source_id)
    ends: dict[str, str] = {}
    for derived, sources in updates.items():
        # One of the memories may have replaced the others itself.
        told = [by_id[one] for one in (*sources, derived) if one in by_id]
        told = [memory for memory in told if memory.id != derived or memory.generation == 0]
        told.sort(key=lambda memory: (memory.observed_at, memory.id))
        for earlier, later in pairwise(told):
            if later.observed_at > earlier.observed_at:
                ends[earlier.id] = min(later.observed_at, ends.get(earlier.id, NEVER))
    return ends
