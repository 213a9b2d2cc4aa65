"""The texts that all data of the benchmark is made from: the 3,000 of fixtures/night, embedded."""

from __future__ import annotations

import sys
from collections import defaultdict
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from benchmarks.quality.vectors import KeptVectors
from fixtures.night import FLAVOURS, Told, load
from slowwave.consolidation.vectors.embedder import SentenceEmbedder

from .machine import BUILD


@dataclass(frozen=True)
class Base:
    """The hand-written memories of all flavours, with their vectors."""

    told: tuple[Told, ...]
    # Per memory, the flavour that it belongs to.
    flavours: tuple[str, ...]
    # float32, shape (len(told), d), unit length.
    vectors: NDArray[np.float32]
    # Under which name of a model the vectors are kept.
    model: str

    @cached_property
    def groups(self) -> list[list[int]]:
        """The rows that tell one fact, one rule, one update: what must be copied as one."""
        found: dict[tuple[str, str], list[int]] = defaultdict(list)
        for row, (flavour, told) in enumerate(zip(self.flavours, self.told, strict=True)):
            found[flavour, told.group.removeprefix("near:")].append(row)
        return list(found.values())


def load_base() -> Base:
    """Return the base; embedded once, and kept in build/."""
    pairs = [(flavour, told) for flavour in FLAVOURS for told in load(flavour).told]

    def say(text: str) -> None:
        sys.stderr.write(text + "\n")

    embedder = KeptVectors(SentenceEmbedder(), BUILD / "base.npz", say)
    vectors = embedder.encode([told.text for _, told in pairs])
    embedder.keep()
    flavours, told = zip(*pairs, strict=True)
    return Base(told, flavours, vectors, embedder.name)
