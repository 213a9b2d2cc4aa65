"""Old and new values of one thing: pairs of memories of which the later one replaces the earlier.

"The default branch is called master" and "the default branch is called trunk now" lie far apart
as vectors where memories are long, and as near as twins where they are short. So they are looked
for by what they are about: rare words and names lead to candidates, and two sentences that are the
same but for one value are judged by how the later one says it. Where it is not plain, nothing is
replaced, and the conflict is reported.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from itertools import pairwise

from slowwave.consolidation.extractive import DATE_MARK, current_part
from slowwave.consolidation.population import Population
from slowwave.consolidation.proposals import Conflict
from slowwave.consolidation.thresholds import COMMON_WORD, OUTWEIGHING
from slowwave.store.records import Memory

from .changes import Change, Matter, compare
from .frames import Frame, Key, frames_of


@dataclass(frozen=True, eq=False)
class Told:
    """A memory as the search sees it."""

    memory: Memory
    frames: tuple[Frame, ...]
    # Whether it can be replaced: it is active, and not what stands behind another one.
    open: bool

    @property
    def observed(self) -> bool:
        """Whether somebody said it; what was made of it counts as no further voice."""
        return self.memory.generation == 0

    @property
    def moment(self) -> tuple[str, str]:
        """When it was said; of two at once the order of ids decides."""
        return self.memory.observed_at, self.memory.id

    @property
    def day(self) -> str:
        """The day on which it was said."""
        return self.memory.observed_at[:10]

    def states(self, keys: frozenset[Key]) -> bool:
        """Whether it holds all of these values."""
        return any(_holds(frame, keys) for frame in self.frames)

    def states_nothing_else(self, keys: frozenset[Key]) -> bool:
        """Whether each of its sentences is about these values."""
        return all(_holds(frame, keys) for frame in self.frames)


def as_told(memory: Memory, is_open: bool = True) -> Told:
    """Give a memory as the search sees it: what it says of today, sentence by sentence."""
    text = DATE_MARK.sub("", current_part(memory.content))
    return Told(memory, tuple(frames_of(text)), is_open)


def told_of(population: Population, is_open: Callable[[int], bool]) -> list[Told]:
    """Give all that a tenant's memories say; what stands in a derived one is not open itself."""
    observed = [as_told(memory, is_open(row)) for row, memory in enumerate(population.memories)]
    # An active memory that commands its reader replaces nothing, and nothing is put into it.
    return observed + [
        as_told(memory, memory.id not in population.orders)
        for memory in population.derived
        if memory.layer == "stable"
    ]


def _holds(frame: Frame, keys: frozenset[Key]) -> bool:
    known = frame.values.keys()
    return all(
        key in known or (key[0] in ("name", "word") and key[1] in _words(frame)) for key in keys
    )


def _words(frame: Frame) -> frozenset[str]:
    return frame.matter.union(frame.names)


@dataclass(frozen=True, eq=False)
class Pair:
    """An earlier and a later memory that give one thing two values."""

    old: Told
    new: Told
    old_frame: Frame
    new_frame: Frame
    change: Change


def find_pairs(everyone: Sequence[Told]) -> list[Pair]:
    """Give the pairs of open memories that differ in one value of one thing, earliest first.

    Rare words lead from one to the other, so that the time it takes grows with the number of
    memories and not with its square.
    """
    placed = [
        (one, frame) for one in sorted(everyone, key=lambda one: one.moment) for frame in one.frames
    ]
    # Of what was observed alone: what a run derives must not change what the next one finds.
    matter = Matter(frame for one, frame in placed if one.observed)
    postings: dict[str, list[int]] = {}
    pairs: list[Pair] = []
    for at, (later, frame) in enumerate(placed):
        words = [word for word in frame.leads if matter.counts[word] <= COMMON_WORD]
        if later.open and later.observed:
            shared = Counter(place for word in words for place in postings.get(word, ()))
            for place in sorted(shared):
                earlier, before = placed[place]
                if earlier is not later and earlier.open:
                    change = compare(before, frame, matter)
                    if change is not None:
                        pairs.append(Pair(earlier, later, before, frame, change))
        for word in words:
            postings.setdefault(word, []).append(at)
    return pairs


def find_updates(everyone: Sequence[Told], may_leave: Callable[[Memory], bool]) -> Found:
    """Decide which values replace which; where that is not plain, say why."""
    pairs = find_pairs(everyone)
    voices = _Voices(everyone)
    doubts = [(pair, _doubt(pair, voices, may_leave)) for pair in pairs]
    replacements: list[Replacement] = []
    torn: set[Told] = set()
    for part in _parts([pair for pair, why in doubts if why is None]):
        stages = _stages(part)
        if stages is None:
            torn.update(one for pair in part for one in (pair.old, pair.new))
        else:
            replacements.append(_replacement(part, stages))
    conflicts = [
        _conflict(pair, why or "more than one value is said to be the next")
        for pair, why in doubts
        if why is not None or pair.old in torn
    ]
    return Found(tuple(replacements), tuple(conflicts))


@dataclass(frozen=True)
class Stage:
    """One value, and the memories that give it, earliest first."""

    keys: frozenset[Key]
    told: tuple[Told, ...]

    @property
    def start(self) -> tuple[str, str]:
        """When it was first said."""
        return self.told[0].moment


@dataclass(frozen=True)
class Replacement:
    """The values that one thing had, one after the other, the newest first."""

    slot: str
    values: tuple[str, ...]
    stages: tuple[Stage, ...]


@dataclass(frozen=True)
class Found:
    """What replaces what, and what stands against each other."""

    replacements: tuple[Replacement, ...]
    conflicts: tuple[Conflict, ...]


def _replacement(part: Sequence[Pair], stages: Sequence[Stage]) -> Replacement:
    spelled = {pair.old: pair.change.slot.old for pair in part}
    spelled |= {pair.new: pair.change.slot.new for pair in part}
    values = tuple(min((spelled[one] for one in stage.told), key=len) for stage in stages)
    return Replacement(part[0].change.slot.kind, values, tuple(stages))


def _conflict(pair: Pair, why: str) -> Conflict:
    slot = pair.change.slot
    about = " ".join(pair.new_frame.spelled(pair.old_frame.matter & pair.new_frame.matter))
    return Conflict(
        (pair.old.memory.id, pair.new.memory.id),
        pair.old.memory.tenant,
        f"{slot.kind}: {about}",
        (slot.old, slot.new),
        why,
    )


def _doubt(pair: Pair, voices: _Voices, may_leave: Callable[[Memory], bool]) -> str | None:
    """Give why the later memory of a pair does not replace the earlier one; None if it does."""
    old, change = pair.old, pair.change
    if change.doubted:
        return "one of them is not sure, or has it from somebody"
    if not change.cued:
        # Two meetings, two doses, two issues: what has another value may be another thing.
        return "nothing says that it changed"
    if not may_leave(old.memory):
        return "the earlier one is protected"
    if not old.states_nothing_else(change.slot.old_keys):
        return "the earlier one says other things as well"
    return _doubt_by_others(pair, voices)


def _doubt_by_others(pair: Pair, voices: _Voices) -> str | None:
    slot, cued = pair.change.slot, pair.change.cued
    core = pair.old_frame.matter & pair.new_frame.matter
    # A word may stand for many things: only with what it is said of is it the value.
    words = (len(core) + 1) // 2 if slot.kind == "word" else 0
    fewest = max(words, min(len(core), 2 if cued else 1))
    olds = voices.that_tell(slot.old_keys, core, fewest)
    news = voices.that_tell(slot.new_keys, core, fewest)
    both = set(olds) & set(news)
    if any(one.moment > pair.new.moment for one in olds if one not in both):
        return "the earlier value was told again later"
    if cued:
        return None
    if any(one.moment < pair.old.moment for one in news):
        return "the later value had been told before"
    if max(len(olds), len(news)) >= OUTWEIGHING * min(len(olds), len(news)):
        return "one of the values was told much more often: the other may be a slip"
    if sorted(slot.old) == sorted(slot.new):
        return "the two values have the same digits"
    return None


class _Voices:
    """What was observed, to be found by what it is about."""

    def __init__(self, everyone: Iterable[Told]) -> None:
        self._about: dict[str, list[Told]] = {}
        self._all = [one for one in everyone if one.observed]
        for one in self._all:
            for word in {word for frame in one.frames for word in frame.matter}:
                self._about.setdefault(word, []).append(one)

    def that_tell(self, keys: frozenset[Key], core: frozenset[str], fewest: int) -> list[Told]:
        """Give those that tell some values, and share so many words of what they are about."""
        near = self._near(core, fewest) if fewest else self._all
        return [one for one in near if _tells_of(one, keys, core, fewest)]

    def _near(self, core: frozenset[str], fewest: int) -> Iterable[Told]:
        """Give those that can share so many words: they have one besides the most common ones."""
        rarest = sorted(core, key=lambda word: (len(self._about.get(word, ())), word))
        words = rarest[: len(core) - fewest + 1]
        return dict.fromkeys(one for word in words for one in self._about.get(word, ()))


def _tells_of(one: Told, keys: frozenset[Key], core: frozenset[str], fewest: int) -> bool:
    return any(len(frame.matter & core) >= fewest and _holds(frame, keys) for frame in one.frames)


def _parts(pairs: Sequence[Pair]) -> list[list[Pair]]:
    """Put pairs that have a memory in common together."""
    parts: list[tuple[set[Told], list[Pair]]] = []
    for pair in pairs:
        joined = [part for part in parts if part[0] & {pair.old, pair.new}]
        parts = [part for part in parts if part not in joined]
        members = {pair.old, pair.new}.union(*(part[0] for part in joined))
        parts.append((members, [*(one for part in joined for one in part[1]), pair]))
    return [part for _, part in parts]


def _stages(pairs: Sequence[Pair]) -> list[Stage] | None:
    """Give the values of one thing, newest first; None if they do not follow one another."""
    keys: dict[Told, frozenset[Key]] = {}
    for pair in pairs:
        for one, of in (
            (pair.old, pair.change.slot.old_keys),
            (pair.new, pair.change.slot.new_keys),
        ):
            # Another sentence may differ in more words: the value is what all of them show.
            keys[one] = keys.get(one, of) & of
    stages: list[Stage] = []
    for one in sorted(keys, key=lambda each: each.moment):
        same = next((stage for stage in stages if stage.keys & keys[one]), None)
        if same is None:
            stages.append(Stage(keys[one], (one,)))
        else:
            stages.remove(same)
            stages.append(Stage(same.keys & keys[one], (*same.told, one)))
    stages.sort(key=lambda stage: stage.start, reverse=True)
    ordered = all(before.told[-1].moment < after.start for after, before in pairwise(stages))
    return stages if ordered and len(stages) > 1 and all(keys.values()) else None
