"""The embedding model with a cache in a file, so that each text is encoded only once."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from slowwave.consolidation.vectors.embedder import Embedder, encode_portions

# Progress is reported after this number of texts.
_PORTION = 2_048


class CachedEmbedder:
    """An embedder that caches its vectors."""

    def __init__(self, embedder: Embedder, path: Path, say: Callable[[str], None]) -> None:
        """Load the vectors of this embedder from `path`, if it exists. say: reports progress."""
        self._embedder = embedder
        self._path = path
        self._say = say
        self._new = False
        self._vectors: dict[str, NDArray[np.float32]] = {}
        if path.is_file():
            with np.load(path) as cache:
                if str(cache["model"]) == embedder.name:
                    self._vectors = dict(zip(cache["keys"].tolist(), cache["vectors"], strict=True))

    @property
    def name(self) -> str:
        """The embedder's name."""
        return self._embedder.name

    def encode(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Return float32 vectors, shape (len(texts), d), unit length."""
        keys = [_key(text) for text in texts]
        missing = {
            key: text for key, text in zip(keys, texts, strict=True) if key not in self._vectors
        }
        self._encode_missing(list(missing), list(missing.values()))
        return np.stack([self._vectors[key] for key in keys])

    def save(self) -> None:
        """Write the cache to its file if it has new vectors."""
        if self._new:
            self._path.parent.mkdir(parents=True, exist_ok=True)
            keys = np.array(list(self._vectors))
            vectors = np.stack(list(self._vectors.values()))
            np.savez(self._path, model=np.array(self.name), keys=keys, vectors=vectors)
            self._new = False

    def _encode_missing(self, keys: list[str], texts: list[str]) -> None:
        def report(done: int, total: int) -> None:
            if total > _PORTION and (done % _PORTION == 0 or done == total):
                self._say(f"  embedded {done} of {total} texts")

        for positions, vectors in encode_portions(self._embedder, texts, report):
            self._new = True
            for position, vector in zip(positions, vectors, strict=True):
                self._vectors[keys[position]] = vector


def _key(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()
