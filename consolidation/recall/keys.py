"""Find the memory that each text of a file leads to, now or at an earlier time."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import pairwise

from slowwave.store.lineage import Edge
from slowwave.store.records import Memory
from slowwave.store.shown_to_model import Dispute

from .searched import SearchedMemories

# The row of a text that leads to no memory.
NOWHERE = -1
# Sorts after every timestamp.
NEVER = "~"


def current_holders(memories: SearchedMemories, edges: Iterable[Edge], now: str) -> list[int]:
    """Return for each memory the row of its current version, or `NOWHERE`.

    An active memory is its own. A superseded one leads to its replacement, over any number of
    generations.
    """
    statuses, successors = memories.column("status"), memories.column("superseded_by")
    is_current = [
        status == "active" and (end is None or end > now)
        for status, end in zip(statuses, memories.ends, strict=True)
    ]
    places = memories.place_of
    derived_from: dict[str, list[str]] = {}
    for edge in edges:
        derived_from.setdefault(edge.source_id, []).append(edge.derived_id)

    def holder(place: int) -> int:
        # Depth first: replacements before other derived memories, such as rules.
        stack, seen = [place], {place}
        while stack:
            place = stack.pop()
            if is_current[place]:
                return place
            if statuses[place] == "superseded":
                ids = [successors[place], *derived_from.get(memories[place].id, ())]
                after = [places[memory_id] for memory_id in ids if memory_id in places]
                stack += [place for place in reversed(after) if place not in seen]
                seen.update(after)
        return NOWHERE

    return [place if is_own else holder(place) for place, is_own in enumerate(is_current)]


def holders_at(memories: SearchedMemories, edges: Iterable[Edge], moment: str) -> list[int]:
    """Return for each memory its own row if it was valid at `moment`, else `NOWHERE`.

    Only memories observed by then count. A derived memory may contain later facts, and only counts
    if none of its sources is in the file. The sources of an update were valid until the next one
    was observed.
    """
    edges = tuple(edges)
    derived_ids = {edge.derived_id for edge in edges if edge.source_id in memories.place_of}
    source_ids = {edge.source_id for edge in edges}
    # When a later source of an update replaced each earlier one.
    ends: dict[str, str] = {}
    for earlier, later_at, _ in _replaced(edges, memories):
        ends[earlier.id] = min(later_at, ends.get(earlier.id, NEVER))

    def end(memory: Memory) -> str:
        if memory.status == "superseded" and memory.id not in source_ids:
            # A person replaced it: its text is in no derived memory.
            return memory.superseded_at or memory.observed_at
        return ends.get(memory.id, NEVER)

    def was_valid(memory: Memory) -> bool:
        return (
            memory.observed_at <= moment
            and not memory.has_expired(moment)
            # The survivor of a merge keeps its text.
            and (memory.generation == 0 or memory.id not in derived_ids)
            and moment < end(memory)
        )

    return [place if was_valid(memory) else NOWHERE for place, memory in enumerate(memories)]


def newer_values(
    memories: SearchedMemories, edges: Iterable[Edge], holders: Sequence[int]
) -> dict[str, Memory]:
    """Map each memory with an outdated value to the active one with the newer value, by id.

    Only decisions count: an update by a run, and a replacement by a person. holders: of
    `current_holders`.
    """
    edges = tuple(edges)
    source_ids = {edge.source_id for edge in edges}
    newer: dict[str, str] = {
        memory_id: successor
        for memory_id, successor in zip(
            memories.column("id"), memories.column("superseded_by"), strict=True
        )
        if successor is not None and memory_id not in source_ids
    }
    newer |= {earlier.id: derived for earlier, _, derived in _replaced(edges, memories)}

    def last(memory_id: str) -> Memory | None:
        seen = {memory_id}
        while memory_id in newer:
            place = memories.place_of.get(newer[memory_id])
            if place is None or holders[place] == NOWHERE:
                return None
            holder = memories[holders[place]]
            if holder.id in seen:
                return None
            memory_id = holder.id
            seen.add(memory_id)
        return holder

    values = {memory_id: last(memory_id) for memory_id in newer}
    return {memory_id: memory for memory_id, memory in values.items() if memory is not None}


def disputed_values(
    memories: SearchedMemories, disputes: Iterable[Dispute], holders: Sequence[int]
) -> dict[str, Memory]:
    """Map the earlier memory of each conflict that a model named to the later one, by id.

    Both are active; the replacement of a text counts as the text. holders: of `current_holders`.
    """
    disputes = tuple(disputes)
    if not disputes:
        return {}
    disputed = {text for _, *texts, _ in disputes for text in texts}
    by_text: dict[tuple[str, str], list[Memory]] = {}
    for memory, holder in zip(memories, holders, strict=True):
        if memory.content_hash in disputed and holder != NOWHERE:
            by_text.setdefault((memory.tenant, memory.content_hash), []).append(memories[holder])
    pairs = (
        (earlier, later)
        for tenant, earlier_hash, later_hash, _ in disputes
        for earlier in by_text.get((tenant, earlier_hash), ())
        for later in by_text.get((tenant, later_hash), ())
        if earlier.id != later.id
    )
    # The latest of several counts.
    in_order = sorted(pairs, key=lambda pair: (pair[1].observed_at, pair[1].id))
    return {earlier.id: later for earlier, later in in_order}


def _replaced(
    edges: Iterable[Edge], memories: SearchedMemories
) -> Iterator[tuple[Memory, str, str]]:
    """Yield each source that an update replaced, when, and the id of the derived memory.

    A source that a person found wrong although it is later ended when it was superseded.
    """
    updates: dict[str, set[str]] = {}
    for edge in edges:
        if edge.operation == "update":
            updates.setdefault(edge.derived_id, set()).add(edge.source_id)
    for derived, sources in updates.items():
        # One of the sources may have replaced the others itself.
        places = map(memories.place_of.get, (*sources, derived))
        members = [memories[place] for place in places if place is not None]
        members = [memory for memory in members if memory.id != derived or memory.generation == 0]
        members.sort(key=lambda memory: (memory.id == derived, memory.observed_at, memory.id))
        for earlier, later in pairwise(members):
            end = later.observed_at
            if end < earlier.observed_at:
                end = earlier.superseded_at or NEVER
            if end > earlier.observed_at:
                yield earlier, end, derived
