"""The tables of what was measured."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from statistics import median
from typing import Any

from rich.table import Table

from benchmarks.quality.bench import Json

COMMANDS = (
    "import",
    "first night",
    "second night",
    "night with new ones",
    "the same, full",
    "undo",
    "lineage",
)
DATA = (
    "The memories are copies of fixtures/night with other names, numbers and topics; their vectors "
    "are those texts' own, turned and shaken so that they lie as real ones do "
    "(benchmarks/speed/data.py)."
)


def introduction(results: Json) -> str:
    """Say what it ran on, which data, and how often."""
    lines = [f"{name}: {_said(value)}" for name, value in results["environment"].items()]
    lines.append(f"rounds: {results['rounds']}, figures are medians; seconds are wall-clock time")
    return "\n".join([*lines, f"data: {DATA}"])


def tables(results: Json) -> Iterator[Table]:
    """Yield the tables: what each command takes, the stages of each night, neighbors, ratios."""
    sizes = list(results["sizes"])
    yield _commands(results, sizes)
    for name in ("first night", "night with new ones", "the same, full"):
        yield _stages(results, sizes, name)
    yield _neighbours(results, sizes)
    yield _ratios(results, sizes)


def _commands(results: Json, sizes: Sequence[str]) -> Table:
    table = _table("the whole: seconds / processor seconds / MiB at the most", sizes)
    for name in COMMANDS:
        table.add_row(name, *_with_growth([_cell(results, size, name) for size in sizes]))
    rows = {"file, MiB": "file", "proposals": "proposals", "applied": "applied"}
    for title, key in rows.items():
        values = [_median(results, size, "first night", key) for size in sizes]
        shown = [v / 2**20 if v is not None and key == "file" else v for v in values]
        table.add_row(title, *_with_growth([(_number(v), v) for v in shown]))
    reads = [_median(results, size, "second night", "vectors read") for size in sizes]
    table.add_row(
        "vectors that the second night read", *_with_growth([(_number(v), v) for v in reads])
    )
    return table


def _stages(results: Json, sizes: Sequence[str], night: str) -> Table:
    table = _table(f"{night}, by stages: seconds / processor seconds / MiB at the most", sizes)
    names = dict.fromkeys(
        name for size in sizes for item in results["sizes"][size] for name in item[night]["stages"]
    )
    for name in names:
        cells = [_cell(results, size, night, "stages", name) for size in sizes]
        table.add_row(name, *_with_growth(cells))
    outside = [_outside(results, size, night) for size in sizes]
    table.add_row("all but neighbours", *_with_growth([(_number(v), v) for v in outside]))
    return table


def _neighbours(results: Json, sizes: Sequence[str]) -> Table:
    table = Table("neighbours", *(f"{int(size):,}" for size in sizes), title="the search alone")
    for key in ("seconds", "processor", "peak", "pairs found", "GFLOP/s", "bare GFLOP/s"):
        values = [_median(results, size, "neighbours", key) for size in sizes]
        shown = [v / 2**20 if v is not None and key == "peak" else v for v in values]
        title = "MiB at the most" if key == "peak" else key
        table.add_row(title, *map(_number, shown))
    for key in ("share of bare", "share of bare, by processor time"):
        shares = [_median(results, size, "neighbours", key) for size in sizes]
        table.add_row(key, *map(_percent, shares))
    return table


def _ratios(results: Json, sizes: Sequence[str]) -> Table:
    """Return the ratios that issue and README speak of, by processor time."""
    title = "processor time, ratios"
    table = Table("", *(f"{int(size):,}" for size in sizes), title=title)
    for name, above, below in (
        ("second night on the unchanged file to the first", "second night", "first night"),
        ("night with new ones to the same, full", "night with new ones", "the same, full"),
        ("full night to the first", "the same, full", "first night"),
    ):
        table.add_row(name, *(_percent(_ratio(results, size, above, below)) for size in sizes))
    return table


def _ratio(results: Json, size: str, above: str, below: str) -> float | None:
    one, other = (_median(results, size, night, "processor") for night in (above, below))
    return one / other if one is not None and other else None


def _table(title: str, sizes: Sequence[str]) -> Table:
    columns = [f"{int(sizes[0]):,}"]
    for size in sizes[1:]:
        columns += ["x", f"{int(size):,}"]
    return Table("", *columns, title=title)


def _with_growth(cells: Sequence[tuple[str, float | None]]) -> Iterator[str]:
    """Yield the cells, and between two of them how many times as much the latter is."""
    for at, (shown, value) in enumerate(cells):
        if at:
            before = cells[at - 1][1]
            yield f"{value / before:.1f}" if value and before else ""
        yield shown


def _cell(results: Json, size: str, *path: str) -> tuple[str, float | None]:
    values = [_median(results, size, *path, key) for key in ("seconds", "processor", "peak")]
    if values[0] is None:
        return "", None
    seconds, processor, most = (value or 0.0 for value in values)
    return f"{_number(seconds)} / {_number(processor)} / {most / 2**20:.0f}", processor


def _outside(results: Json, size: str, night: str) -> float | None:
    whole = _median(results, size, night, "processor")
    inside = _median(results, size, night, "stages", "neighbours", "processor")
    return None if whole is None else whole - (inside or 0.0)


def _median(results: Json, size: str, *path: str) -> float | None:
    """Return the median over the rounds of what lies at a path, None where a round lacks it."""
    found: list[float] = []
    for item in results["sizes"][size]:
        value: Any = item
        for key in path:
            value = value.get(key) if isinstance(value, dict) else None
        if not isinstance(value, int | float):
            return None
        found.append(value)
    return median(found) if found else None


def _number(value: float | None) -> str:
    if value is None:
        return ""
    return f"{value:,.0f}" if value >= 100 or value == int(value) else f"{value:.2f}"


def _percent(value: float | None) -> str:
    return "" if value is None else f"{100 * value:.1f}%"


def _said(value: object) -> str:
    if isinstance(value, dict):
        return ", ".join(f"{name} {item}" for name, item in value.items())
    return "; ".join(map(str, value)) if isinstance(value, list) else str(value)
