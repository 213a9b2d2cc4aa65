"""Vetoes: why one sentence does not say all that a similar one says.

They are only about what can be looked up: values, names, code, signs, negations, days, and words
that changed places.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise

from slowwave.consolidation.facts.literals import has_literal
from slowwave.consolidation.facts.reading import VERBATIM, Reading
from slowwave.consolidation.text.tokens import stem
from slowwave.consolidation.thresholds import MIN_WORDS

# A phrase that moves has three new neighborhoods, two words that change places have four.
_MAX_BREAKS = 3


@dataclass(frozen=True)
class Veto:
    """Why a claim does not follow from a premise: the kind of difference, and both sides."""

    kind: str
    claim: str
    premise: str

    @property
    def why(self) -> str:
        """Both sides in one line."""
        return f"{self.claim or 'nothing'} vs. {self.premise or 'nothing'}"


def find_veto(claim: Reading, premise: Reading) -> Veto | None:
    """Return the first reason why `premise` does not say all that `claim` says, or None."""
    return next(_vetoes(claim, premise), None)


def _vetoes(claim: Reading, premise: Reading) -> Iterator[Veto]:
    lost = [value.words for value in claim.values if not premise.holds(value)]
    rivals = [
        value.words
        for value in premise.values
        if value.kind not in VERBATIM
        and not claim.measured.isdisjoint(value.measures)
        and not claim.known.allows(value)
    ]
    if lost or rivals:
        yield Veto("value", ", ".join(lost), ", ".join(rivals))
    names = [name for name in claim.names if not premise.mentions(name)]
    if names:
        yield _veto("name", names, set(premise.names) - claim.words)
    if bool(claim.negators) != bool(premise.negators) or (
        claim.negators and claim.denied.isdisjoint(premise.denied)
    ):
        yield _veto("denial", claim.negators, premise.negators)
    literals = [
        literal.content
        for literal in claim.literals
        if literal.content not in premise.literal_contents
        and not has_literal(premise.unmarked, literal)
    ]
    if literals:
        yield _veto("literal", literals, premise.literal_contents)
    signs = claim.signs - premise.signs
    if signs:
        yield _veto("sign", signs, premise.signs - claim.signs)
    for word in sorted(claim.spellings.keys() & premise.spellings.keys()):
        here, there = claim.spellings[word], premise.spellings[word]
        if here.isdisjoint(there):
            yield _veto("case", here, there)
    if _is_of_a_day(premise) and not _is_of_a_day(claim):
        yield Veto("day", claim.text, premise.text)
    if not (claim.is_english and premise.is_english):
        yield Veto("language", claim.text, premise.text)
    yield from _of_words(claim, premise)


def _of_words(claim: Reading, premise: Reading) -> Iterator[Veto]:
    """Yield the vetoes on sentences with nearly the same words."""
    here, there = claim.stem_set - premise.stem_set, premise.stem_set - claim.stem_set
    if len(claim.stem_set) < MIN_WORDS:
        yield Veto("few words", claim.text, premise.text)
    # Where a sentence has the other word, too, only its count tells that it was replaced.
    lost = Counter(claim.stems) - Counter(premise.stems)
    added = Counter(premise.stems) - Counter(claim.stems)
    for left, right in (here, there), (lost, added):
        if len(left) == len(right) == 1:
            yield _veto("word", claim.spelled(left), premise.spelled(right))
    words, premise_words = parts_of(claim), parts_of(premise)
    new_in_claim, new_in_premise = set(words) - set(premise_words), set(premise_words) - set(words)
    same = not here and not there
    if new_in_claim and new_in_premise and (same or len(new_in_claim) == len(new_in_premise) == 1):
        yield _veto("word", new_in_claim, new_in_premise)
    if _are_turned(words, premise_words) or (same and is_reordered(words, premise_words)):
        yield Veto("order", claim.text, premise.text)


def is_reordered(left: Sequence[str], right: Sequence[str]) -> bool:
    """Whether more than one phrase moved among the words that both have once."""
    order = _places(left, right)
    breaks = sum(second != first + 1 for first, second in pairwise(order))
    return breaks > _MAX_BREAKS


def parts_of(reading: Reading) -> list[str]:
    """Return the stems of all words, hyphenated ones in parts, and the norms of values."""
    norms = {value.start: value.norm for value in reading.measures}
    plain = {token.start for token in reading.plain}
    parts: list[str] = []
    for token in reading.tokens:
        if token.start in norms:
            parts.append(norms[token.start])
        elif token.start in plain:
            parts += [stem(part) for part in token.bare.split("-") if part]
    return parts


def _are_turned(left: Sequence[str], right: Sequence[str]) -> bool:
    """Whether three adjacent words are reversed: "a calls b", "b calls a"."""
    order = _places(left, right)
    threes = zip(order, order[1:], order[2:], strict=False)
    return any(first == second + 1 == third + 2 for first, second, third in threes)


def _is_of_a_day(reading: Reading) -> bool:
    """Whether a sentence is about a day, and so not about every day."""
    return reading.deictic or any(value.kind == "date" for value in reading.values)


def _places(left: Sequence[str], right: Sequence[str]) -> list[int]:
    """Return the words that occur once in each of two texts, as their places in the second."""
    here, there = Counter(left), Counter(right)
    both = [word for word in right if here[word] == there[word] == 1]
    place = {word: at for at, word in enumerate(both)}
    return [-1, *(place[word] for word in left if word in place), len(both)]


def _veto(kind: str, claim: Iterable[str], premise: Iterable[str]) -> Veto:
    return Veto(kind, ", ".join(sorted(claim)), ", ".join(sorted(premise)))
