"""What each word of a sentence means where it stands: the packaged model's states before pooling.

"Quits" and "exits" lie near each other in sentences about a process, "listens on" and "is exposed
on" in sentences about a port; no list of synonyms is needed, and none would know the difference.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from slowwave.consolidation.text.reading import Reading
from slowwave.consolidation.text.tokens import Token, is_content, stem, stems_of

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from slowwave.consolidation.vectors.minilm import MiniLM

# Sentences that are kept at hand, with some 15 kB each.
_AT_HAND = 4_096


@dataclass(frozen=True, eq=False)
class SentenceVectors:
    """A sentence as the model reads it."""

    # Of each content word its stems and its vector: float32, shape (words, 384), unit length.
    stems: tuple[frozenset[str], ...]
    words: NDArray[np.float32]


class WordVectors:
    """Reads sentences with the packaged model, each once as long as it is at hand."""

    def __init__(self) -> None:
        """Load nothing yet."""
        self._model: MiniLM | None = None
        self._known: OrderedDict[str, SentenceVectors] = OrderedDict()

    def prepare(self, readings: Iterable[Reading]) -> None:
        """Read some sentences at once. Raises `EmbedderError` if the packaged model is damaged."""
        new = {one.text: one for one in readings if one.text not in self._known}
        if not new:
            return
        if self._model is None:
            from slowwave.consolidation.vectors.minilm import packaged_model

            self._model = packaged_model()
        states = self._model.states([one.said for one in new.values()])
        for reading, (spans, vectors) in zip(new.values(), states, strict=True):
            self._known[reading.text] = _sense(reading, spans, vectors)
        while len(self._known) > _AT_HAND + len(new):
            self._known.popitem(last=False)

    def vectors(self, reading: Reading) -> SentenceVectors:
        """Read one sentence, if that was not done before. Raises `EmbedderError`, too."""
        self.prepare([reading])
        return self._known[reading.text]


def content_words(reading: Reading) -> list[Token]:
    """Return the words of a sentence that say something and are no part of a value."""
    return [token for token in reading.plain if is_content(token.bare)]


def stems_in(token: Token) -> frozenset[str]:
    """Return the stem of a word, and those of its parts if it has a hyphen."""
    return frozenset({stem(token.bare), *stems_of(token.bare)})


def _sense(
    reading: Reading, spans: Sequence[tuple[int, int]], states: NDArray[np.float32]
) -> SentenceVectors:
    """Return each word the mean of its pieces' states; a word beyond the model's reach has none."""
    import numpy as np

    tokens = content_words(reading)
    words = np.zeros((len(tokens), states.shape[1]), dtype=np.float32)
    for row, token in enumerate(tokens):
        end = token.start + len(token.bare)
        pieces = [
            at for at, (begin, until) in enumerate(spans) if begin < end and until > token.start
        ]
        if pieces:
            words[row] = _unit(states[pieces].mean(axis=0))
    return SentenceVectors(tuple(map(stems_in, tokens)), words)


def _unit(vector: NDArray[np.float32]) -> NDArray[np.float32]:
    import numpy as np

    length = float(np.linalg.norm(vector))
    return (vector / length if length else vector).astype(np.float32)
