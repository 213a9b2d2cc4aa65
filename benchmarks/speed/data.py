"""Memories by the ten thousand that lie to each other as real ones do, made from the base.

A benchmark needs more memories than anybody has written by hand, and random vectors have neither
clusters nor chains. So the 3,000 hand-written memories of fixtures/night are copied, some 860 of
them a copy, each copy being another stretch of an agent's life:

- Of each fact and rule most copies tell one wording only, some two or three, some all: so most
  memories are about something that nothing else is about.
- Names, longer numbers and the words that a fact is about are others in each copy, the same
  throughout it (renaming.py): what the guards see stays a fact, a near twin, an update.
- A copy's vectors are the base's, turned: what lies in the base's first 30 principal components
  is common to all copies (how people write, what kinds of things there are), and the rest is
  turned by an orthogonal matrix of the copy's own. Within a copy all similarities stay; between
  copies they become those of unrelated memories of the same kind.
- In every other copy one flavour is about one person: its vectors share a direction, and what
  they have most in common weighs twice. So the memories of one real conversation lie (LoCoMo).
- A little noise, so that no similarity comes twice.

The four numbers were chosen so that similarities are distributed as in LoCoMo and LongMemEval,
and clusters grow as in 20,000 real sentences.
The same bytes every time.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from uuid import NAMESPACE_URL, uuid5

import numpy as np
from numpy.typing import NDArray

from fixtures.night import FLAVOURS, Told, lines_of

from .base import Base, load_base
from .renaming import Renaming

# Principal components that all copies have in common.
COMMON = 30
# In memories about one person: how much more the first components weigh, how many those are, and
# how much of their direction is that person's.
PERSON_WEIGHT = 2.0
PERSON_COMPONENTS = 8
PERSON_DIRECTION = 0.45
PERSON_SHARE = 0.5
NOISE = 0.1
# Shares of facts and rules that are stated once, and at most three times.
ONCE = 0.75
SELDOM = 0.88


@dataclass(frozen=True)
class Copy:
    """One stretch of an agent's life."""

    number: int
    # Rows of the base.
    rows: list[int]
    # float32, shape (len(rows), d), unit length.
    vectors: NDArray[np.float32]


class Maker:
    """Makes copies of the base."""

    def __init__(self, base: Base) -> None:
        """Turn the base's vectors to their principal components, once."""
        self.base = base
        _, _, axes = np.linalg.svd(base.vectors, full_matrices=False)
        self._turned = base.vectors @ axes.T
        self._flavours = np.array(base.flavours)
        own = base.vectors.shape[1] - COMMON
        random = np.random.default_rng(4)
        self._rotation, _ = np.linalg.qr(random.standard_normal((own, own)))

    @cached_property
    def renaming(self) -> Renaming:
        """What tells a text anew."""
        return Renaming(self.base)

    def copies(self) -> Iterator[Copy]:
        """Yield copy after copy, without end."""
        number = 0
        while True:
            yield self._copy(number)
            number += 1

    def _copy(self, number: int) -> Copy:
        random = np.random.default_rng([5, number])
        rows = sorted(row for group in self.base.groups for row in _some(group, random))
        vectors = self._turned[rows].astype(np.float64)
        person = random.choice(FLAVOURS) if random.random() < PERSON_SHARE else ""
        about = self._flavours[rows] == person
        vectors[about, :PERSON_COMPONENTS] *= PERSON_WEIGHT
        vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
        vectors[:, COMMON:] = _turned(vectors[:, COMMON:], self._rotation, random)
        direction = random.standard_normal(len(self._rotation))
        vectors[about, COMMON:] += PERSON_DIRECTION * direction / np.linalg.norm(direction)
        vectors += NOISE / np.sqrt(vectors.shape[1]) * random.standard_normal(vectors.shape)
        vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
        return Copy(number, rows, vectors.astype(np.float32))


def _turned(
    vectors: NDArray[np.float64], rotation: NDArray[np.float64], random: np.random.Generator
) -> NDArray[np.float64]:
    """Turn vectors by an orthogonal matrix of their own.

    One rotation between two shuffles of axes and signs: to make a new one each time would take
    longer than all else.
    """
    for matrix in (rotation, None):
        axes = random.permutation(len(rotation))
        vectors = vectors[:, axes] * random.choice((-1.0, 1.0), len(rotation))
        vectors = vectors if matrix is None else vectors @ matrix
    return vectors


def _some(group: list[int], random: np.random.Generator) -> list[int]:
    """Return the members of a fact, rule or update that a copy tells."""
    chance = random.random()
    if len(group) < 3 or chance >= SELDOM:
        return group
    count = 1 if chance < ONCE else int(random.integers(2, 4))
    return sorted(random.choice(group, count, replace=False).tolist())


def make_vectors(path: Path, count: int) -> None:
    """Write `count` vectors, float32, shape (count, d), as .npy, in no order."""
    maker = Maker(load_base())
    places = np.random.default_rng(6).permutation(count)
    shape = (count, maker.base.vectors.shape[1])
    path.parent.mkdir(parents=True, exist_ok=True)
    vectors = np.lib.format.open_memmap(path, "w+", np.float32, shape)
    done = 0
    for copy in maker.copies():
        part = places[done : done + len(copy.rows)]
        vectors[part] = copy.vectors[: len(part)]
        done += len(part)
        if done == count:
            break
    vectors.flush()


@dataclass(frozen=True)
class Memories:
    """Memories as lines to import, and their vectors in the same order."""

    lines: list[str]
    # The id in each line.
    ids: list[str]
    # float32, shape (len(lines), d), unit length.
    vectors: NDArray[np.float32]
    model: str


def make_memories(count: int) -> Memories:
    """Return `count` memories, in no order: the last ones belong to the same stretches of life."""
    maker = Maker(load_base())
    lines: list[str] = []
    vectors = []
    for copy in maker.copies():
        lines += [_line(maker, copy, maker.base.told[row]) for row in copy.rows]
        vectors.append(copy.vectors)
        if len(lines) >= count:
            break
    order = np.random.default_rng(7).permutation(len(lines))[:count]
    chosen = [lines[at] for at in order]
    ids = [json.loads(line)["id"] for line in chosen]
    return Memories(chosen, ids, np.concatenate(vectors)[order], maker.base.model)


def _line(maker: Maker, copy: Copy, told: Told) -> str:
    text = maker.renaming.told_anew(told.text, copy.number)
    anew = Told(_id(copy.number, told.id), text, told.role, told.group)
    memory = json.loads(lines_of([anew])[0])
    memory["session"] = f"{copy.number}/{memory['session']}"
    return json.dumps(memory, ensure_ascii=False)


def _id(copy: int, memory_id: str) -> str:
    return str(uuid5(NAMESPACE_URL, f"slowwave-speed:{copy}:{memory_id}"))
