"""Whether one text says all that another says, decided sentence by sentence.

Each sentence must be equal to one of the other text after normalising; or the packaged network must
find it entailed by one, and nothing that can be looked up speak against that (`vetoes.py`).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from slowwave.consolidation.facts.reading import Reading, read
from slowwave.consolidation.thresholds import (
    ENTAILED,
    ENTAILED_ANCHORED,
    SHARED_WORDS,
    SHARED_WORDS_ANCHORED,
)

from .entailment import Entailment
from .normal_form import normal_form
from .vetoes import Veto, find_veto

# Kinds of values that few facts share by chance: a sentence that has one is about that.
_ANCHORS = frozenset({"number", "time", "date", "path", "url", "version"})


@dataclass(frozen=True)
class _Question:
    """What the network is asked: whether a sentence is entailed by one of some others.

    limits: from which likelihood on it is, for each of them.
    """

    said: str
    premises: tuple[str, ...]
    limits: tuple[float, ...]


class Coverage:
    """Finds which texts say all that others say; the network is loaded when it is first asked."""

    def __init__(self) -> None:
        """Load nothing yet."""
        self._entailment = Entailment()

    def covered(self, pairs: Sequence[tuple[str, str]]) -> list[bool]:
        """Find for each pair of texts whether the second says all that the first says.

        The network is asked once, about all pairs that nothing cheaper decides. Raises
        `EmbedderError` if the packaged model is damaged.
        """
        asked = [_questions(*pair) for pair in pairs]
        about = list(
            dict.fromkeys(
                (one.said, premise)
                for questions in asked
                for one in questions or ()
                for premise in one.premises
            )
        )
        likely = dict(zip(about, self._entailment.likelihoods(about), strict=True))
        return [
            questions is not None
            and all(
                any(
                    likely[one.said, premise] >= limit
                    for premise, limit in zip(one.premises, one.limits, strict=True)
                )
                for one in questions
            )
            for questions in asked
        ]


def may_cover(said: str, premise: str) -> bool:
    """Whether nothing that can be looked up keeps a text from covering another one."""
    return _questions(said, premise) is not None


def first_veto(said: str, premise: str) -> Veto | None:
    """Find what keeps a text from being covered by another; None if that is left to the network.

    It is the veto of the first sentence that no sentence of the other text may say.
    """
    for sentence, readings in _open_sentences(said, premise):
        vetoes = [find_veto(sentence, one) for one in readings]
        if all(vetoes):
            return vetoes[0]
    return None


def _questions(said: str, premise: str) -> list[_Question] | None:
    """Return what is left to ask of two texts; None if a veto stops them."""
    questions = []
    for sentence, readings in _open_sentences(said, premise):
        possible = [one for one in readings if _may_entail(sentence, one)]
        if not possible:
            return None
        limits = tuple(_limit(sentence, one) for one in possible)
        questions.append(_Question(sentence.text, tuple(one.text for one in possible), limits))
    return questions


def _may_entail(said: Reading, premise: Reading) -> bool:
    """Whether it is worth asking the network: no veto, and enough of the words in common."""
    shared = len(said.stem_set & premise.stem_set)
    needed = SHARED_WORDS_ANCHORED if _is_anchored(said, premise) else SHARED_WORDS
    return shared >= needed * len(said.stem_set) and find_veto(said, premise) is None


def _open_sentences(said: str, premise: str) -> Iterator[tuple[Reading, list[Reading]]]:
    """Yield the sentences that stand in no form in another text, with that one's sentences."""
    if normal_form(said) == normal_form(premise):
        return
    kept = [read(one) for one in read(premise).sentences]
    forms = {normal_form(one.text) for one in kept}
    for sentence in read(said).sentences:
        if normal_form(sentence) not in forms:
            yield read(sentence), kept


def _limit(said: Reading, premise: Reading) -> float:
    """Return the likelihood from which on a sentence counts as entailed."""
    return ENTAILED_ANCHORED if _is_anchored(said, premise) else ENTAILED


def _is_anchored(said: Reading, premise: Reading) -> bool:
    """Whether both have a value or a literal that few facts share by chance."""
    return not said.literal_contents.isdisjoint(premise.literal_contents) or any(
        value.kind in _ANCHORS and premise.holds(value) for value in said.values
    )


def richness(text: str) -> int:
    """Return how much a text says; values and names weigh more than words."""
    readings = [read(sentence) for sentence in read(text).sentences]
    return sum(
        3 * len({value.norm for value in reading.values} | reading.literal_contents)
        + 3 * len(set(reading.names))
        + len(reading.stem_set)
        for reading in readings
    )
