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
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import replace
from difflib import SequenceMatcher

from slowwave.consolidation import thresholds
from slowwave.consolidation.text import lexicon
from slowwave.consolidation.text.reading import Reading, cached_per_text
from slowwave.consolidation.text.tokens import stem
from slowwave.consolidation.text.values import Value

from . import mood, roles
from .objections import Guard, Objection, listed
from .pairing import TextPair, literals
from .reordering import rearranged

__all__ = [
    "Objection",
    "certain_conflict",
    "first_conflict",
    "first_difference",
    "gravest_objection",
    "say_the_same",
]

# The fewest letters of a word that may be short for another.
_SHORTENED = 3

# Conflicts of words: certain only between texts that have most other words in common.
_OF_WORDS = frozenset({"name", "negation", "mood", "role", "term", "opposite", "direction"})

# The lines of words that exclude each other in which a word stands, by their numbers.
_LINES = {
    word: tuple(number for number, line in enumerate(lexicon.EXCLUSIVE) if word in line)
    for word in frozenset().union(*lexicon.EXCLUSIVE)
}

_PASSIVE = frozenset({"by", "was", "were"})
# "on" and "off" where they are no prepositions.
_SWITCHED = re.compile(r"\b(?:turn|switch)\w* (on|off)\b|\b(on|off)(?=\s*(?:[.,;:!?)]|$))", re.I)


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


def strict_conflict(left: Reading, right: Reading) -> Objection | None:
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
    if not objected and not same_parts:
        yield Objection("order", left.text, right.text, doubtful=True)


def _values(left: Reading, right: Reading) -> Iterator[Objection]:
    """Numbers with units, dates, times, versions, identifiers, paths, hosts, quoted words."""
    if left.value_keys == right.value_keys:
        return
    only_left = [value for value in left.values if not right.holds(value)]
    only_right = [value for value in right.values if not left.holds(value)]
    for family in sorted({value.family for value in only_left + only_right}):
        here = [value for value in only_left if value.family == family]
        there = [value for value in only_right if value.family == family]
        yield Objection(
            (here or there)[0].kind,
            ", ".join(value.text for value in here),
            ", ".join(value.text for value in there),
            conflict=bool(here and there) and not _shortened(here, there),
        )


def _shortened(here: Sequence[Value], there: Sequence[Value]) -> bool:
    """Whether each may be another one without its beginning: "w07" for "hb1-w07"."""
    return all(
        any(_ends_in(one.norm, other.norm) or _ends_in(other.norm, one.norm) for other in there)
        for one in here
    )


def _ends_in(longer: str, shorter: str) -> bool:
    named = shorter[:1].isalpha() and longer[:1].isalpha()
    return named and longer.endswith(f"-{shorter}")


def _names(left: Reading, right: Reading) -> Iterator[Objection]:
    """Names that one has and the other does not."""
    if left.names == right.names:
        return
    here, there = _names_without(left, right), _names_without(right, left)
    if here or there:
        both = bool(here and there)
        # Nobody and nothing is named in both: they speak of someone else.
        strangers = both and bool(left.persons and right.persons)
        strangers = strangers and set(left.names).isdisjoint(right.names)
        guard = "subject" if strangers else "name"
        yield Objection(guard, ", ".join(here), ", ".join(there), conflict=both)


def _names_without(reading: Reading, other: Reading) -> list[str]:
    """Return the names of one text that the other has not, or as a common noun: "the mark"."""
    common = other.common - reading.common - set(other.names)
    names = dict.fromkeys(reading.names)
    return [name for name in names if not other.mentions(name) or name in common]


def commas(left: Reading, right: Reading) -> Iterator[Objection]:
    """Two words side by side, with a comma between them and without: "eat, grandma"."""
    here, there = left.commas, right.commas
    for pair in sorted(here.keys() & there.keys()):
        if here[pair] != there[pair]:
            with_comma, without = ", ".join(pair), " ".join(pair)
            sides = (with_comma, without) if here[pair] else (without, with_comma)
            yield Objection("comma", *sides, conflict=False, doubtful=True)


def signs(left: Reading, right: Reading) -> Iterator[Objection]:
    """Signs that are no punctuation: "> 200" and "< 200", "A+" and "A-", a tick and a cross."""
    here, there = left.signs, right.signs
    if (here or there) and here != there:
        one, other = (" ".join((side - rest).elements()) for side, rest in _both_ways(here, there))
        yield Objection("sign", one, other, conflict=bool(one and other))


def _both_ways(here: Counter[str], there: Counter[str]) -> tuple[tuple[Counter[str], ...], ...]:
    return (here, there), (there, here)


def spelled_by_case(left: Reading, right: Reading) -> Iterator[Objection]:
    """One word whose capitals tell two things apart: "sk-AbC9" and "sk-abc9", "Mb" and "MB"."""
    here, there = left.cased, right.cased
    apart = [word for word in here if word in there and here[word].isdisjoint(there[word])]
    for word in sorted(apart):
        one, other = ", ".join(sorted(here[word])), ", ".join(sorted(there[word]))
        yield Objection("case", one, other, conflict=False)


def _reversing(word: str) -> Sequence[str]:
    """Return what may turn a word into its opposite: "input" is not the opposite of "put"."""
    if len(word) >= lexicon.REVERSIBLE:
        return lexicon.REVERSING
    return lexicon.REVERSING_SHORT if len(word) == lexicon.REVERSIBLE - 1 else ()


def _negation(left: Reading, right: Reading) -> Iterator[Objection]:
    """One denies what the other says."""
    if not (left.negators or right.negators or left.denials or right.denials):
        return
    here, there = left.negators + left.denials, right.negators + right.denials
    if bool(left.negators) and bool(right.negators):
        if left.denied & _affirmed(right) or right.denied & _affirmed(left):
            yield Objection("negation", ", ".join(here), ", ".join(there), doubtful=True)
    elif bool(left.negators) != bool(right.negators):
        denying, saying = (left, right) if left.negators else (right, left)
        agrees = _agree(denying, saying)
        denied = bool(denying.denied & _affirmed(saying))
        same = denied or _shared(left, right) >= thresholds.DENIED_MATTER
        # "Three reviewers, whatever the rush" and "no merge without three reviewers" are one.
        certain = denied and len(denying.negators) == 1 and not (left.denials or right.denials)
        yield Objection(
            "negation",
            ", ".join(here),
            ", ".join(there),
            conflict=same and not agrees,
            doubtful=not certain,
        )
    elif bool(left.denials) != bool(right.denials):
        same = _shared(left, right) >= thresholds.DOUBTED_MATTER
        yield Objection("negation", ", ".join(here), ", ".join(there), conflict=same, doubtful=True)


def _agree(denying: Reading, saying: Reading) -> bool:
    """Whether two denials cancel out: "does not fail" and "works", "never use" and "avoid"."""
    return bool(denying.denials) != bool(saying.denials)


def _affirmed(reading: Reading) -> frozenset[str]:
    return reading.stem_set - reading.denied


def _shared(left: Reading, right: Reading) -> float:
    """Return the share of the fewer content words that both have."""
    fewer = min(len(left.stem_set), len(right.stem_set))
    return len(left.stem_set & right.stem_set) / fewer if fewer else 1.0


def _exclusive(left: Reading, right: Reading) -> Iterator[Objection]:
    """Words of one line that exclude each other: before and after, red and blue."""
    ours, theirs = _excluding(left), _excluding(right)
    for number in sorted(ours.keys() & theirs.keys()):
        here, there = ours[number] - theirs[number], theirs[number] - ours[number]
        if here and there:
            line = lexicon.EXCLUSIVE[number]
            # Ann sold what Ben bought; "less open" may be "more closed".
            doubtful = line in lexicon.SPEAKERS or not _alike_otherwise(left, right, line)
            yield Objection("opposite", listed(here), listed(there), doubtful=doubtful)
    here, there = _switched(left), _switched(right)
    if here and there and not here & there:
        yield Objection("opposite", listed(here), listed(there))
    yield from _reversed_by_prefix(left, right)
    for objection in _reversed_by_prefix(right, left):
        yield Objection(objection.guard, objection.right, objection.left)


@cached_per_text
def _excluding(reading: Reading) -> dict[int, frozenset[str]]:
    """Return the words of a text that exclude others, by the number of their line."""
    found: dict[int, set[str]] = {}
    for word in reading.words & _LINES.keys():
        for number in _LINES[word]:
            found.setdefault(number, set()).add(word)
    return {number: frozenset(words) for number, words in found.items()}


def _alike_otherwise(left: Reading, right: Reading, line: frozenset[str]) -> bool:
    """Whether two texts have the same words but for those of a line."""
    words = {stem(word) for word in line}
    return left.stem_set - words == right.stem_set - words and left.names == right.names


@cached_per_text
def _switched(reading: Reading) -> frozenset[str]:
    return frozenset(
        found.lower() for pair in _SWITCHED.findall(reading.said) for found in pair if found
    )


def _reversed_by_prefix(left: Reading, right: Reading) -> Iterator[Objection]:
    """Find "encrypted" against "unencrypted", unless it is "not encrypted"."""
    turned = _turned_words(right)
    if turned.keys().isdisjoint(left.whole_stems):
        return
    for word in sorted((turned.keys() & left.whole_stems) - right.whole_stems - left.denied):
        for other in sorted(turned[word] - right.denied - left.whole_stems):
            yield Objection("opposite", word, other)


@cached_per_text
def _turned_words(reading: Reading) -> dict[str, set[str]]:
    """Return the words that may turn another one into its opposite, by that other one."""
    found: dict[str, set[str]] = {}
    for turned in reading.whole_stems:
        for prefix in lexicon.REVERSING:
            word = turned.removeprefix(prefix)
            if word != turned and prefix in _reversing(word):
                found.setdefault(word, set()).add(turned)
    return found


def other_term(left: Reading, right: Reading) -> Iterator[Objection]:
    """Find the same sentence but for a word or two: "the company cars" against "the vans"."""
    # With other little words beside it, the verb may be another one for the same.
    fits = len(left.stems) == len(right.stems) and left.telling == right.telling
    shared = _in_both(left.stems, right.stems) if fits else None
    if shared is None:
        return
    start, end = shared
    here, there = left.stems[start : len(left.stems) - end], right.stems[start : -end or None]
    enough = start + end >= (1 if len(here) == 1 else thresholds.MOST_OTHER_WORDS + 1)
    if (
        0 < len(here) <= thresholds.MOST_OTHER_WORDS
        and enough
        and not _denied_otherwise(left, right, (here[0], there[0]))
    ):
        one, other = " ".join(left.spelled(here)), " ".join(right.spelled(there))
        doubtful = len(here) > 1 or _misspelt(here[0], there[0]) or _are_verbs(one, other)
        yield Objection("term", one, other, doubtful=doubtful)


def qualified(left: Reading, right: Reading) -> Iterator[Objection]:
    """Find the same sentence but for one word more: "API access" against "API write access"."""
    if abs(len(left.stems) - len(right.stems)) != 1:
        return
    fewer, more = sorted((left.stems, right.stems), key=len)
    if len(fewer) <= thresholds.MOST_OTHER_WORDS:
        return
    start, end = _in_both(left.stems, right.stems) or (0, 0)
    if start + end == len(fewer) and start and end:
        here, there = (
            ", ".join(one.spelled(more[start : start + 1])) if one.stems == more else ""
            for one in (left, right)
        )
        yield Objection("qualifier", here, there, doubtful=True)


def _in_both(left: Sequence[str], right: Sequence[str]) -> tuple[int, int] | None:
    """Return how many words two have in common at the start, and then at the end."""
    most = min(len(left), len(right))
    start = next((at for at in range(most) if left[at] != right[at]), most)
    ends = range(1, most - start + 1)
    end = next((at - 1 for at in ends if left[-at] != right[-at]), most - start)
    return None if start == len(left) == len(right) else (start, end)


def _are_verbs(one: str, other: str) -> bool:
    """Whether two words are verbs by their endings: "starting" may be "launching"."""
    return any(one.endswith(ending) and other.endswith(ending) for ending in ("ing", "ed"))


def _misspelt(one: str, other: str) -> bool:
    """Whether one may be the other with a slip of the pen, or short for it: "rec", "recreation"."""
    if min(len(one), len(other)) >= _SHORTENED and (one.startswith(other) or other.startswith(one)):
        return True
    return SequenceMatcher(None, one, other, autojunk=False).ratio() >= thresholds.MISSPELT


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
    spare = _spare(left, right) if left.telling != right.telling else frozenset()
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
        yield Objection(
            "wording", ", ".join(here), ", ".join(there), conflict=turned, doubtful=True
        )


def _spare(left: Reading, right: Reading) -> frozenset[str]:
    """Return the words that make a passive of an active, or "the boat of Ann" of "Ann's boat"."""
    spare = _PASSIVE if left.passive != right.passive else frozenset()
    owning, of = zip(*map(_owning_and_of, (left, right)), strict=True)
    turned = owning[0] + of[0] == owning[1] + of[1] and owning != of
    return spare | {"of"} if turned and owning[0] != owning[1] else spare


@cached_per_text
def _owning_and_of(reading: Reading) -> tuple[int, int]:
    """Count the owners that end in "'s", and those behind "of"."""
    return (
        sum(token.possessive for token in reading.tokens),
        sum(token.lower == "of" for token in reading.tokens),
    )


def _only_in(words: Sequence[str], others: frozenset[str]) -> list[str]:
    return [word for word in dict.fromkeys(words) if word not in others]


_GUARDS: tuple[Guard, ...] = (
    literals,
    _values,
    signs,
    spelled_by_case,
    commas,
    _names,
    _negation,
    _exclusive,
    roles.direction,
    roles.roles,
    roles.reversed_words,
    roles.bindings,
    roles.unclear_roles,
    mood.mood,
    mood.permission,
    other_term,
    qualified,
    mood.tense,
    _wording,
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
