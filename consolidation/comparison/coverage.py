"""Whether one text says all that another says, decided sentence by sentence.

A sentence is entailed by another if no guard tells them apart, or if a small network that reads
both (`entailment.py`) finds it likely enough. The network knows from examples what words mean and
how sure a sentence is, but hardly sees who does what to whom. It may not overrule what can be
looked up (`coverage_guards.py`), nor call entailed what is said in words that lie far away
(`word_vectors.py`).
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import permutations, product
from statistics import fmean
from typing import NamedTuple

from slowwave.consolidation import thresholds
from slowwave.consolidation.text.reading import Reading, read

from .coverage_guards import (
    WHY,
    Gap,
    differ_in_a_thing,
    find_gap,
    limiting_phrases,
    share_a_subject,
    share_an_anchor,
    without_other_denials,
)
from .entailment import Entailment
from .guards import say_the_same
from .word_vectors import SentenceVectors, WordVectors


class _Limit(NamedTuple):
    """What a sentence takes to count as entailed: how likely it is, and how near its words are."""

    likelihood: float
    words: float


_PLAIN = _Limit(thresholds.ENTAILED, thresholds.NEAR_WORDS)
_ANCHORED = _Limit(thresholds.ENTAILED_ANCHORED, thresholds.NEAR_WORDS_ANCHORED)
# Of one person's life the network takes for entailed what is merely about the same.
_STRICT = _Limit(thresholds.ENTAILED_STRICTLY, thresholds.NEAR_WORDS_STRICTLY)


class Coverage:
    """Finds out who tells what a sentence says."""

    def __init__(self) -> None:
        """Load nothing yet."""
        self._words = WordVectors()
        self._entailment = Entailment()

    def find_covering(self, said: Reading, kept: Sequence[Reading]) -> int | None:
        """Find the first of some sentences that says all that another says, by its place.

        Raises `EmbedderError`.
        """
        premises = [without_other_denials(one, said) for one in kept]
        same = next((at for at, one in enumerate(premises) if say_the_same(one, said)), None)
        if same is not None:
            return same
        open_to = [at for at, one in enumerate(premises) if find_gap(said, one) is None]
        entailed = self._entailed(said, [premises[at] for at in open_to])
        return next((at for at, is_so in zip(open_to, entailed, strict=True) if is_so), None)

    def gap(self, said: Reading, premise: Reading) -> Gap | None:
        """Return what one sentence lacks of another; None if it says all of it.

        Raises `EmbedderError`.
        """
        premise = without_other_denials(premise, said)
        if say_the_same(premise, said):
            return None
        gap = find_gap(said, premise)
        if gap is None and not any(self._entailed(said, [premise])):
            gap = Gap("words", said.text)
        return gap

    def missing(self, said: Reading, premise: Reading) -> str:
        """Return in a few words what one text says and another does not."""
        gap = self.gap(said, premise)
        return WHY[gap.kind].format(gap.said) if gap is not None else "told in other words"

    def likelihood(self, said: str, premise: str) -> float:
        """Return how likely the network finds it that one text says all that another says.

        Raises `EmbedderError`.
        """
        return self._entailment.likelihoods([(said, premise)])[0]

    def look_alikes(self, texts: Sequence[Reading]) -> list[tuple[int, int]]:
        """Find pairs of texts that the network takes for one and a guard tells apart, by places.

        They differ in one thing, such as a number or who does it, and are not about one matter.
        Raises `EmbedderError`.
        """
        sentences = [[read(one) for one in text.sentences] for text in texts]
        places = [
            ((at, by), (said.text, premise.text))
            for at, by in permutations(range(len(texts)), 2)
            for said, premise in product(sentences[at], sentences[by])
            if _share_words(said, premise)
            and not say_the_same(said, premise)
            and differ_in_a_thing(said, premise)
        ]
        likely = self._entailment.likelihoods(pair for _, pair in places)
        found = zip(places, likely, strict=True)
        alike = {place for (place, _), one in found if one >= thresholds.LOOKS_ENTAILED}
        return sorted({(min(pair), max(pair)) for pair in alike})

    def _entailed(self, said: Reading, premises: Sequence[Reading]) -> list[bool]:
        """Whether each entails it, as the network finds, and the words of both are near enough."""
        # Together they take half the time that they take one after the other.
        self._words.prepare([said, *premises] if premises else ())
        near = [self._nearness(said, one) for one in premises]
        needed = [_limit(said, one) for one in premises]
        asked = [at for at, one in enumerate(near) if one >= needed[at].words]
        likely = self._entailment.likelihoods((said.text, premises[at].text) for at in asked)
        entailed = {
            at for at, one in zip(asked, likely, strict=True) if one >= needed[at].likelihood
        }
        return [at in entailed for at in range(len(premises))]

    def _nearness(self, said: Reading, premise: Reading) -> float:
        """Return how near the content words of a sentence have one of another, in the mean."""
        nearest = _nearest(self._words.vectors(said), self._words.vectors(premise))
        return fmean(nearest) if nearest else 1.0


def _limit(said: Reading, premise: Reading) -> _Limit:
    """Return the limit from which on a sentence counts as entailed.

    Less where a value carries the fact and the premise does not limit it; more of one subject.
    """
    if share_an_anchor(said, premise) and limiting_phrases(premise) <= limiting_phrases(said):
        return _ANCHORED
    return _STRICT if share_a_subject(said, premise) else _PLAIN


def _share_words(said: Reading, premise: Reading) -> bool:
    """Whether two sentences have half of the longer one's words in common."""
    most = max(len(said.stem_set), len(premise.stem_set))
    return 2 * len(said.stem_set & premise.stem_set) >= most > 0


def _nearest(here: SentenceVectors, there: SentenceVectors) -> tuple[float, ...]:
    """Find how near each word of one sentence is to one of another; the same stem is 1."""
    if not len(there.words):
        return (0.0,) * len(here.words)
    stems = frozenset().union(*there.stems)
    nearest = (here.words @ there.words.T).max(axis=1, initial=0.0).tolist()
    return tuple(
        1.0 if own & stems else near for own, near in zip(here.stems, nearest, strict=True)
    )
