"""Generate tens of thousands of memories with realistic similarities from the base.

Random vectors have neither clusters nor chains. So the 3,000 hand-written memories of
fixtures/night are copied, some 860 of them per copy, as if each copy were another part of an
agent's life:

- A copy has one statement of most facts and rules, two or three of some, and all of the rest, so
  that most memories are about something that no other memory is about.
- Each copy has its own names, longer numbers and topics (renaming.py), so that the rules of
  comparison still see facts, near misses and updates.
- The first 30 principal components of the base's vectors are the same in all copies: how people
  write, and about which kinds of things. Each copy rotates the rest by a random orthogonal matrix.
  Similarities within a copy remain; across copies, memories of the same kind become unrelated.
- In every other copy, the memories of one flavour are about one person, as in a conversation of
  LoCoMo: their vectors share a direction, and their first components have twice the weight.
- A little noise makes all similarities different.

The numbers below were chosen so that similarities are distributed as in LoCoMo and LongMemEval, and
clusters grow as in 20,000 real sentences. The output is deterministic.
"""

from __future__ import annotations

import itertools
import json
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from uuid import NAMESPACE_URL, uuid5

import numpy as np
from numpy.typing import NDArray

from fixtures.night import FLAVOURS, NightMemory, lines_of

from .base import Base, load_base
from .renaming import Renaming

# The number of principal components that all copies share.
COMMON = 30
# For memories about one person: the weight of the first components, their number, the weight of the
# direction that they share, and the share of copies with such memories.
PERSON_WEIGHT = 2.0
PERSON_COMPONENTS = 8
PERSON_DIRECTION = 0.45
PERSON_SHARE = 0.5
NOISE = 0.1
# The shares of facts and rules that are stated once, and at most three times.
ONCE = 0.75
AT_MOST_THRICE = 0.88


@dataclass(frozen=True)
class Copy:
    """A renamed copy of part of the base."""

    number: int
    # Indexes in the base.
    rows: list[int]
    # float32, shape (len(rows), d), unit length.
    vectors: NDArray[np.float32]


class Maker:
    """Makes copies of the base."""

    def __init__(self, base: Base) -> None:
        """Rotate the base's vectors to their principal components."""
        self.base = base
        _, _, axes = np.linalg.svd(base.vectors, full_matrices=False)
        self._rotated = base.vectors @ axes.T
        self._flavours = np.array(base.flavours)
        own = base.vectors.shape[1] - COMMON
        random = np.random.default_rng(4)
        self._rotation, _ = np.linalg.qr(random.standard_normal((own, own)))

    @cached_property
    def renaming(self) -> Renaming:
        """The renaming of names, numbers and topics."""
        return Renaming(self.base)

    def copies(self) -> Iterator[Copy]:
        """Yield an infinite number of copies."""
        yield from map(self._copy, itertools.count())

    def _copy(self, number: int) -> Copy:
        random = np.random.default_rng([5, number])
        rows = sorted(row for group in self.base.groups for row in _sample(group, random))
        vectors = self._rotated[rows].astype(np.float64)
        person = random.choice(FLAVOURS) if random.random() < PERSON_SHARE else ""
        is_about_person = self._flavours[rows] == person
        vectors[is_about_person, :PERSON_COMPONENTS] *= PERSON_WEIGHT
        vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
        vectors[:, COMMON:] = _rotate(vectors[:, COMMON:], self._rotation, random)
        direction = random.standard_normal(len(self._rotation))
        vectors[is_about_person, COMMON:] += (
            PERSON_DIRECTION * direction / np.linalg.norm(direction)
        )
        vectors += NOISE / np.sqrt(vectors.shape[1]) * random.standard_normal(vectors.shape)
        vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
        return Copy(number, rows, vectors.astype(np.float32))


def _rotate(
    vectors: NDArray[np.float64], rotation: NDArray[np.float64], random: np.random.Generator
) -> NDArray[np.float64]:
    """Rotate vectors by a random orthogonal matrix.

    It is one fixed rotation between two random permutations of axes and signs, since generating a
    new rotation each time would dominate the run time.
    """
    for matrix in (rotation, None):
        axes = random.permutation(len(rotation))
        vectors = vectors[:, axes] * random.choice((-1.0, 1.0), len(rotation))
        vectors = vectors if matrix is None else vectors @ matrix
    return vectors


def _sample(group: list[int], random: np.random.Generator) -> list[int]:
    """Return the memories of a fact, rule or update that a copy contains."""
    chance = random.random()
    if len(group) < 3 or chance >= AT_MOST_THRICE:
        return group
    count = 1 if chance < ONCE else int(random.integers(2, 4))
    return sorted(random.choice(group, count, replace=False).tolist())


def make_vectors(path: Path, count: int) -> None:
    """Write `count` vectors in random order as .npy: float32, shape (count, d)."""
    maker = Maker(load_base())
    positions = np.random.default_rng(6).permutation(count)
    shape = (count, maker.base.vectors.shape[1])
    path.parent.mkdir(parents=True, exist_ok=True)
    vectors = np.lib.format.open_memmap(path, "w+", np.float32, shape)
    done = 0
    for copy in maker.copies():
        part = positions[done : done + len(copy.rows)]
        vectors[part] = copy.vectors[: len(part)]
        done += len(part)
        if done == count:
            break
    vectors.flush()


@dataclass(frozen=True)
class Memories:
    """Memories as lines for an import, with their ids and vectors in the same order."""

    lines: list[str]
    ids: list[str]
    # float32, shape (len(lines), d), unit length.
    vectors: NDArray[np.float32]
    model: str


def make_memories(count: int) -> Memories:
    """Return `count` memories in random order, so that the last ones are from all copies."""
    maker = Maker(load_base())
    lines: list[str] = []
    vectors = []
    for copy in maker.copies():
        lines += [_line(maker, copy, maker.base.memories[row]) for row in copy.rows]
        vectors.append(copy.vectors)
        if len(lines) >= count:
            break
    order = np.random.default_rng(7).permutation(len(lines))[:count]
    shuffled = [lines[index] for index in order]
    ids = [json.loads(line)["id"] for line in shuffled]
    return Memories(shuffled, ids, np.concatenate(vectors)[order], maker.base.model)


def _line(maker: Maker, copy: Copy, memory: NightMemory) -> str:
    id = str(uuid5(NAMESPACE_URL, f"slowwave-speed:{copy.number}:{memory.id}"))
    text = maker.renaming.rename(memory.text, copy.number)
    line = json.loads(lines_of([replace(memory, id=id, text=text)])[0])
    line["session"] = f"{copy.number}/{line['session']}"
    return json.dumps(line, ensure_ascii=False)
