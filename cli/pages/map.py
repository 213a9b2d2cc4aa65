"""The memories of a file as points in two dimensions, near each other if their vectors are."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from slowwave.cli.results.memory_texts import MemoryTexts
from slowwave.cli.terminal.wording import day_of

from .account import ShownProposal

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

# As many points as a browser draws at once and a person can tell apart.
MOST_POINTS = 2_000
# The size of the drawing, without its margin.
WIDTH, HEIGHT, MARGIN = 1_000, 560, 20
# Colours that clusters take by turns; the page names one for each.
COLOURS = 10

Kind = Literal["as it was", "gone", "made"]


@dataclass(frozen=True)
class Dot:
    """One memory on the map."""

    x: float
    y: float
    kind: Kind
    # Which colour it has: that of the proposal that it is part of.
    colour: int | None
    title: str


@dataclass(frozen=True)
class Thread:
    """A line from a memory to what it became."""

    x1: float
    y1: float
    x2: float
    y2: float
    colour: int


@dataclass(frozen=True)
class Map:
    """What is drawn, and of how many memories."""

    dots: tuple[Dot, ...]
    threads: tuple[Thread, ...]
    memories: int


def draw_map(memory_file: Path, model: str, items: Sequence[ShownProposal]) -> Map | None:
    """Return the map of what a run met and made; None where the file has no vectors yet.

    Of more memories than can be drawn, one in so many is, besides those that changed.
    """
    from slowwave.store.file import open_reading
    from slowwave.store.vectors import (
        ids_with_vectors,
        is_sound,
        read_dimensions,
        read_vectors_by_id,
    )

    effective = [one for one in items if one.is_effective]
    with open_reading(memory_file) as file:
        models = read_dimensions(file)
        if not models:
            return None
        model = model if model in models else min(models)
        active = ids_with_vectors(file, model)
        touched = sorted({each for one in effective for each in _memories_of(one)})
        chosen = _sampled(touched, active)
        kept = read_vectors_by_id(file, model, chosen)
        blobs = {one: blob for one, _, blob in kept if is_sound(blob)}
    size = max(map(len, blobs.values()), default=0)
    places = _flat({one: blob for one, blob in blobs.items() if len(blob) == size})
    titles = _titles(memory_file, list(places))
    dots = _dots(effective, places, titles, set(active))
    return Map(dots, _threads(effective, places), len({*active, *touched}))


def _memories_of(item: ShownProposal) -> list[str]:
    return [*(one.id for one in item.sources), *([item.made] if item.made else [])]


def _sampled(touched: Sequence[str], active: Sequence[str]) -> list[str]:
    """Return what is drawn: at most half of it what changed, if there is more than room for."""
    others = sorted(set(active) - set(touched))
    if len(touched) + len(others) <= MOST_POINTS:
        return [*touched, *others]
    some = _evenly(touched, max(MOST_POINTS // 2, MOST_POINTS - len(others)))
    return [*some, *_evenly(others, MOST_POINTS - len(some))]


def _evenly(ids: Sequence[str], most: int) -> list[str]:
    if len(ids) <= most:
        return list(ids)
    return [ids[at * len(ids) // most] for at in range(most)]


def _flat(blobs: Mapping[str, bytes]) -> dict[str, tuple[float, float]]:
    """Return the place of each memory on the plane in which they differ most."""
    if not blobs:
        return {}
    import numpy as np

    vectors = np.frombuffer(b"".join(blobs.values()), "<f4").reshape(len(blobs), -1)
    centred = vectors.astype(np.float64) - vectors.mean(axis=0)
    # The two longest axes of the cloud, which are the first principal components.
    _, axes = np.linalg.eigh(centred.T @ centred)
    longest = axes[:, : -min(3, axes.shape[1] + 1) : -1]
    # An axis may point either way: the same page every time.
    longest = longest * np.sign(longest[np.abs(longest).argmax(axis=0), range(longest.shape[1])])
    points = centred @ longest
    if points.shape[1] < 2:
        points = np.hstack([points, np.zeros_like(points)])
    return dict(zip(blobs, _fitted(points), strict=True))


def _fitted(points: NDArray[np.float64]) -> list[tuple[float, float]]:
    """Return points scaled to the drawing, each axis by itself."""
    import numpy as np

    low, high = points.min(axis=0), points.max(axis=0)
    spread = np.where(high - low > 1e-9, high - low, 1.0)
    scaled = (points - low) / spread * (WIDTH, HEIGHT) + MARGIN
    return [(round(float(x), 1), round(float(y), 1)) for x, y in scaled]


def _titles(memory_file: Path, ids: Sequence[str]) -> dict[str, str]:
    shown = MemoryTexts(memory_file).memories(ids)
    return {
        one: f"{day_of(memory.observed_at)}  {memory.content}".strip()
        for one, memory in shown.items()
    }


def _colours(items: Sequence[ShownProposal]) -> dict[str, int]:
    """Return the colour of each memory that a proposal is about; the first of several counts."""
    found: dict[str, int] = {}
    for number, item in enumerate(items):
        for memory in _memories_of(item):
            found.setdefault(memory, number % COLOURS)
    return found


def _dots(
    items: Sequence[ShownProposal],
    places: Mapping[str, tuple[float, float]],
    titles: Mapping[str, str],
    active: set[str],
) -> tuple[Dot, ...]:
    colours = _colours(items)
    gone = {said.id for item in items for said in item.sources if said.goes}
    made = {item.made for item in items}

    def kind(memory: str) -> Kind:
        if memory in gone or memory not in active:
            return "gone"
        return "made" if memory in made else "as it was"

    dots = [
        Dot(x, y, kind(one), colours.get(one), titles.get(one, ""))
        for one, (x, y) in places.items()
    ]
    # What changed is drawn over what did not, and what was made over all.
    return tuple(sorted(dots, key=lambda one: (one.colour is not None, one.kind == "made")))


def _threads(
    items: Sequence[ShownProposal], places: Mapping[str, tuple[float, float]]
) -> tuple[Thread, ...]:
    return tuple(
        Thread(*places[said.id], *places[item.made], number % COLOURS)
        for number, item in enumerate(items)
        if item.made is not None and item.made in places
        for said in item.sources
        if said.id in places and said.id != item.made
    )
