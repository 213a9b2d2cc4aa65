"""Guards over opposites: denials, and words that exclude each other."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from slowwave.consolidation import thresholds
from slowwave.consolidation.text import lexicon
from slowwave.consolidation.text.reading import Reading, cached_per_text
from slowwave.consolidation.text.tokens import stem

from .objections import Objection, listed

# The lines of words that exclude each other in which a word stands, by their numbers.
_LINES = {
    word: tuple(number for number, line in enumerate(lexicon.EXCLUSIVE) if word in line)
    for word in frozenset().union(*lexicon.EXCLUSIVE)
}
# "on" and "off" where they are no prepositions.
_SWITCHED = re.compile(r"\b(?:turn|switch)\w* (on|off)\b|\b(on|off)(?=\s*(?:[.,;:!?)]|$))", re.I)


def _reversing(word: str) -> Sequence[str]:
    """Return what may turn a word into its opposite: "input" is not the opposite of "put"."""
    if len(word) >= lexicon.REVERSIBLE:
        return lexicon.REVERSING
    return lexicon.REVERSING_SHORT if len(word) == lexicon.REVERSIBLE - 1 else ()


def negation(left: Reading, right: Reading) -> Iterator[Objection]:
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


def exclusive(left: Reading, right: Reading) -> Iterator[Objection]:
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
