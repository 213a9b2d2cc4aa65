"""The embedding model that a caller lends to a format, for the vectors of new texts."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING

from slowwave.store.vectors import to_blob

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    # Texts to float32 vectors, shape (len(texts), d), unit length.
    Encode = Callable[[Sequence[str]], NDArray[np.float32]]

# The minimum cosine of two vectors of the same model: other builds of a model differ by rounding,
# other models by far more.
SAME_MODEL = 0.999
# Programs truncate longer texts, in characters, at different places.
MAX_SAMPLE = 400
# How many of the oldest and of the latest vectors are compared: the model may have changed.
SAMPLES_AT_EITHER_END = 5


class EmbeddingModel:
    """Encodes texts, each of them once."""

    def __init__(self, name: str, encode: Encode) -> None:
        """name: as users know the model."""
        self.name = name
        self._encode = encode
        self._known: dict[str, bytes] = {}

    def compute(self, texts: Iterable[str]) -> None:
        """Compute the vectors of texts for later.

        Each separately: in a batch, a model's last bits depend on the other texts.
        """
        for text in texts:
            if text not in self._known:
                (vector,) = self._encode([text])
                self._known[text] = to_blob(vector)

    def vector(self, text: str) -> bytes:
        """Return a text's vector: float32, little-endian, unit length."""
        self.compute([text])
        return self._known[text]

    def has_computed(self, samples: Sequence[tuple[str, bytes]]) -> bool:
        """Whether this model computed these vectors of texts."""
        return all(_cosine(self.vector(text), vector) >= SAME_MODEL for text, vector in samples)


def _cosine(left: bytes, right: bytes) -> float:
    """Return the cosine of two vectors; 0 if their dimensions differ or one is zero."""
    import numpy as np

    if len(left) != len(right):
        return 0.0
    first, second = (np.frombuffer(blob, dtype="<f4").astype(np.float64) for blob in (left, right))
    lengths = float(np.linalg.norm(first) * np.linalg.norm(second))
    return float(first @ second) / lengths if np.isfinite(lengths) and lengths > 0 else 0.0
