"""Names, values and words that stand in each other's place in a text.

All of them stand in the sources too, so that no list of what is there finds it: "Evan paints for
Sam" has every word of "Sam paints for Evan". What gives it away is that the text would fit its
sources better with the two exchanged.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import combinations, pairwise

from slowwave.consolidation.text import lexicon
from slowwave.consolidation.text.reading import Reading
from slowwave.consolidation.text.statements import Statement
from slowwave.consolidation.text.tokens import stem
from slowwave.consolidation.thresholds import EXCHANGED_IN_A_DRAFT

from .parties import names_placed

# How many words on each side of a word make its place.
_NEAR = 2
# A side and the word that stands there.
_Place = tuple[int, str]


def find_swapped(sentence: Reading, cited: Sequence[Reading]) -> Iterator[tuple[str, str]]:
    """Yield the pairs of words that stand in each other's place, compared with the cited."""
    placed = {stem(name) for one in cited for name in names_placed(one)}
    groups = [one - placed for one in _exchangeable(sentence)]
    yield from _misplaced([one for one in groups if len(one) > 1], sentence, cited)
    for twin in cited:
        for one, other in _exchanged_words(sentence.flow, twin.flow):
            # Without a verb between them ("the door seal", "the seal of the door") the order of two
            # words says nothing that they do not.
            between = _between(one, other, sentence.flow) & _between(other, one, twin.flow)
            if between & _verbs([sentence, *cited]):
                yield one, other


def _misplaced(
    groups: Sequence[set[str]], sentence: Reading, cited: Sequence[Reading]
) -> Iterator[tuple[str, str]]:
    """Yield the pairs of a group that would fit better exchanged, by the words around them."""
    if not groups:
        return
    here, there = _places([sentence]), _places(cited)
    persons = {stem(name) for name in sentence.persons}
    flows = [sentence.flow, *(one.flow for one in cited)]
    for group in groups:
        for one, other in combinations(sorted(group & here.keys() & there.keys()), 2):
            # What stands side by side ("8:00 to 10:00", "Ann of Ulm") has one place.
            beside = any(_side_by_side(one, other, flow) for flow in flows) or (
                one in persons and any(near == other for _, near in here[one] | there[one])
            )
            if not beside and _fits_better_exchanged(one, other, here, there):
                yield one, other


def _side_by_side(one: str, other: str, flow: Sequence[str]) -> bool:
    return any({one, other} == {left, right} for left, right in pairwise(flow))


def _between(one: str, other: str, flow: Sequence[str]) -> set[str]:
    start, end = sorted((flow.index(one), flow.index(other)))
    return set(flow[start + 1 : end])


def _verbs(readings: Sequence[Reading]) -> frozenset[str]:
    things = (thing for one in readings for thing in Statement(one.text).things)
    return frozenset(thing.key for thing in things if thing.is_verb)


def _exchangeable(sentence: Reading) -> list[set[str]]:
    """Return what could take each other's place: names, and values of one kind and unit."""
    groups: dict[tuple[str, str], set[str]] = {}
    for value in sentence.measures:
        groups.setdefault(value.measure, set()).add(value.norm)
    persons = set(sentence.persons) - names_placed(sentence)
    if sentence.words & lexicon.TRANSFERS:
        persons.add("user")
    return [{stem(name) for name in persons}, *groups.values()]


def _places(readings: Sequence[Reading]) -> dict[str, set[_Place]]:
    """Return the words around each word, with the side on which they stand."""
    places: dict[str, set[_Place]] = {}
    for flow in (reading.flow for reading in readings):
        for at, word in enumerate(flow):
            around = places.setdefault(word, set())
            around.update((-1, near) for near in flow[max(0, at - _NEAR) : at])
            around.update((1, near) for near in flow[at + 1 : at + 1 + _NEAR])
    return places


def _fits_better_exchanged(
    one: str, other: str, here: Mapping[str, set[_Place]], there: Mapping[str, set[_Place]]
) -> bool:
    def fit(word: str, cited: str) -> int:
        return sum(near not in (one, other) for _, near in here[word] & there[cited])

    if not (fit(one, other) and fit(other, one)):
        return False
    return fit(one, other) + fit(other, one) > fit(one, one) + fit(other, other)


def _exchanged_words(flow: Sequence[str], twin: Sequence[str]) -> Iterator[tuple[str, str]]:
    """Yield two words that changed places in what is the same sentence otherwise."""
    here, there = set(flow), set(twin)
    if len(here & there) < EXCHANGED_IN_A_DRAFT * len(here | there):
        return
    pairs = zip(
        (word for word in flow if word in there),
        (word for word in twin if word in here),
        strict=False,
    )
    moved = [(one, other) for one, other in pairs if one != other]
    if len(moved) == 2 and moved[0] == moved[1][::-1]:
        yield moved[0]
