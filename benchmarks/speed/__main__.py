"""How fast slowwave is and how much memory it takes: tables on stdout, figures as JSON in build/.

    python -m benchmarks.speed [--sizes 1000,10000,50000,100000] [--rounds N]

Each step runs in a process of its own, on memories that data.py makes. With several rounds each
figure is the median.
"""

from __future__ import annotations

import argparse
import json
import shutil
import sys
import time
from collections.abc import Sequence
from pathlib import Path

from rich.console import Console

from benchmarks.quality.bench import ROOT, Json

from .processes import slowwave, step
from .report import introduction, tables

OUTPUT = ROOT / "build" / "bench.json"
SIZES = "1000,10000,50000,100000"
# The tables have more columns than a narrow terminal, or a pipe, has room for.
_WIDTH = 130


def main(arguments: Sequence[str] | None = None) -> None:
    """Measure each size, and write what is known after each."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.speed", description=__doc__)
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    parser.add_argument("--sizes", default=SIZES, help="numbers of memories")
    parser.add_argument("--rounds", type=int, default=1, help="how often each size is measured")
    parser.add_argument("--output", type=Path, default=OUTPUT, help="the JSON to write")
    parser.add_argument("--show", action="store_true", help="only the tables of the last run")
    chosen = parser.parse_args(arguments)
    console = Console(width=_WIDTH)
    if chosen.show and not chosen.output.exists():
        parser.error(f"there are no figures yet in {chosen.output}: run it without --show")
    if chosen.show:
        results = json.loads(chosen.output.read_text("utf-8"))
    else:
        results = _measured(chosen, console)
    console.print(introduction(results), highlight=False)
    console.print(*tables(results))
    console.print(f"the figures are in {chosen.output}", soft_wrap=True)


def _measured(chosen: argparse.Namespace, console: Console) -> Json:
    results: Json = {"environment": step("about", Path()), "sizes": {}, "rounds": chosen.rounds}
    chosen.output.parent.mkdir(parents=True, exist_ok=True)
    for size in map(int, chosen.sizes.split(",")):
        folder = chosen.output.parent / "speed" / f"{size}"
        rounds = results["sizes"].setdefault(str(size), [])
        made = step("make", folder, size)
        try:
            for number in range(chosen.rounds):
                _say(f"{size:,} memories, round {number + 1} of {chosen.rounds}")
                rounds.append(measure(folder, made["later"]))
                chosen.output.write_text(json.dumps(results, indent=1) + "\n", "utf-8")
        finally:
            shutil.rmtree(folder)
    results["environment"]["load at the end"] = step("about", Path())["load"]
    chosen.output.write_text(json.dumps(results, indent=1) + "\n", "utf-8")
    return results


def measure(folder: Path, later: int) -> Json:
    """Go once through the life of a file: import, nights, undo; and give what each took."""
    file, fresh, full = (folder / f"{name}.db" for name in ("memory", "fresh", "full"))
    for left in folder.glob("*.db*"):
        left.unlink()
    found: Json = {"new memories": later}
    found["import"] = slowwave("import", file, folder / "memories.jsonl")
    found["vectors"] = step("vectors", file, "memories")
    found["neighbours"] = step("neighbours", file, "memories")
    found["first night"] = step("night", file)
    step("copied", file, fresh.name)
    found["second night"] = step("night", file)
    step("copied", file, full.name)
    if found["first night"]["example"] is not None:
        found["lineage"] = slowwave(
            "show", "--lineage", fresh, found["first night"]["example"], "--json"
        )
        found["undo"] = slowwave("undo", fresh, found["first night"]["run"])
    for item in (file, full):
        slowwave("import", item, folder / "later.jsonl")
        step("vectors", item, "later")
    found["night with new ones"] = step("night", file)
    found["the same, full"] = step("night", full, "full")
    return found


def _say(text: str) -> None:
    sys.stderr.write(f"{time.strftime('%H:%M:%S')} {text}\n")


if __name__ == "__main__":
    main()
