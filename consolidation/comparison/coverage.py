"""Whether one text has all the words of another, decided sentence by sentence.

This tells a reader which texts may repeat each other. It decides on no memory: that a text has
another's words does not mean that it says the same of the same things.
"""

from __future__ import annotations

from collections.abc import Iterator

from slowwave.consolidation.facts.reading import Reading, read

from .normal_form import normal_form
from .vetoes import find_veto


def has_all_of(text: str, other_text: str) -> bool:
    """Whether a text has each sentence of another, or its content words in one without a veto."""
    return all(
        any(
            sentence.stem_set <= reading.stem_set and find_veto(sentence, reading) is None
            for reading in readings
        )
        for sentence, readings in _open_sentences(other_text, text)
    )


def _open_sentences(claim: str, premise: str) -> Iterator[tuple[Reading, list[Reading]]]:
    """Yield the sentences of a text that the premise has in no form, with the premise's."""
    if normal_form(claim) == normal_form(premise):
        return
    premises = [read(sentence) for sentence in read(premise).sentences]
    forms = {normal_form(reading.text) for reading in premises}
    for sentence in read(claim).sentences:
        if normal_form(sentence) not in forms:
            yield read(sentence), premises
