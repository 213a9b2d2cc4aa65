"""Which memory each text of a file leads to: now, or at an earlier moment."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence

from slowwave.consolidation.text.dates import DATE_MARK
from slowwave.store.lineage import Edge, KeptClaim
from slowwave.store.records import Memory

# Where a text leads nowhere: what it said is no longer there to be handed over.
NOWHERE = -1
# Later than any day that a text gives.
_NEVER = "9999-12-31"


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
        # made into (it may be evidence of a rule, too).
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


def holders_at(
    memories: Sequence[Memory],
    edges: Iterable[Edge],
    claims: Mapping[str, Sequence[KeptClaim]],
    moment: str,
) -> list[int]:
    """Return for each memory its own place if it said at `moment` what was so, or else `NOWHERE`.

    Only what was observed by then counts, in its own words: a derived memory may hold what came
    later, and is taken only where none of its sources is in the file any more. claims: of each
    memory that tells what was so before (`read_claims_of_updates`), which say until when.
    """
    there = {memory.id for memory in memories}
    derived_from_these = {edge.derived_id for edge in edges if edge.source_id in there}
    ended = _ends(claims)
    day = moment[:10]

    def stood(memory: Memory) -> bool:
        return (
            memory.observed_at <= moment
            and not memory.expired(moment)
            and not _is_made(memory, derived_from_these)
            and ended.get(memory.id, _NEVER) > day
        )

    return [place if stood(memory) else NOWHERE for place, memory in enumerate(memories)]


def _is_made(memory: Memory, derived: set[str]) -> bool:
    # A memory that took others in by a merge says what it always said.
    return memory.generation > 0 and memory.id in derived


def _ends(claims: Mapping[str, Sequence[KeptClaim]]) -> dict[str, str]:
    """Return the last day of each source that tells an older value.

    The claim of an older value cites what ended it, too; that one stands in a later claim.
    """
    ends: dict[str, str] = {}
    for stated in claims.values():
        for claim in stated:
            mark = DATE_MARK.match(claim.text)
            end = _NEVER if mark is None or mark[2] is None else mark[2]
            for source in claim.sources:
                ends[source] = max(end, ends.get(source, end))
    return ends
