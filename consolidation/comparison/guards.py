"""Pairs that must not become one memory, whatever their cosine is.

A guard looks at two readings and objects, or not. What it objects to is either a *conflict*
(each says something that the other denies or replaces) or an *addition* (one says something
more). A conflict keeps two memories out of one synthesis; a merge, which keeps one text and
drops the other, suffers neither.

Measured on memories of real conversations before the first line of this: of the 24 pairs with a
cosine of 0.92 or more among 2,541, seven are role swaps or two people's versions, at up to 0.996.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from slowwave.consolidation import thresholds
from slowwave.consolidation.text.english import is_english
from slowwave.consolidation.text.reading import Reading

from . import mood, opposites, roles, value_guards, wording
from .objections import Guard, Objection
from .pairing import TextPair, literals
from .reordering import rearranged

# Conflicts of words: certain only between texts that have most other words in common.
_OF_WORDS = frozenset({"name", "negation", "mood", "role", "term", "opposite", "direction"})


def first_conflict(left: Reading, right: Reading) -> Objection | None:
    """Return the first conflict between two texts, or None."""
    return next((found for found in objections(left, right) if found.conflict), None)


def certain_conflict(left: Reading, right: Reading) -> Objection | None:
    """Return the first conflict that no model may overrule, or None.

    Values that differ are always one. Anything else is only where the two are alike otherwise:
    of two that share few words, nobody knows by rules whether they speak of one thing.
    """
    return next((one for one in objections(left, right) if one.certain), None)


def first_difference(left: Reading, right: Reading) -> Objection | None:
    """Return the first conflict or addition between two texts, or None if they say the same."""
    return next(objections(left, right), None)


def say_the_same(left: Reading, right: Reading) -> bool:
    """Whether there is no conflict nor addition between two texts."""
    return first_difference(left, right) is None


def gravest_objection(left: Reading, right: Reading) -> Objection | None:
    """Return a certain conflict, else a conflict, else a difference, the first of its kind.

    The same as to ask for the three in turn, but that no guard is asked more than once.
    """
    first = conflict = None
    for one in objections(left, right):
        if one.conflict:
            if one.certain:
                return one
            conflict = conflict or one
        first = first or one
    return conflict or first


def certain_conflict_or_denial(left: Reading, right: Reading) -> Objection | None:
    """Return a certain conflict, or a denial between texts that have most other words in common."""
    alike = _share_in_both(left, right) >= thresholds.ALIKE_TEXTS
    conflicts = (one for one in objections(left, right) if one.conflict)
    return next(
        (one for one in conflicts if one.certain or (one.guard == "negation" and alike)), None
    )


def _share_in_both(left: Reading, right: Reading) -> float:
    """Return the share of the content words of both that both have."""
    both = len(left.stem_set & right.stem_set)
    either = len(left.stem_set) + len(right.stem_set) - both
    return both / either if either else 1.0


def objections(left: Reading, right: Reading) -> Iterator[Objection]:
    """Ask the guards one after the other, as long as somebody wants more of them."""
    if left.said == right.said:
        return
    pair = TextPair(left, right)
    for objection in _ungraded(pair.left, pair.right):
        yield pair.unmasked(_graded(objection, pair))


def _graded(objection: Objection, pair: TextPair) -> Objection:
    """Doubt a conflict of words between two texts that share few of them otherwise."""
    shared = _share_in_both(pair.left, pair.right)
    certain = objection.guard not in _OF_WORDS or shared >= thresholds.ALIKE_TEXTS
    return objection if certain else replace(objection, doubtful=True)


def _ungraded(left: Reading, right: Reading) -> Iterator[Objection]:
    if left.said == right.said:
        return
    objected = False
    same_parts: bool | None = None
    for guard, of_order in _ASKED:
        if of_order:
            # Late and once: where a value or a name differs, most who ask have gone before.
            same_parts = rearranged(left, right) if same_parts is None else same_parts
            if same_parts:
                continue
        for objection in guard(left, right):
            objected = True
            yield objection
    if objected:
        return
    if not same_parts:
        yield Objection("order", left.text, right.text, doubtful=True)
    if _in_other_words(left, right) and not (is_english(left) and is_english(right)):
        yield Objection("language", left.text, right.text, conflict=False)


def _in_other_words(left: Reading, right: Reading) -> bool:
    """Whether not all words are the same in one order, whatever their capitals are."""
    return [one.lower for one in left.tokens] != [one.lower for one in right.tokens]


_GUARDS: tuple[Guard, ...] = (
    literals,
    value_guards.values,
    value_guards.units,
    value_guards.signs,
    value_guards.spelled_by_case,
    value_guards.commas,
    value_guards.names,
    opposites.negation,
    opposites.exclusive,
    roles.direction,
    roles.roles,
    roles.reversed_words,
    roles.bindings,
    roles.unclear_roles,
    mood.mood,
    mood.permission,
    wording.other_term,
    wording.qualified,
    mood.tense,
    wording.wording,
)
# What the order of words alone tells.
_ORDER = frozenset(
    {
        roles.direction,
        roles.roles,
        roles.reversed_words,
        roles.bindings,
        roles.unclear_roles,
    }
)
# The guards in the order in which they are asked, and whether the order of words matters to each.
_ASKED = tuple((guard, guard in _ORDER) for guard in _GUARDS)
