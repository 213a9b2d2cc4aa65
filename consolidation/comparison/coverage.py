"""Whether one text says all that another says, decided sentence by sentence.

Each sentence must either be equal to one of the other text after normalizing, or be entailed by one
according to the packaged network, without a veto by what can be looked up (`vetoes.py`).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from slowwave.consolidation.facts.reading import Reading, read
from slowwave.consolidation.thresholds import (
    ENTAILED,
    ENTAILED_ANCHORED,
    SHARED_WORDS,
    SHARED_WORDS_ANCHORED,
)

from .entailment import entailed
from .normal_form import normal_form
from .vetoes import Veto, find_veto

# Kinds of values that few facts share by chance.
_ANCHORS = frozenset({"number", "time", "date", "path", "url", "version"})


class _Question(NamedTuple):
    """What the network is asked: whether a sentence is entailed by any of the premises."""

    claim: str
    # The likelihood from which on it is, by premise.
    limits: dict[str, float]


def covered(pairs: Sequence[tuple[str, str]]) -> list[bool]:
    """Return for each pair of texts whether the second says all that the first says.

    The network is asked once, about all pairs that are not decided more cheaply. Raises
    `EmbedderError` if the packaged model is damaged.
    """
    asked = [_open_questions(*pair) for pair in pairs]
    found = entailed(
        {
            (question.claim, premise): limit
            for questions in asked
            for question in questions or ()
            for premise, limit in question.limits.items()
        }
    )
    return [
        questions is not None
        and all(
            any((question.claim, premise) in found for premise in question.limits)
            for question in questions
        )
        for questions in asked
    ]


def first_veto(claim: str, premise: str) -> Veto | None:
    """Return what keeps `premise` from saying all that `claim` says; None if the network decides.

    That is a veto on the first sentence that no sentence of the premise may entail.
    """
    for sentence, readings in _open_sentences(claim, premise):
        vetoes = [find_veto(sentence, reading) for reading in readings]
        if all(vetoes):
            return vetoes[0]
    return None


def are_open(pairs: Sequence[tuple[str, str]]) -> list[bool]:
    """Return for each pair of texts whether no veto decides on it."""
    return [_open_questions(*pair) is not None for pair in pairs]


def _open_questions(claim: str, premise: str) -> list[_Question] | None:
    """Return what only the network can tell of two texts; None if it is decided by vetoes."""
    questions = []
    for sentence, readings in _open_sentences(claim, premise):
        found = {reading.text: _limit(sentence, reading) for reading in readings}
        limits = {text: limit for text, limit in found.items() if limit is not None}
        if not limits:
            return None
        questions.append(_Question(sentence.text, limits))
    return questions


def _limit(claim: Reading, premise: Reading) -> float | None:
    """Return the likelihood from which on a sentence counts as entailed.

    None if the network is not worth a question: there is a veto, or too few words are shared.
    """
    # Both have a value or a literal that few facts share by chance.
    is_anchored = not claim.literal_contents.isdisjoint(premise.literal_contents) or any(
        value.kind in _ANCHORS and premise.holds(value) for value in claim.values
    )
    needed = SHARED_WORDS_ANCHORED if is_anchored else SHARED_WORDS
    if len(claim.stem_set & premise.stem_set) < needed * len(claim.stem_set):
        return None
    if find_veto(claim, premise) is not None:
        return None
    return ENTAILED_ANCHORED if is_anchored else ENTAILED


def _open_sentences(claim: str, premise: str) -> Iterator[tuple[Reading, list[Reading]]]:
    """Yield the sentences of a text that the premise has in no form, with the premise's."""
    if normal_form(claim) == normal_form(premise):
        return
    premises = [read(sentence) for sentence in read(premise).sentences]
    forms = {normal_form(reading.text) for reading in premises}
    for sentence in read(claim).sentences:
        if normal_form(sentence) not in forms:
            yield read(sentence), premises


def richness(text: str) -> int:
    """Return how much a text says; values and names weigh more than words."""
    readings = [read(sentence) for sentence in read(text).sentences]
    return sum(
        3 * len({value.norm for value in reading.values} | reading.literal_contents)
        + 3 * len(set(reading.names))
        + len(reading.stem_set)
        for reading in readings
    )
