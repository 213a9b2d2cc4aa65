"""The real embedder, for memories whose vectors were made: a draft lies where its sources lie."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from slowwave.consolidation.vectors.embedder import Embedder

# Between sentences, and what an update says about when they were so.
_BREAK = re.compile(r"(?<=[.!?])\s+|\[[^\]]*\]\s*")


class MadeEmbedder:
    """Embeds every text as the real one does, and takes as long; but gives it another place.

    The made vectors are turned (data.py), so that the embedder's own vector of a draft would lie
    far from its sources and the draft would be turned down. A draft repeats sentences of its
    sources: its vector is the direction of the memories whose sentences it repeats.
    """

    def __init__(self, embedder: Embedder, folder: Path, names: Sequence[str]) -> None:
        """Learn where the sentences of the memories made in a folder lie."""
        self._embedder = embedder
        self._made = [np.load(folder / f"{name}.npy", mmap_mode="r") for name in names]
        self._places: dict[int, tuple[int, int]] = {}
        for part, name in enumerate(names):
            with (folder / f"{name}.jsonl").open(encoding="utf-8") as lines:
                for row, line in enumerate(lines):
                    for sentence in _sentences(json.loads(line)["content"]):
                        self._places[sentence] = part, row

    @property
    def name(self) -> str:
        """The real one's name."""
        return self._embedder.name

    def encode(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Return float32 vectors, shape (len(texts), d), unit length."""
        vectors = self._embedder.encode(texts)
        for row, text in enumerate(texts):
            known = [
                self._places[sentence] for sentence in _sentences(text) if sentence in self._places
            ]
            if known:
                total = np.sum([self._made[part][at] for part, at in known], axis=0)
                vectors[row] = total / np.linalg.norm(total)
        return vectors


def _sentences(text: str) -> Iterator[int]:
    """Yield the hash of each sentence: the texts themselves would take memory of their own."""
    for part in _BREAK.split(text):
        if part:
            yield hash(part.rstrip(".!?"))
