"""How good slowwave's decisions are, measured: tables on stdout, figures as JSON in a file.

    python -m benchmarks.quality [--data FOLDER] [--quick] [--model NAME --api-base URL]
    python -m benchmarks.quality --summary

Needs nothing but the repository; what lies in the shared folder is measured on as well.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import time
from collections.abc import Sequence
from pathlib import Path

from rich.console import Console

from slowwave.consolidation.vectors.embedder import SentenceEmbedder

from . import drafts, five_nights, nights, pairs, real_model, updates
from .bench import ROOT, Bench, Json
from .environment import environment
from .summary import summary
from .vectors import KeptVectors

OUTPUT = ROOT / "build" / "bench-quality.json"
SECTIONS = {
    "pairs": pairs,
    "nights": nights,
    "drafts": drafts,
    "updates": updates,
    "five nights": five_nights,
}
# The tables have more columns than a narrow terminal, or a pipe, has room for.
_WIDTH = 120


def main(arguments: Sequence[str] | None = None) -> None:
    """Measure everything, or show again in short what was measured last."""
    chosen = _parser().parse_args(arguments)
    if chosen.summary:
        sys.stdout.write(summary(json.loads(chosen.output.read_text("utf-8"))))
        return
    console = Console(width=max(_WIDTH, Console().width))
    bench = _bench(chosen)
    results: Json = {"environment": environment(bench)}
    _introduce(console, bench, results["environment"])
    began = time.monotonic()
    for name, section in SECTIONS.items():
        results[name] = section.run(bench)
        console.print(*section.tables(results[name]))
    results["real model"] = real_model.run(bench) if bench.model else None
    if bench.model:
        console.print(*real_model.tables(results["real model"]))
    results["seconds"] = round(time.monotonic() - began)
    _write(chosen.output, results)
    console.print(f"{results['seconds']} s; the figures are in {chosen.output}", soft_wrap=True)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.quality", description=__doc__)
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    data = Path(os.environ.get("DATA") or ROOT.parent / "shared" / "data")
    parser.add_argument("--data", type=Path, default=data, help="the folder of the shared data")
    parser.add_argument("--output", type=Path, default=OUTPUT, help="the JSON to write, or to read")
    parser.add_argument("--quick", action="store_true", help="small samples, to see that it runs")
    parser.add_argument("--summary", action="store_true", help="the last run's targets as Markdown")
    parser.add_argument("--model", help="litellm's name of a model to measure as well")
    parser.add_argument("--api-base", help="where that model is served")
    return parser


def _bench(chosen: argparse.Namespace) -> Bench:
    def say(text: str) -> None:
        sys.stderr.write(f"{time.strftime('%H:%M:%S')} {text}\n")

    vectors = chosen.output.with_name("bench-vectors.npz")
    return Bench(
        data=chosen.data if chosen.data.is_dir() else None,
        quick=chosen.quick,
        embedder=KeptVectors(SentenceEmbedder(), vectors, say),
        say=say,
        model=chosen.model or None,
        api_base=chosen.api_base or None,
    )


def _introduce(console: Console, bench: Bench, about: Json) -> None:
    """Say first what it runs on, and which data nothing was tuned on."""
    for name, value in about.items():
        lines = value if isinstance(value, list) else [value]
        for line in lines:
            console.print(f"{name}: {line}", soft_wrap=True, highlight=False)
    if bench.data is None:
        console.print("The shared data is not there: only our own fixtures are measured on.")


def _write(output: Path, results: Json) -> None:
    output.parent.mkdir(parents=True, exist_ok=True)
    output.write_text(json.dumps(results, indent=1, ensure_ascii=False) + "\n", "utf-8")
    output.with_suffix(".md").write_text(summary(results), "utf-8")


if __name__ == "__main__":
    main()
