"""Old and new values of one thing: pairs of memories of which the later one replaces the earlier.

"The default branch is called master" and "the default branch is called trunk now" lie far apart
as vectors where memories are long, and as near as twins where they are short. So they are looked
for by what they are about: rare words and names lead to candidates, and two sentences that are the
same but for one value are judged by how the later one says it. Where it is not plain, nothing is
replaced, and the conflict is reported.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import chain, pairwise

from msgspec.structs import replace

from slowwave.consolidation.proposals import Conflict, group_numbers
from slowwave.store.records import Memory

from .dated_memory import DatedMemory
from .frames import Key
from .restatements import Restatements, ValuePair
from .search import NOTHING, Search, search


def find_updates(
    everyone: Sequence[DatedMemory],
    may_leave: Callable[[Memory], bool],
    earlier: Search = NOTHING,
) -> Updates:
    """Decide which values replace which; where that is not plain, say why.

    earlier: what was found in an earlier night, so that only what is new is compared.
    """
    searched = search(everyone, earlier)
    pairs = _value_pairs(everyone, searched)
    doubts = _doubts(pairs, everyone)
    plain = [pair for pair, why in zip(pairs, doubts, strict=True) if why is None]
    torn = {
        one
        for part in _parts(plain)
        if _stages(part) is None
        for pair in part
        for one in (pair.old, pair.new)
    }
    replaced: list[ValuePair] = []
    left: list[tuple[ValuePair, str]] = []
    for pair, doubt in zip(pairs, doubts, strict=True):
        why = doubt or _obstacle(pair, torn, may_leave)
        if pair.is_open:
            if why is None:
                replaced.append(pair)
            else:
                left.append((pair, why))
    staged = [(part, _stages(part)) for part in _parts(replaced)]
    replacements = [_replacement(part, stages) for part, stages in staged if stages is not None]
    # The first and the third value of three in a row are no conflict once the second is known.
    places = {one: place for place, made in enumerate(replacements) for one in made.memories}
    conflicts = [
        _conflict(pair, why)
        for pair, why in left
        if pair.old not in places or places[pair.old] != places.get(pair.new)
    ]
    conflicts += _handed_on(pairs, doubts, everyone, conflicts)
    return Updates(tuple(replacements), tuple(chain(*grouped(conflicts))), searched)


def _handed_on(
    pairs: Sequence[ValuePair],
    doubts: Sequence[str | None],
    everyone: Iterable[DatedMemory],
    conflicts: Iterable[Conflict],
) -> Iterator[Conflict]:
    """Yield the conflicts that what is superseded has left to what stands for it, each once."""
    successors = _Successors(everyone)
    handed = [
        _conflict(carried, doubt)
        for pair, doubt in zip(pairs, doubts, strict=True)
        if doubt is not None and (carried := successors.carried(pair)) is not None
    ]
    known = {frozenset(one.sources) for one in conflicts} if handed else set()
    for conflict in handed:
        if frozenset(conflict.sources) not in known:
            known.add(frozenset(conflict.sources))
            yield conflict


def _value_pairs(everyone: Iterable[DatedMemory], searched: Search) -> list[ValuePair]:
    """Return the pairs of memories that are open, or were observed.

    What was observed goes on telling which values a thing had, whatever became of it: else what
    one night sees to be torn the next one would call plain.
    """
    known = {one.key: one for one in everyone if one.open or one.observed}
    return [
        ValuePair(
            old,
            new,
            old.sentences[pair.old.at],
            new.sentences[pair.new.at],
            pair.change,
        )
        for pair in searched.pairs
        if (old := known.get(pair.old.key)) is not None
        and (new := known.get(pair.new.key)) is not None
    ]


def _doubts(pairs: Sequence[ValuePair], everyone: Iterable[DatedMemory]) -> list[str | None]:
    """Return why the texts leave in doubt that the later one of each pair replaces the earlier."""
    doubts = [_doubt(pair) for pair in pairs]
    plain = [pair for pair, why in zip(pairs, doubts, strict=True) if why is None]
    restatements = Restatements(everyone, plain) if plain else None
    return [
        "the earlier value was told again later"
        if why is None and restatements is not None and restatements.repeated_later(pair)
        else why
        for pair, why in zip(pairs, doubts, strict=True)
    ]


def _doubt(pair: ValuePair) -> str | None:
    """Return what the two texts themselves leave in doubt."""
    if pair.is_undated:
        return "nobody says which of them is the later one"
    if pair.change.doubted:
        return "one of them is not sure, or has it from somebody"
    if not pair.change.cued and not (pair.change.single and pair.on_two_days):
        # Two meetings, two doses, two issues: what has another value may be another thing.
        return "nothing says that it changed"
    if not pair.old.states_nothing_else(pair.change.old_keys):
        return "the earlier one says other things as well"
    return None


def _obstacle(
    pair: ValuePair, torn: set[DatedMemory], may_leave: Callable[[Memory], bool]
) -> str | None:
    """Return what stands against a change that the two texts tell plainly."""
    if pair.old in torn:
        return "more than one value is said to be the next"
    if not may_leave(pair.old.memory):
        return "the earlier one is protected"
    return None


class _Successors:
    """Memories as they are found by the ids of those that they stand for."""

    def __init__(self, everyone: Iterable[DatedMemory]) -> None:
        self._by_id = {one.memory.id: one for one in everyone}

    def carried(self, pair: ValuePair) -> ValuePair | None:
        """Return a conflict of memories that are superseded as one of those that stand for them.

        None where nothing is superseded, or nothing else tells the two values now.
        """
        if pair.is_open:
            return None
        old = self._stands_for(pair.old, pair.change.old_keys)
        new = self._stands_for(pair.new, pair.change.new_keys)
        return None if old is None or new is None or old is new else replace(pair, old=old, new=new)

    def _stands_for(self, one: DatedMemory, keys: frozenset[Key]) -> DatedMemory | None:
        """Return what stands for a memory and says of today that it has these values."""
        seen: set[str] = set()
        while not one.open:
            successor = self._by_id.get(one.memory.superseded_by or "")
            if successor is None or successor.memory.id in seen:
                return None
            seen.add(successor.memory.id)
            one = successor
        return one if any(sentence.holds(keys) for sentence in one.sentences) else None


@dataclass(frozen=True)
class StatedValue:
    """One value, and the memories that give it, earliest first."""

    keys: frozenset[Key]
    memories: tuple[DatedMemory, ...]

    @property
    def start(self) -> tuple[str, str]:
        """When it was first said."""
        return self.memories[0].moment


@dataclass(frozen=True)
class Replacement:
    """The values that one thing had, one after the other, the newest first."""

    slot: str
    values: tuple[str, ...]
    stages: tuple[StatedValue, ...]

    @property
    def memories(self) -> Iterable[DatedMemory]:
        """The memories that give any of the values."""
        return (one for stage in self.stages for one in stage.memories)


def grouped(conflicts: Sequence[Conflict]) -> list[list[Conflict]]:
    """Group conflicts that share a memory: they are about one thing."""
    groups: dict[int, list[Conflict]] = {}
    for number, conflict in zip(group_numbers(conflicts), conflicts, strict=True):
        groups.setdefault(number, []).append(conflict)
    return list(groups.values())


@dataclass(frozen=True)
class Updates:
    """What replaces what, and what stands against each other."""

    replacements: tuple[Replacement, ...]
    conflicts: tuple[Conflict, ...]
    # For the next night.
    search: Search = field(default=NOTHING, compare=False, repr=False)


def _replacement(part: Sequence[ValuePair], stages: Sequence[StatedValue]) -> Replacement:
    spelled = {pair.old: pair.change.old for pair in part}
    spelled |= {pair.new: pair.change.new for pair in part}
    values = tuple(min((spelled[one] for one in stage.memories), key=len) for stage in stages)
    return Replacement(part[0].change.kind, values, tuple(stages))


def _conflict(pair: ValuePair, why: str) -> Conflict:
    change = pair.change
    return Conflict(
        (pair.old.memory.id, pair.new.memory.id),
        pair.old.memory.tenant,
        f"{change.kind}: {change.about}",
        (change.old, change.new),
        why,
    )


def _parts(pairs: Sequence[ValuePair]) -> list[list[ValuePair]]:
    """Group pairs that share a memory, in the order of their last pairs."""
    if not pairs:
        return []
    import numpy as np
    from scipy.sparse import coo_matrix
    from scipy.sparse.csgraph import connected_components

    rows = {one: row for row, one in enumerate({one for p in pairs for one in (p.old, p.new)})}
    ends = np.array([(rows[pair.old], rows[pair.new]) for pair in pairs]).T
    graph = coo_matrix((np.ones(len(pairs)), (ends[0], ends[1])), shape=(len(rows), len(rows)))
    labels = connected_components(graph, directed=False)[1].tolist()
    parts: dict[int, list[ValuePair]] = {}
    for pair in pairs:
        label = labels[rows[pair.old]]
        parts[label] = parts.pop(label, [])
        parts[label].append(pair)
    return list(parts.values())


def _stages(pairs: Sequence[ValuePair]) -> list[StatedValue] | None:
    """Return the values of one thing, newest first; None if they do not follow one another."""
    keys: dict[DatedMemory, frozenset[Key]] = {}
    for pair in pairs:
        for one, of in (
            (pair.old, pair.change.old_keys),
            (pair.new, pair.change.new_keys),
        ):
            # Another sentence may differ in more words: the value is what all of them show.
            keys[one] = keys.get(one, of) & of
    stages: list[StatedValue] = []
    for one in sorted(keys, key=lambda each: each.moment):
        same = next((stage for stage in stages if stage.keys & keys[one]), None)
        if same is None:
            stages.append(StatedValue(keys[one], (one,)))
        else:
            stages.remove(same)
            stages.append(StatedValue(same.keys & keys[one], (*same.memories, one)))
    stages.sort(key=lambda stage: stage.start, reverse=True)
    ordered = all(before.memories[-1].moment < after.start for after, before in pairwise(stages))
    return stages if ordered and len(stages) > 1 and all(keys.values()) else None
