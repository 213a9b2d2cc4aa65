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

# From this cosine on, a stored vector counts as one of the same model: other builds of one model
# differ by rounding, other models by far more.
SAME_MODEL = 0.999
# Above so many characters programs cut a text off at different places.
LONGEST_SAMPLE = 400
# So many of the oldest and so many of the latest vectors are compared: the model may have changed.
SAMPLES_AT_EITHER_END = 5


class LentModel:
    """Turns texts into vectors, each of them once."""

    def __init__(self, name: str, encode: Encode) -> None:
        """Take a model under the name by which users know it."""
        self.name = name
        self._encode = encode
        self._known: dict[str, bytes] = {}

    def compute(self, texts: Iterable[str]) -> None:
        """Compute the vectors of several texts for later.

        Each by itself: beside others, a model's last bits depend on those.
        """
        for text in texts:
            if text not in self._known:
                (vector,) = self._encode([text])
                self._known[text] = to_blob(vector)

    def vector(self, text: str) -> bytes:
        """Return a text's vector: float32, little-endian, unit length."""
        self.compute([text])
        return self._known[text]

    def made(self, samples: Sequence[tuple[str, bytes]]) -> bool:
        """Whether the vectors of some texts are this model's; of no samples: no."""
        self.compute(text for text, _ in samples)
        return bool(samples) and all(
            _cosine(self._known[text], vector) >= SAME_MODEL for text, vector in samples
        )


def _cosine(one: bytes, other: bytes) -> float:
    """Return the cosine of two vectors; 0 if their dimensions differ or one has no direction."""
    import numpy as np

    if len(one) != len(other):
        return 0.0
    left, right = (np.frombuffer(blob, dtype="<f4").astype(np.float64) for blob in (one, other))
    lengths = float(np.linalg.norm(left) * np.linalg.norm(right))
    return float(left @ right) / lengths if np.isfinite(lengths) and lengths > 0 else 0.0
