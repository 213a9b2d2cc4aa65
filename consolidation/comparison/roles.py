"""Guards on who does what to whom, whose a thing is, from where to where.

Two texts of which each has the other's words, and says something else: nothing tells them apart
but the order. Where a sentence does not say plainly who does what, that is reason enough to keep
it away from another about the same two.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from itertools import pairwise

from slowwave.consolidation import thresholds
from slowwave.consolidation.text import lexicon
from slowwave.consolidation.text.reading import Reading, cached_per_text
from slowwave.consolidation.text.tokens import Token, stem
from slowwave.consolidation.text.word_order import is_passive_by

from .objections import Objection


def direction(left: Reading, right: Reading) -> Iterator[Objection]:
    """From one to the other, and back."""
    here, there = _from_to(left), _from_to(right)
    for start, end in sorted(here):
        if (end, start) in there:
            yield Objection("direction", f"from {start} to {end}", f"from {end} to {start}")


@cached_per_text
def _from_to(reading: Reading) -> set[tuple[str, str]]:
    found = re.findall(r"\bfrom (?:the )?(\S+)(?: \S+)? to (?:the )?(\w+)", reading.said.lower())
    return {(start.strip(".,;"), end) for start, end in found}


def roles(left: Reading, right: Reading) -> Iterator[Objection]:
    """Who does what to whom."""
    shared = _participants(left, right)
    if len(shared) < 2:
        return
    here, there = _order(left, shared), _order(right, shared)
    if here is not None and there is not None and here != there:
        yield Objection("role", " > ".join(here), " > ".join(there))


def unclear_roles(left: Reading, right: Reading) -> Iterator[Objection]:
    """Two who act on each other, in a sentence that does not say plainly who does what."""
    shared = _participants(left, right)
    if len(shared) < 2:
        return
    here, there = _order(left, shared), _order(right, shared)
    unclear = here is None or there is None
    # "Ann hands Ben the report" and "Ann checks Ben's report" have them in the same order.
    acting = here == there and not _same_deed(left, right)
    if (unclear or acting) and left.stems != right.stems:
        one, other = _arrow(here, left, shared), _arrow(there, right, shared)
        yield Objection("role", one, other, doubtful=True)


def _same_deed(left: Reading, right: Reading) -> bool:
    """Whether two texts have a word in common besides the names of who is in both."""
    names = {stem(name) for name in (*left.names, *right.names)}
    deeds = [_deeds(reading) - names for reading in (left, right)]
    return not deeds[0].isdisjoint(deeds[1])


def _deeds(reading: Reading) -> set[str]:
    """Return the words that may say what someone does: those behind a name and before a "by"."""
    tokens = reading.tokens
    found = set()
    for before, token in pairwise(tokens):
        if before.bare in reading.persons and not before.possessive:
            found.add(stem(token.bare))
        if token.lower == "by":
            found.add(stem(before.bare))
    return found


def _participants(left: Reading, right: Reading) -> frozenset[str]:
    """Return those in both texts who might change places."""
    shared = left.persons & right.persons
    both_tell = "user" in left.words and "user" in right.words
    return shared | {"user"} if both_tell and (_hands_over(left) or _hands_over(right)) else shared


@cached_per_text
def _hands_over(reading: Reading) -> bool:
    return not reading.words.isdisjoint(lexicon.TRANSFERS)


def _arrow(order: tuple[str, ...] | None, reading: Reading, shared: frozenset[str]) -> str:
    if order is not None:
        return " > ".join(order)
    return " ? ".join(dict.fromkeys(token.bare for token in reading.tokens if token.bare in shared))


def _order(reading: Reading, names: frozenset[str]) -> tuple[str, ...] | None:
    """Return the names from the one who acts to the one it is done to; None where unclear.

    Only plain sentences are clear: a name, then what it does; or a passive with its "by". A
    clause before the main one, a first name that only owns something, and one who has or lets
    another act are not.
    """
    if len(names) < 2:
        return ()
    tokens = reading.tokens
    spots = [index for index, token in enumerate(tokens) if token.bare in names]
    order = tuple(dict.fromkeys(tokens[index].bare for index in spots))
    agent = _agent(tokens, names)
    if agent is not None:
        return (agent, *(name for name in order if name != agent))
    if not spots or any(token.lower == "by" for token in tokens):
        return None
    first = tokens[spots[0]]
    after = tokens[spots[0] + 1].lower if spots[0] + 1 < len(tokens) else ""
    if any(token.lower in lexicon.SUBORDINATORS for token in tokens[: spots[0]]):
        return None
    if first.possessive or after in lexicon.CONTROL_VERBS:
        return None
    return tuple(sorted(order)) if _conjoined(tokens, spots) else order


def _agent(tokens: Sequence[Token], names: frozenset[str]) -> str | None:
    """Return the name behind the "by" of a passive; None without one, or with several."""
    agents = [
        after.bare
        for index, after in enumerate(tokens[1:])
        if after.bare in names and is_passive_by(tokens, index)
    ]
    return agents[0] if len(agents) == 1 else None


def _conjoined(tokens: Sequence[Token], spots: Sequence[int]) -> bool:
    """Whether the names stand side by side ("Ana and Ben"), so that their order says nothing."""
    return all(
        later - earlier == 2 and tokens[earlier + 1].lower in ("and", "or")
        for earlier, later in pairwise(spots)
    )


def reversed_words(left: Reading, right: Reading) -> Iterator[Objection]:
    """Find the same words in another order: "the api calls the worker", and back."""
    here, there = _acting(left), _acting(right)
    if len(here & there) < thresholds.EXCHANGED_WORDS * len(here | there):
        return
    order, other = _in_common(left.actors, right.actors)
    if order != other:
        one_way, otherwise = " ".join(left.spelled(order)), " ".join(right.spelled(other))
        yield Objection("role", one_way, otherwise, doubtful=not _two_exchanged(order, other))


@cached_per_text
def _acting(reading: Reading) -> frozenset[str]:
    return frozenset(reading.actors)


def _two_exchanged(left: Sequence[str], right: Sequence[str]) -> bool:
    """Whether two words with something between them changed places, and nothing else did.

    Neighbours may: "a French attorney" is an attorney and French.
    """
    moved = [at for at, (one, other) in enumerate(zip(left, right, strict=True)) if one != other]
    return len(moved) == 2 and moved[1] - moved[0] > 1


def _in_common(left: Sequence[str], right: Sequence[str]) -> tuple[list[str], list[str]]:
    """Return the words that both have, each once, in the order of each."""
    here, there = set(left), set(right)
    return (
        [word for word in dict.fromkeys(left) if word in there],
        [word for word in dict.fromkeys(right) if word in here],
    )


def bindings(left: Reading, right: Reading) -> Iterator[Objection]:
    """Values that change places while the words do not: "A on 80, B on 443", and the reverse."""
    here, there = _by_measure(left), _by_measure(right)
    for measure in sorted(here.keys() & there.keys()) if here and there else ():
        values, others = _in_common(here[measure], there[measure])
        if values != others and _same_order_of_things(left, right):
            yield Objection("role", ", ".join(values), ", ".join(others))


@cached_per_text
def _by_measure(reading: Reading) -> dict[tuple[str, str], list[str]]:
    """Return the values that could change places, in order: those of one kind and unit."""
    found: dict[tuple[str, str], list[str]] = {}
    for value in reading.stated:
        found.setdefault(value.measure, []).append(value.norm)
    return found


def _same_order_of_things(left: Reading, right: Reading) -> bool:
    """Whether the names that both have, or else the words, come in one order; with two or more."""
    names, others = _in_common(left.names, right.names)
    if len(names) < 2:
        names, others = _in_common(left.actors, right.actors)
    return len(names) >= 2 and names == others
