"""Whether the earlier value of a pair was said again after the later one."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Sequence
from operator import itemgetter

from msgspec import Struct

from slowwave.store.records import UNDATED

from .changes import ValueChange
from .dated_memory import DatedMemory
from .frames import Key
from .sentence_features import SentenceFeatures


class ValuePair(Struct, frozen=True, eq=False, gc=False):
    """Two memories that give one thing two values."""

    old: DatedMemory
    new: DatedMemory
    old_sentence: SentenceFeatures
    new_sentence: SentenceFeatures
    change: ValueChange

    @property
    def core(self) -> frozenset[str]:
        """What both are about."""
        return self.old_sentence.topic_terms & self.new_sentence.topic_terms

    @property
    def is_open(self) -> bool:
        """Whether both can be replaced."""
        return self.old.open and self.new.open

    @property
    def on_two_days(self) -> bool:
        """Whether they were said on two days: of two values told on one, either may be a slip."""
        return self.old.memory.observed_at[:10] != self.new.memory.observed_at[:10]

    @property
    def is_undated(self) -> bool:
        """Whether nobody says when one of them was said: the file of another agent may not."""
        return UNDATED in (self.old.memory.observed_at, self.new.memory.observed_at)

    @property
    def fewest(self) -> int:
        """How many words of that another memory must share to be about the same."""
        # A word may stand for many things: only with what it is said of is it the value.
        words = (len(self.core) + 1) // 2 if self.change.kind == "word" else 0
        return max(words, min(len(self.core), 2))


class Restatements:
    """What was observed, to be found by the words and values that some pairs ask for."""

    def __init__(self, everyone: Iterable[DatedMemory], asking: Sequence[ValuePair]) -> None:
        """Take all memories, and the pairs that will be asked about."""
        observed = ((one.moment, one) for one in everyone if one.observed)
        timed = sorted(observed, key=itemgetter(0))
        self._moments = [moment for moment, _ in timed]
        self._all = [one for _, one in timed]
        asked = frozenset().union(*(one.core | _terms(one.change.old_keys) for one in asking))
        self._places: dict[str | Key, list[int]] = {term: [] for term in asked}
        for place, one in enumerate(self._all):
            said = frozenset().union(*map(_said, one.sentences)) if asked else frozenset()
            for term in said & asked:
                self._places[term].append(place)

    def repeated_later(self, pair: ValuePair) -> bool:
        """Whether the earlier value was told once more after the later one, and not with it."""
        start = bisect_right(self._moments, pair.new.moment)
        later = (self._all[place] for place in self._near(pair) if place >= start)
        change = pair.change
        return any(
            _gives(one, change.old_keys, pair) and not _gives(one, change.new_keys, pair)
            for one in later
        )

    def _near(self, pair: ValuePair) -> Iterable[int]:
        """Return the places of those that can tell the earlier value.

        By its rarest part, or else by the words that it is said of: of these they have one
        besides the most common ones.
        """
        by_value = [self._places[term] for term in _terms(pair.change.old_keys)]
        by_words = sorted((self._places[word] for word in pair.core), key=len)
        by_words = by_words[: len(by_words) - pair.fewest + 1]
        ways = [[one] for one in by_value] + ([by_words] if pair.fewest else [])
        if not ways:
            return range(len(self._all))
        shortest = min(ways, key=lambda lists: sum(map(len, lists)))
        return dict.fromkeys(place for places in shortest for place in places)


def _terms(keys: Iterable[Key]) -> frozenset[str | Key]:
    """Return what values are found by: a name or a word by itself."""
    return frozenset(key[1] if key[0] in ("name", "word") else key for key in keys)


def _said(sentence: SentenceFeatures) -> frozenset[str | Key]:
    return sentence.values.union(sentence.topic_terms, sentence.names)


def _gives(one: DatedMemory, keys: frozenset[Key], pair: ValuePair) -> bool:
    core, fewest = pair.core, pair.fewest
    return any(
        len(sentence.topic_terms & core) >= fewest and sentence.holds(keys)
        for sentence in one.sentences
    )
