"""What recall finds before and after one night, beside plain ways to search.

    python -m benchmarks.recall [--json]
    python -m benchmarks.recall --nights
    python -m benchmarks.recall --lives
    python -m benchmarks.recall --data FOLDER
    python -m benchmarks.recall --locomo locomo10.json --longmemeval longmemeval_s.json

    python -m benchmarks.recall ... --replay RECORDING [--checker NAME|none]

Without an option the nights and lives of fixtures/ are measured, with the questions in
fixtures/recall, and what is there of the shared data. With some, only what they name. A night is
one without a model, except that of a life, which has a model's recorded answers. With --replay all
are nights with a model; prompts that the recording lacks are written to RECORDING.missing.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import time
from collections.abc import Iterator, Sequence
from pathlib import Path

from rich.console import Console

from benchmarks.quality.bench import ROOT, Bench, Json
from benchmarks.quality.environment import environment
from benchmarks.quality.life import replaying
from benchmarks.quality.vectors import KeptVectors
from slowwave.consolidation.vectors.embedder import SentenceEmbedder
from slowwave.consolidation.writing.writer import Writer

from .lives import lives
from .measured import Result, measured, together
from .readers import read_locomo, read_longmemeval
from .report import EXPLAINED, TUNED_ON, tables
from .sets import Asked, absent, nights, shared

# Vectors that were computed once are taken from there.
_VECTORS = ROOT / "build" / "bench-recall-vectors.npz"
# The tables have more columns than a narrow terminal, or a pipe, has room for.
_WIDTH = 132


def main(arguments: Sequence[str] | None = None) -> None:
    """Measure what is named, and print the tables or the figures."""
    parser = _parser()
    chosen = parser.parse_args(arguments)
    for path in (chosen.locomo, chosen.longmemeval):
        if path is not None and not path.is_file():
            parser.error(f"absent: {path}")
    bench = _bench(chosen)
    console = Console(width=max(_WIDTH, Console().width))
    about = _about(chosen, bench)
    if not chosen.json:
        _introduce(console, about)
    replayed = replaying(chosen.replay, checker=chosen.checker) if chosen.replay else None
    results = [_measured(bench, request, replayed) for request in _asked(chosen, bench)]
    results += [*_together("night", results), *_together("life", results)]
    bench.embedder.keep()
    if chosen.json:
        found = {result.name: result.figures() for result in results}
        sys.stdout.write(json.dumps({"environment": about, **found}, indent=1) + "\n")
        return
    console.print(*tables(results))


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.recall", description=__doc__)
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    parser.add_argument("--nights", action="store_true", help="the nights of fixtures/")
    parser.add_argument("--lives", action="store_true", help="the lives of fixtures/")
    parser.add_argument("--replay", type=Path, help="the recorded answers of a model")
    parser.add_argument("--checker", default="same", help="who checks: a model's name, same, none")
    parser.add_argument("--data", type=Path, help="the folder of the shared data")
    parser.add_argument("--locomo", type=Path, help="LoCoMo's locomo10.json")
    parser.add_argument("--longmemeval", type=Path, help="LongMemEval's longmemeval_s.json")
    parser.add_argument(
        "--questions", type=int, metavar="N", help="of --longmemeval only so many, drawn by hash"
    )
    parser.add_argument("--json", action="store_true", help="the figures as JSON")
    return parser


def _is_default(chosen: argparse.Namespace) -> bool:
    named = (chosen.nights, chosen.lives, chosen.data, chosen.locomo, chosen.longmemeval)
    return not any(named)


def _bench(chosen: argparse.Namespace) -> Bench:
    def say(text: str) -> None:
        sys.stderr.write(f"{time.strftime('%H:%M:%S')} {text}\n")

    folder = chosen.data
    if _is_default(chosen):
        folder = Path(os.environ.get("DATA") or ROOT.parent / "shared" / "data")
    return Bench(
        data=folder if folder is not None and folder.is_dir() else None,
        quick=False,
        embedder=KeptVectors(SentenceEmbedder(), _VECTORS, say),
        say=say,
    )


def _about(chosen: argparse.Namespace, bench: Bench) -> Json:
    lacking = absent(bench) if _is_default(chosen) or chosen.data else []
    return {
        **{name: item for name, item in environment(bench).items() if name not in _NOT_HERE},
        "tuned on": list(TUNED_ON),
        "measured": list(EXPLAINED),
        "rounds": "1: one night on each file, of which nothing depends on chance; "
        "intervals are 95%, of a paired bootstrap over the questions",
        "absent of the shared data": lacking or "nothing" if bench.data or lacking else "not asked",
    }


# What the quality benchmark says of itself.
_NOT_HERE = ("model", "quick", "tuned on", "shared data")


def _introduce(console: Console, about: Json) -> None:
    for name, value in about.items():
        for line in value if isinstance(value, list) else [value]:
            console.print(f"{name}: {line}", soft_wrap=True, highlight=False)


def _asked(chosen: argparse.Namespace, bench: Bench) -> Iterator[Asked]:
    if chosen.nights or _is_default(chosen):
        yield from nights()
    if chosen.lives or _is_default(chosen):
        yield from lives()
    if bench.data is not None:
        yield from shared(bench)
    if chosen.locomo is not None:
        yield read_locomo(chosen.locomo)
    if chosen.longmemeval is not None:
        yield read_longmemeval(chosen.longmemeval, chosen.questions)


def _measured(bench: Bench, asked: Asked, replayed: Writer | None) -> Result:
    bench.say(f"{asked.name}: {len(asked.lines):,} memories, {len(asked.questions):,} questions")
    own = replaying(asked.recording) if asked.recording else None
    return measured(asked, bench.embedder, replayed or own)


def _together(kind: str, results: Sequence[Result]) -> list[Result]:
    """Return one more result, of all of a kind together, if there are several."""
    found = [result for result in results if result.name.startswith(f"{kind}: ")]
    return [together(f"{kind}: all together", found)] if len(found) > 1 else []


if __name__ == "__main__":
    main()
