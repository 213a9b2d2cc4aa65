"""Vetoes: why one sentence does not say all that a similar one says.

They are only about what can be looked up: values, names, code, signs, negations, days, and words
that changed places. They tell a reader which texts may repeat each other, and decide on no memory:
that a text has another's words does not mean that it says the same of the same things.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import pairwise

from slowwave.consolidation.facts.literals import has_literal
from slowwave.consolidation.facts.reading import VERBATIM, Reading, read
from slowwave.consolidation.text.tokens import stem
from slowwave.consolidation.thresholds import MIN_WORDS

from .normal_form import normal_form

# A phrase that moves has three new neighborhoods, two words that change places have four.
_MAX_BREAKS = 3


def has_all_of(text: str, other_text: str) -> bool:
    """Whether a text has each sentence of another, or its content words in one without a veto."""
    if normal_form(text) == normal_form(other_text):
        return True
    readings = [read(sentence) for sentence in read(text).sentences]
    forms = {normal_form(reading.text) for reading in readings}
    return all(
        normal_form(sentence) in forms
        or any(
            read(sentence).stem_set <= reading.stem_set
            and find_veto(read(sentence), reading) is None
            for reading in readings
        )
        for sentence in read(other_text).sentences
    )


def find_veto(claim: Reading, premise: Reading) -> str | None:
    """Return the first kind of reason why `premise` does not say all that `claim` says, or None."""
    return next(_vetoes(claim, premise), None)


def _vetoes(claim: Reading, premise: Reading) -> Iterator[str]:
    if not all(map(premise.holds, claim.values)) or any(
        value.kind not in VERBATIM
        and not claim.measured.isdisjoint(value.measures)
        and not claim.known.allows(value)
        for value in premise.values
    ):
        yield "value"
    if not all(map(premise.mentions, claim.names)):
        yield "name"
    if bool(claim.negators) != bool(premise.negators) or (
        claim.negators and claim.denied.isdisjoint(premise.denied)
    ):
        yield "denial"
    if not all(
        literal.content in premise.literal_contents or has_literal(premise.unmarked, literal)
        for literal in claim.literals
    ):
        yield "literal"
    if not claim.signs <= premise.signs:
        yield "sign"
    if any(
        claim.spellings[word].isdisjoint(premise.spellings[word])
        for word in claim.spellings.keys() & premise.spellings.keys()
    ):
        yield "case"
    if _is_of_a_day(premise) and not _is_of_a_day(claim):
        yield "day"
    if not (claim.is_english and premise.is_english):
        yield "language"
    yield from _of_words(claim, premise)


def _of_words(claim: Reading, premise: Reading) -> Iterator[str]:
    """Yield the vetoes on sentences with nearly the same words."""
    here, there = claim.stem_set - premise.stem_set, premise.stem_set - claim.stem_set
    if len(claim.stem_set) < MIN_WORDS:
        yield "few words"
    # Where a sentence has the other word, too, only its count tells that it was replaced.
    lost = Counter(claim.stems) - Counter(premise.stems)
    added = Counter(premise.stems) - Counter(claim.stems)
    if len(here) == len(there) == 1 or len(lost) == len(added) == 1:
        yield "word"
    words, premise_words = parts_of(claim), parts_of(premise)
    new_in_claim, new_in_premise = set(words) - set(premise_words), set(premise_words) - set(words)
    same = not here and not there
    if new_in_claim and new_in_premise and (same or len(new_in_claim) == len(new_in_premise) == 1):
        yield "word"
    if _are_turned(words, premise_words) or (same and is_reordered(words, premise_words)):
        yield "order"


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
