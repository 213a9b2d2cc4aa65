"""The search for neighbors, and the grouping, among a million vectors: time and memory.

    python -m benchmarks.speed.million [--sizes 200000,1000000]

Each size in a process of its own, its vectors in a file that is mapped into memory.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections.abc import Sequence
from pathlib import Path

from rich.console import Console
from rich.table import Table

from benchmarks.quality.bench import ROOT, Json

from .processes import step
from .report import introduction

OUTPUT = ROOT / "build" / "bench-million.json"


def main(arguments: Sequence[str] | None = None) -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.speed.million", description=__doc__)
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    parser.add_argument("--sizes", default="200000,1000000", help="numbers of vectors")
    parser.add_argument("--output", type=Path, default=OUTPUT, help="the JSON to write")
    chosen = parser.parse_args(arguments)
    results: Json = {"environment": step("about", Path()), "rounds": 1, "sizes": {}}
    chosen.output.parent.mkdir(parents=True, exist_ok=True)
    for size in map(int, chosen.sizes.split(",")):
        sys.stderr.write(f"{time.strftime('%H:%M:%S')} {size:,} vectors\n")
        path = chosen.output.parent / "speed" / f"{size}.npy"
        made = step("make vectors", path, size)
        try:
            results["sizes"][size] = step("mapped", path) | {"making": made["seconds"]}
        finally:
            path.unlink()
        chosen.output.write_text(json.dumps(results, indent=1) + "\n", "utf-8")
    console = Console(width=110)
    console.print(introduction(results), highlight=False)
    console.print(table_of(results))
    console.print(f"the figures are in {chosen.output}", soft_wrap=True)


def table_of(results: Json) -> Table:
    """Return what each size took, and how many times as much as the one before."""
    table = Table("vectors", "what", "seconds", "x", "processor seconds", "MiB at the most", "")
    before: dict[str, float] = {}
    for size, stages in results["sizes"].items():
        for name in ("neighbours", "grouping"):
            one = stages[name]
            growth = f"{one['seconds'] / before[name]:.1f}" if name in before else ""
            before[name] = one["seconds"]
            said = _said(one)
            most = f"{one['peak'] / 2**20:,.0f}"
            seconds = f"{one['seconds']:,.1f}"
            table.add_row(
                f"{int(size):,}", name, seconds, growth, f"{one['processor']:,.1f}", most, said
            )
    return table


def _said(one: Json) -> str:
    if "recall" in one:
        return f"{one['pairs found']:,} pairs, {100 * one['recall']:.3f}% of all"
    if "GFLOP/s" in one:
        share = 100 * one["share of bare"]
        return f"{one['pairs found']:,} pairs, {one['GFLOP/s']:.0f} GFLOP/s, {share:.0f}% of bare"
    return f"{one['groups']:,} groups"


if __name__ == "__main__":
    main()
