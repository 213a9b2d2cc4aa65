"""The embedding model, with the vectors kept in a file: a text is encoded once for all runs."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from slowwave.consolidation.vectors.embedder import Embedder, encode_portions

# After how many texts it is said how far it is.
_PORTION = 2_048


class KeptVectors:
    """An embedder that remembers what it encoded."""

    def __init__(self, embedder: Embedder, path: Path, say: Callable[[str], None]) -> None:
        """Take the vectors of earlier runs from `path`, if there are any of this embedder."""
        self._embedder = embedder
        self._path = path
        self._say = say
        self._new = False
        self._vectors: dict[str, NDArray[np.float32]] = {}
        if path.is_file():
            with np.load(path) as kept:
                if str(kept["model"]) == embedder.name:
                    pairs = zip(kept["keys"].tolist(), kept["vectors"], strict=True)
                    self._vectors = dict(pairs)

    @property
    def name(self) -> str:
        """The embedder's name."""
        return self._embedder.name

    def encode(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Return float32 vectors, shape (len(texts), d), unit length."""
        keys = [_key(text) for text in texts]
        lacking = dict(zip(keys, texts, strict=True))
        lacking = {key: text for key, text in lacking.items() if key not in self._vectors}
        self._learn(list(lacking), list(lacking.values()))
        return np.stack([self._vectors[key] for key in keys])

    def keep(self) -> None:
        """Write the vectors to the file, if there are new ones."""
        if self._new:
            self._path.parent.mkdir(parents=True, exist_ok=True)
            keys = np.array(list(self._vectors))
            vectors = np.stack(list(self._vectors.values()))
            np.savez(self._path, model=np.array(self.name), keys=keys, vectors=vectors)
            self._new = False

    def _learn(self, keys: list[str], texts: list[str]) -> None:
        def report(done: int, total: int) -> None:
            # A few drafts need no mention, nor does every portion of many.
            if total > _PORTION and (done % _PORTION == 0 or done == total):
                self._say(f"  embedded {done} of {total} texts")

        for positions, vectors in encode_portions(self._embedder, texts, report):
            self._new = True
            for at, vector in zip(positions, vectors, strict=True):
                self._vectors[keys[at]] = vector


def _key(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()
