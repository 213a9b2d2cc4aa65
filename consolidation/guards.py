"""Pairs that must not become one memory, whatever their cosine is.

A guard looks at two readings and objects, or not. What it objects to is either a *conflict*
(each says something that the other denies or replaces) or an *addition* (one says something
more). A conflict keeps two memories out of one synthesis; a merge, which keeps one text and
drops the other, suffers neither.

Measured on memories of real conversations before the first line of this: of the 24 pairs with a
cosine of 0.92 or more among 2,541, seven are role swaps or two people's versions, at up to 0.996.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise

from . import lexicon
from .reading import Reading, stem
from .tokens import Token
from .values import Value

# The share of the fewer content words that two texts must have in common before a denial in one
# is taken to deny what the other says; higher for words that deny only by their meaning, such as
# "fails". Chosen on fixtures/night: with 0.6 fewer statements were brought together, and with
# either none was wrong.
DENIED_MATTER = 0.7
DOUBTED_MATTER = 0.75
# From this share of common words on, the same words in another order are another statement.
SAME_WORDS = 0.85

_PARTICIPLE = re.compile(r"(?:ed|en|n|t|ne)$")


@dataclass(frozen=True)
class Objection:
    """Why two memories must stay two: which guard, and what each of them says."""

    guard: str
    left: str
    right: str
    conflict: bool = True

    @property
    def why(self) -> str:
        """Say it in a line, both values in it."""
        return f"{self.left or 'nothing'} against {self.right or 'nothing'}"


def first_conflict(left: Reading, right: Reading) -> Objection | None:
    """Give the first conflict between two texts, or None."""
    return next((found for found in _objections(left, right) if found.conflict), None)


def first_difference(left: Reading, right: Reading) -> Objection | None:
    """Give the first conflict or addition between two texts, or None if they say the same."""
    return next(_objections(left, right), None)


def contradiction(left: Reading, right: Reading) -> Objection | None:
    """Give what plainly turns one text's roles, owners or directions round in the other."""
    return next((found for guard in _TURNED for found in guard(left, right)), None)


def _objections(left: Reading, right: Reading) -> Iterator[Objection]:
    for guard in _GUARDS:
        yield from guard(left, right)


def _values(left: Reading, right: Reading) -> Iterator[Objection]:
    """Numbers with units, dates, times, versions, identifiers, paths, hosts, quoted words."""
    only_left = _missing(left, right)
    only_right = _missing(right, left)
    for family in sorted({value.family for value in only_left + only_right}):
        here = [value.text for value in only_left if value.family == family]
        there = [value.text for value in only_right if value.family == family]
        both = bool(here and there)
        yield Objection(family, ", ".join(here), ", ".join(there), conflict=both)


def _missing(left: Reading, right: Reading) -> list[Value]:
    """Give the values of `left` that do not stand in `right`, in whatever form."""
    return [
        value
        for value in left.values
        if value.key not in right.value_keys and not _stands_in(value, right)
    ]


def _stands_in(value: Value, reading: Reading) -> bool:
    if value.family in ("number", "time", "date"):
        return False  # compared by what they mean, not by how they look
    words = re.findall(r"\w+", value.norm)
    return bool(words) and all(word in reading.words for word in words)


def _names(left: Reading, right: Reading) -> Iterator[Objection]:
    """Names that one has and the other does not."""
    here = [name for name in dict.fromkeys(left.names) if not _mentions(right, name)]
    there = [name for name in dict.fromkeys(right.names) if not _mentions(left, name)]
    if here or there:
        both = bool(here and there)
        yield Objection("name", ", ".join(here), ", ".join(there), conflict=both)


def _mentions(reading: Reading, name: str) -> bool:
    return name in reading.words or stem(name) in reading.stem_set


def _compounds(left: Reading, right: Reading) -> Iterator[Objection]:
    """Hyphenated names with a part in common: "haven-state" against "harbor-state"."""
    for one in sorted(left.compounds - right.compounds):
        for other in sorted(right.compounds - left.compounds):
            here, there = set(one.split("-")), set(other.split("-"))
            if here & there and not (here <= right.words or there <= left.words):
                yield Objection("identifier", one, other)


def _negation(left: Reading, right: Reading) -> Iterator[Objection]:
    """One denies what the other says."""
    here, there = left.negators + left.denials, right.negators + right.denials
    if bool(left.negators) and bool(right.negators):
        if left.denied & _affirmed(right) or right.denied & _affirmed(left):
            yield Objection("negation", ", ".join(here), ", ".join(there))
    elif bool(left.negators) != bool(right.negators):
        denying, saying = (left, right) if left.negators else (right, left)
        # "does not fail" and "works" agree, "never" and "avoid" agree.
        agrees = bool(denying.denials) == (not saying.denials)
        same = bool(denying.denied & _affirmed(saying)) or _shared(left, right) >= DENIED_MATTER
        yield Objection("negation", ", ".join(here), ", ".join(there), conflict=same and not agrees)
    elif bool(left.denials) != bool(right.denials):
        same = _shared(left, right) >= DOUBTED_MATTER
        yield Objection("negation", ", ".join(here), ", ".join(there), conflict=same)


def _affirmed(reading: Reading) -> frozenset[str]:
    return reading.stem_set - reading.denied


def _shared(left: Reading, right: Reading) -> float:
    """Give the share of the fewer content words that both have."""
    fewer = min(len(left.stem_set), len(right.stem_set))
    return len(left.stem_set & right.stem_set) / fewer if fewer else 1.0


def _exclusive(left: Reading, right: Reading) -> Iterator[Objection]:
    """Words of one line that exclude each other: before and after, red and blue."""
    for line in lexicon.EXCLUSIVE:
        here, there = line & left.words, line & right.words
        if here - there and there - here:
            yield Objection("opposite", _listed(here - there), _listed(there - here))


def _listed(words: frozenset[str]) -> str:
    return ", ".join(sorted(words))


def _direction(left: Reading, right: Reading) -> Iterator[Objection]:
    """From one to the other, and back."""
    here, there = _from_to(left), _from_to(right)
    for start, end in here:
        if (end, start) in there:
            yield Objection("direction", f"from {start} to {end}", f"from {end} to {start}")


def _from_to(reading: Reading) -> set[tuple[str, str]]:
    found = re.findall(r"\bfrom (?:the )?(\S+)(?: \S+)? to (?:the )?(\w+)", reading.text.lower())
    return {(start.strip(".,;"), end) for start, end in found}


def _owners(left: Reading, right: Reading) -> Iterator[Objection]:
    """Whose it is: "Ann's manager" against "the manager of Ben"."""
    here, there = left.owners, right.owners
    for thing in sorted(here.keys() & there.keys()):
        if not here[thing] & there[thing]:
            yield Objection(
                "role", f"{thing} of {_listed(here[thing])}", f"{thing} of {_listed(there[thing])}"
            )


def _roles(left: Reading, right: Reading) -> Iterator[Objection]:
    """Who does what to whom."""
    shared = _participants(left, right)
    here, there = _order(left, shared), _order(right, shared)
    if here is not None and there is not None and here != there:
        yield Objection("role", " > ".join(here), " > ".join(there))
    yield from _reversed(left, right)


def _unclear_roles(left: Reading, right: Reading) -> Iterator[Objection]:
    """Two who act on each other, in a sentence that does not say plainly who does what."""
    shared = _participants(left, right)
    here, there = _order(left, shared), _order(right, shared)
    if (here is None or there is None) and left.stems != right.stems:
        yield Objection("role", _arrow(here, left, shared), _arrow(there, right, shared))


def _participants(left: Reading, right: Reading) -> frozenset[str]:
    """Give those in both texts who might change places."""
    shared = left.persons & right.persons
    if (left.words | right.words) & lexicon.TRANSFERS and "user" in left.words & right.words:
        shared |= {"user"}
    return shared


def _arrow(order: tuple[str, ...] | None, reading: Reading, shared: frozenset[str]) -> str:
    if order is not None:
        return " > ".join(order)
    return " ? ".join(dict.fromkeys(token.bare for token in reading.tokens if token.bare in shared))


def _order(reading: Reading, names: frozenset[str]) -> tuple[str, ...] | None:
    """Give the names from the one who acts to the one it is done to; None where unclear.

    Only plain sentences are clear: a name, then what it does; or a passive with its "by". A
    clause before the main one, a first name that only owns something, and one who has or lets
    another act are not.
    """
    if len(names) < 2:
        return ()
    tokens = [
        token
        for token in _without_teller(reading)
        if token.bare not in lexicon.ANNOUNCING or token.bare == "user"
    ]
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
    if first.possessive or after in lexicon.HANDING_ON:
        return None
    return tuple(sorted(order)) if _conjoined(tokens, spots) else order


def _without_teller(reading: Reading) -> tuple[Token, ...]:
    """Drop the "User" of "User said that ...", who only told it."""
    tokens = reading.tokens
    if tokens and tokens[0].lower == "user" and reading.actors[:1] != ("user",):
        return tokens[1:]
    return tokens


def _agent(tokens: Sequence[Token], names: frozenset[str]) -> str | None:
    """Give the name behind the "by" of a passive; None without one, or with several."""
    passive = any(
        one.lower in lexicon.AUXILIARIES and _PARTICIPLE.search(after.lower)
        for one, after in pairwise(tokens)
    )
    agents = [
        after.bare for one, after in pairwise(tokens) if one.lower == "by" and after.bare in names
    ]
    return agents[0] if passive and len(agents) == 1 else None


def _conjoined(tokens: Sequence[Token], spots: Sequence[int]) -> bool:
    """Whether the names stand side by side ("Ana and Ben"), so that their order says nothing."""
    return all(
        later - earlier == 2 and tokens[earlier + 1].lower in ("and", "or")
        for earlier, later in pairwise(spots)
    )


def _reversed(left: Reading, right: Reading) -> Iterator[Objection]:
    """Find the same words in another order: "the api calls the worker", and back."""
    if _is_passive(left) != _is_passive(right) or left.actors == right.actors:
        return
    here, there = set(left.actors), set(right.actors)
    if len(here & there) < SAME_WORDS * len(here | there):
        return
    order = [word for word in left.actors if word in there]
    other = [word for word in right.actors if word in here]
    if order != other:
        yield Objection("role", " ".join(order), " ".join(other))


def _is_passive(reading: Reading) -> bool:
    return "by" in reading.words and bool(lexicon.AUXILIARIES & reading.words)


def _term(left: Reading, right: Reading) -> Iterator[Objection]:
    """Find the same sentence but for one word: "window" against "aisle"."""
    if len(left.stems) != len(right.stems):
        return
    pairs = [
        (one, other) for one, other in zip(left.stems, right.stems, strict=True) if one != other
    ]
    if len(pairs) == 1:
        yield Objection("term", *pairs[0])


def _wording(left: Reading, right: Reading) -> Iterator[Objection]:
    """Content words that only one of them has: a qualifier, or another way to say it.

    Without a model the two cannot be told apart, so a merge is left to those who can.
    """
    here = [word for word in dict.fromkeys(left.stems) if word not in right.stem_set]
    there = [word for word in dict.fromkeys(right.stems) if word not in left.stem_set]
    if here or there:
        yield Objection("wording", ", ".join(here), ", ".join(there), conflict=False)


_GUARDS: tuple[Callable[[Reading, Reading], Iterator[Objection]], ...] = (
    _values,
    _names,
    _compounds,
    _negation,
    _exclusive,
    _direction,
    _owners,
    _roles,
    _unclear_roles,
    _term,
    _wording,
)
_TURNED = (_owners, _roles, _direction)
