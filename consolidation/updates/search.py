"""Which pairs of sentences give one thing two values, found once and kept from night to night.

Rare words lead from one sentence to the other, so that the time it takes grows with the number of
memories and not with its square. What two sentences say of each other depends on them alone: of
two that were searched before, it is known.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import chain
from typing import NamedTuple

from msgspec import Struct

from slowwave.consolidation.clustering.pair_order import order_pairs_by_text
from slowwave.consolidation.thresholds import COMMON_WORD

from .changes import ValueChange, compare
from .dated_memory import DatedMemory
from .prefilter import worth_comparing
from .sentence_features import SentenceFeatures


# Of these there are a hundred thousand to a file of fifty thousand memories. None leads back to
# itself, so that the search for such cycles need not go through them.
class Spot(Struct, frozen=True, array_like=True, gc=False):
    """A sentence: the key of its memory, and its place among what that says."""

    key: bytes
    at: int


class SentencePair(Struct, frozen=True, array_like=True, gc=False):
    """An earlier and a later sentence that give one thing two values."""

    old: Spot
    new: Spot
    change: ValueChange


class _Placed(NamedTuple):
    """A sentence in the order of time."""

    memory: DatedMemory
    at: int
    sentence: SentenceFeatures

    @property
    def spot(self) -> Spot:
        return Spot(self.memory.key, self.at)


class Search(Struct, frozen=True, array_like=True):
    """What was searched, and what was found. A pair may be of memories that are not open."""

    searched: frozenset[bytes] = frozenset()
    # Words that led nowhere, being in too many sentences.
    common: frozenset[str] = frozenset()
    # In the order of time of the later one, then of the earlier one.
    pairs: tuple[SentencePair, ...] = ()


NOTHING = Search()


def search(everyone: Iterable[DatedMemory], earlier: Search = NOTHING) -> Search:
    """Return all pairs, comparing only what an earlier search did not compare.

    The answer is that of a search from nothing.
    """
    placed = [
        _Placed(memory, at, sentence)
        for memory in sorted(everyone, key=lambda one: one.moment)
        for at, sentence in enumerate(memory.sentences)
    ]
    leads = [one.sentence.leads for one in placed]
    common = _common(placed, leads)
    # What had been too common says nothing of what was compared.
    revived = earlier.common - common
    fresh = [
        place
        for place, one in enumerate(placed)
        if one.memory.key not in earlier.searched or not revived.isdisjoint(leads[place])
    ]
    pairs = dict(_still_there(earlier, placed, leads, common))
    pairs.update(_compared(placed, leads, fresh, common))
    return Search(
        frozenset(one.memory.key for one in placed),
        common,
        tuple(pairs[place] for place in sorted(pairs)),
    )


def _still_there(
    earlier: Search,
    placed: Sequence[_Placed],
    leads: Sequence[frozenset[str]],
    common: frozenset[str],
) -> Iterator[tuple[tuple[int, int], SentencePair]]:
    """Give what was found earlier and would be found again, by the places of both."""
    places = {one.spot: place for place, one in enumerate(placed)}
    # Each pair shared a word that was not too common: only what has become so can part it.
    now_common = not common <= earlier.common
    for pair in earlier.pairs:
        old, new = places.get(pair.old), places.get(pair.new)
        if old is None or new is None:
            continue
        if now_common and not (leads[old] & leads[new]) - common:
            continue
        yield (new, old), pair


def _common(placed: Sequence[_Placed], leads: Sequence[frozenset[str]]) -> frozenset[str]:
    """Return the words in more sentences than may lead to each other.

    Of what was observed alone: what a run derives must not change what the next one finds.
    """
    observed = (words for one, words in zip(placed, leads, strict=True) if one.memory.observed)
    counts = Counter(chain.from_iterable(observed))
    return frozenset(word for word, count in counts.items() if count > COMMON_WORD)


def _compared(
    placed: Sequence[_Placed],
    leads: Sequence[frozenset[str]],
    fresh: Sequence[int],
    common: frozenset[str],
) -> Iterator[tuple[tuple[int, int], SentencePair]]:
    """Compare what is fresh with all that it shares a word with; give pairs by their places."""
    worth = [
        pair
        for pair in _neighbours(placed, leads, fresh, common)
        if worth_comparing(*(placed[place].sentence for place in pair))
    ]
    for earlier, later in _side_by_side(worth, len(placed)):
        old, new = placed[earlier], placed[later]
        change = compare(old.memory.frames[old.at], new.memory.frames[new.at])
        if change is not None:
            yield (later, earlier), SentencePair(old.spot, new.spot, change)


def _side_by_side(pairs: Sequence[tuple[int, int]], count: int) -> list[tuple[int, int]]:
    """Return pairs in an order in which few texts have to be read twice."""
    import numpy as np

    if not pairs:
        return []
    earlier, later = np.array(pairs, dtype=np.int32).T
    return [pairs[at] for at in order_pairs_by_text(earlier, later, count).tolist()]


def _neighbours(
    placed: Sequence[_Placed],
    leads: Sequence[frozenset[str]],
    fresh: Sequence[int],
    common: frozenset[str],
) -> Iterator[tuple[int, int]]:
    """Yield the places of an earlier and a later sentence that share a word, one of them fresh.

    The later one was observed: what a run derives replaces nothing.
    """
    wanted = frozenset(chain.from_iterable(leads[place] for place in fresh)) - common
    observed, derived = _postings(placed, leads, wanted)
    done: set[int] = set()
    for place in fresh:
        done.add(place)
        words = leads[place] & wanted
        near = set().union(*(observed.get(word, ()) for word in words))
        if placed[place].memory.observed:
            near.update(*(derived.get(word, ()) for word in words))
        for other in sorted(near - done):
            earlier, later = min(place, other), max(place, other)
            of_two = placed[place].memory is not placed[other].memory
            if of_two and placed[later].memory.observed:
                yield earlier, later


def _postings(
    placed: Sequence[_Placed], leads: Sequence[frozenset[str]], wanted: frozenset[str]
) -> tuple[Mapping[str, list[int]], Mapping[str, list[int]]]:
    """Return for each word the places of what was observed, and of what was derived."""
    postings: tuple[dict[str, list[int]], dict[str, list[int]]] = ({}, {})
    for place, one in enumerate(placed):
        for word in leads[place] & wanted:
            postings[not one.memory.observed].setdefault(word, []).append(place)
    return postings
