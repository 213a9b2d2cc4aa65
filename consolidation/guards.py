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
from collections.abc import Iterator, Sequence

from . import lexicon, mood, roles
from .objections import Guard, Objection, listed
from .reading import Reading
from .tokens import stem

__all__ = [
    "Objection",
    "first_conflict",
    "first_difference",
    "other_statement",
    "other_term",
    "turned_round",
]

# The share of the fewer content words that two texts must have in common before a denial in one
# is taken to deny what the other says; higher for words that deny only by their meaning, such as
# "fails". Chosen on fixtures/night: with 0.6 fewer statements were brought together, and with
# either none was wrong.
DENIED_MATTER = 0.7
DOUBTED_MATTER = 0.75

_PASSIVE = frozenset({"by", "was", "were"})
# "on" and "off" where they are no prepositions.
_SWITCHED = re.compile(r"\b(?:turn|switch)\w* (on|off)\b|\b(on|off)(?=\s*(?:[.,;:!?)]|$))", re.I)


def first_conflict(left: Reading, right: Reading) -> Objection | None:
    """Give the first conflict between two texts, or None."""
    return next((found for found in _objections(left, right) if found.conflict), None)


def first_difference(left: Reading, right: Reading) -> Objection | None:
    """Give the first conflict or addition between two texts, or None if they say the same."""
    return next(_objections(left, right), None)


def other_statement(left: Reading, right: Reading) -> Objection | None:
    """Give the first conflict in what two sentences about one thing say of it."""
    found = (objection for guard in _SAID for objection in guard(left, right))
    return next((objection for objection in found if objection.conflict), None)


def turned_round(left: Reading, right: Reading) -> Objection | None:
    """Give what plainly turns one text's roles, owners or directions round in the other."""
    return next((found for guard in _TURNED for found in guard(left, right)), None)


def _objections(left: Reading, right: Reading) -> Iterator[Objection]:
    for guard in _GUARDS:
        yield from guard(left, right)


def _values(left: Reading, right: Reading) -> Iterator[Objection]:
    """Numbers with units, dates, times, versions, identifiers, paths, hosts, quoted words."""
    only_left = [value for value in left.values if not right.holds(value)]
    only_right = [value for value in right.values if not left.holds(value)]
    for family in sorted({value.family for value in only_left + only_right}):
        here = [value for value in only_left if value.family == family]
        there = [value for value in only_right if value.family == family]
        yield Objection(
            (here or there)[0].kind,
            ", ".join(value.text for value in here),
            ", ".join(value.text for value in there),
            conflict=bool(here and there),
        )


def _names(left: Reading, right: Reading) -> Iterator[Objection]:
    """Names that one has and the other does not."""
    here = [name for name in dict.fromkeys(left.names) if not right.mentions(name)]
    there = [name for name in dict.fromkeys(right.names) if not left.mentions(name)]
    if here or there:
        both = bool(here and there)
        yield Objection("name", ", ".join(here), ", ".join(there), conflict=both)


def _compounds(left: Reading, right: Reading) -> Iterator[Objection]:
    """Hyphenated names with a part in common: "haven-state" against "harbor-state"."""
    for one in sorted(left.compounds - right.compounds):
        for other in sorted(right.compounds - left.compounds):
            here, there = _parts(one), _parts(other)
            if (
                here & there
                and here != there
                and not (here <= right.stem_set or there <= left.stem_set)
            ):
                yield Objection("identifier", one, other)


def _parts(compound: str) -> set[str]:
    return {stem(part) for part in compound.split("-")}


def _negation(left: Reading, right: Reading) -> Iterator[Objection]:
    """One denies what the other says."""
    here, there = left.negators + left.denials, right.negators + right.denials
    if bool(left.negators) and bool(right.negators):
        if left.denied & _affirmed(right) or right.denied & _affirmed(left):
            yield Objection("negation", ", ".join(here), ", ".join(there))
    elif bool(left.negators) != bool(right.negators):
        denying, saying = (left, right) if left.negators else (right, left)
        agrees = _agree(denying, saying)
        same = bool(denying.denied & _affirmed(saying)) or _shared(left, right) >= DENIED_MATTER
        yield Objection("negation", ", ".join(here), ", ".join(there), conflict=same and not agrees)
    elif bool(left.denials) != bool(right.denials):
        same = _shared(left, right) >= DOUBTED_MATTER
        yield Objection("negation", ", ".join(here), ", ".join(there), conflict=same)


def _agree(denying: Reading, saying: Reading) -> bool:
    """Whether two denials cancel out: "does not fail" and "works", "never use" and "avoid"."""
    return bool(denying.denials) != bool(saying.denials)


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
            yield Objection("opposite", listed(here - there), listed(there - here))
    here, there = _switched(left), _switched(right)
    if here and there and not here & there:
        yield Objection("opposite", listed(here), listed(there))
    yield from _reversed_by_prefix(left, right)
    for objection in _reversed_by_prefix(right, left):
        yield Objection(objection.guard, objection.right, objection.left)


def _switched(reading: Reading) -> frozenset[str]:
    return frozenset(
        found.lower() for pair in _SWITCHED.findall(reading.text) for found in pair if found
    )


def _reversed_by_prefix(left: Reading, right: Reading) -> Iterator[Objection]:
    """Find "encrypted" against "unencrypted", unless it is "not encrypted"."""
    for word in sorted(left.stem_set - right.stem_set - left.denied):
        if len(word) < lexicon.REVERSIBLE:
            continue
        turned = {f"{prefix}{word}" for prefix in lexicon.REVERSING} & right.stem_set
        for other in sorted(turned - right.denied - left.stem_set):
            yield Objection("opposite", word, other)


def other_term(left: Reading, right: Reading) -> Iterator[Objection]:
    """Find the same sentence but for one word: "window" against "aisle"."""
    if len(left.stems) != len(right.stems):
        return
    pairs = [
        (one, other) for one, other in zip(left.stems, right.stems, strict=True) if one != other
    ]
    if len(pairs) == 1 and not _denied_otherwise(left, right, pairs[0]):
        yield Objection("term", *pairs[0])


def _denied_otherwise(left: Reading, right: Reading, words: tuple[str, str]) -> bool:
    """Whether one word differs because one says "do not use" and the other "avoid"."""
    if bool(left.negators) == bool(right.negators):
        return False
    denying, saying = (left, right) if left.negators else (right, left)
    denied, said = words if left.negators else words[::-1]
    reversed_by_prefix = said in {f"{prefix}{denied}" for prefix in lexicon.REVERSING}
    return reversed_by_prefix or (not denying.denials and bool(saying.denials))


def _wording(left: Reading, right: Reading) -> Iterator[Objection]:
    """Words that only one of them has: a qualifier, or another way to say it.

    Without a model the two cannot be told apart, so a merge is left to those who can.
    """
    # A passive says the same as its active, but for the words that make it one.
    spare = _PASSIVE if left.passive != right.passive else frozenset()
    here = [
        *left.spelled(_only_in(left.stems, right.stem_set)),
        *sorted(left.telling - right.telling - spare),
    ]
    there = [
        *right.spelled(_only_in(right.stems, left.stem_set)),
        *sorted(right.telling - left.telling - spare),
    ]
    if here or there:
        # All content words alike and others not: "rose by half" against "rose to half".
        turned = bool(here and there) and left.stem_set == right.stem_set
        yield Objection("wording", ", ".join(here), ", ".join(there), conflict=turned)


def _only_in(words: Sequence[str], others: frozenset[str]) -> list[str]:
    return [word for word in dict.fromkeys(words) if word not in others]


_GUARDS: tuple[Guard, ...] = (
    _values,
    _names,
    _compounds,
    _negation,
    _exclusive,
    roles.direction,
    roles.owners,
    roles.roles,
    roles.reversed_words,
    roles.bindings,
    roles.unclear_roles,
    mood.mood,
    other_term,
    mood.tense,
    _wording,
)
# What a sentence says of one thing, whoever does it. A sentence made of two may deny what only one
# of them is about, so denials are looked at word by word elsewhere.
_SAID = (_values, _names, _compounds, _exclusive)
_TURNED = (roles.owners, roles.roles, roles.direction)
