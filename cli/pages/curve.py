"""How many memories were active from run to run, as a line to be drawn."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from .account import Point

# The size of the drawing, with room for the line's width.
WIDTH, HEIGHT, MARGIN = 1_000, 160, 10
# Older runs are left out.
MOST_RUNS = 200


@dataclass(frozen=True)
class Mark:
    """What one run left, and what is said of it."""

    x: float
    y: float
    title: str


@dataclass(frozen=True)
class Curve:
    """A line as SVG has it, and what is on it."""

    line: str
    marks: tuple[Mark, ...]
    most: int


def draw_curve(history: Sequence[Point]) -> Curve | None:
    """Return the line through what each run found and left; None without a run."""
    shown = history[-MOST_RUNS:]
    if not shown:
        return None
    most = max(max(one.before, one.after) for one in shown) or 1
    step = WIDTH / (2 * len(shown) - 1)

    def at(place: int, count: int) -> tuple[float, float]:
        return round(MARGIN + place * step, 1), round(MARGIN + HEIGHT * (1 - count / most), 1)

    corners: list[tuple[float, float]] = []
    marks = []
    for number, one in enumerate(shown):
        corners += [at(2 * number, one.before), at(2 * number + 1, one.after)]
        title = f"{one.day}: {one.before:,} -> {one.after:,} memories"
        marks.append(Mark(*corners[-1], title))
    return Curve(" ".join(f"{x},{y}" for x, y in corners), tuple(marks), most)
