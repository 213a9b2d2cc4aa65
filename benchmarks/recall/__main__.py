"""What recall finds before and after one night, compared with baselines.

    python -m benchmarks.recall [--json]
    python -m benchmarks.recall --nights
    python -m benchmarks.recall --lives
    python -m benchmarks.recall --data FOLDER
    python -m benchmarks.recall --locomo locomo10.json --longmemeval longmemeval_s.json

    python -m benchmarks.recall ... --replay RECORDING [--checker NAME|none]

Without options: the nights and lives of fixtures/, with the questions in fixtures/recall, and the
files of the shared data that are present. With options: only what they name. Lives are measured
with a model's recorded answers, everything else without a model, unless --replay is specified;
prompts without a recorded answer are written to RECORDING.missing.
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

from benchmarks.quality.bench import ROOT, Json
from benchmarks.quality.environment import environment
from benchmarks.quality.life import replaying
from benchmarks.quality.vectors import CachedEmbedder
from slowwave.consolidation.vectors.embedder import SentenceEmbedder
from slowwave.consolidation.writing.writer import Writer

from .lives import lives
from .measured import Result, combine, measure_recall
from .readers import read_locomo, read_longmemeval
from .report import EXPLANATIONS, TUNED_ON, tables
from .sets import QuestionSet, absent, nights, shared

# The cache of vectors.
_VECTORS = ROOT / "build" / "bench-recall-vectors.npz"
# The width of the tables, which do not fit a narrow terminal or a pipe.
_MIN_WIDTH = 132


def main(arguments: Sequence[str] | None = None) -> None:
    """Measure the args files, and print tables or JSON."""
    parser = _parser()
    args = parser.parse_args(arguments)
    for path in (args.locomo, args.longmemeval):
        if path is not None and not path.is_file():
            parser.error(f"absent: {path}")
    data = _data(args)
    embedder = CachedEmbedder(SentenceEmbedder(), _VECTORS, _log)
    console = Console(width=max(_MIN_WIDTH, Console().width))
    about = _about(args, data, embedder.name)
    if not args.json:
        _print_about(console, about)
    writer = replaying(args.replay, checker=args.checker) if args.replay else None
    results = [_measure(set_, embedder, writer) for set_ in _question_sets(args, data)]
    results += [*_combined("night", results), *_combined("life", results)]
    embedder.save()
    if args.json:
        figures = {result.name: result.figures() for result in results}
        sys.stdout.write(json.dumps({"environment": about, **figures}, indent=1) + "\n")
        return
    console.print(*tables(results))


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.recall", description=__doc__)
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    parser.add_argument("--nights", action="store_true", help="the nights of fixtures/")
    parser.add_argument("--lives", action="store_true", help="the lives of fixtures/")
    parser.add_argument("--replay", type=Path, help="the recorded answers of a model")
    parser.add_argument("--checker", default="same", help="a model's name, same or none")
    parser.add_argument("--data", type=Path, help="the folder of the shared data")
    parser.add_argument("--locomo", type=Path, help="LoCoMo's locomo10.json")
    parser.add_argument("--longmemeval", type=Path, help="LongMemEval's longmemeval_s.json")
    parser.add_argument(
        "--questions", type=int, metavar="N", help="a sample of --longmemeval, by hash"
    )
    parser.add_argument("--json", action="store_true", help="print the figures as JSON")
    return parser


def _is_default(args: argparse.Namespace) -> bool:
    named = (args.nights, args.lives, args.data, args.locomo, args.longmemeval)
    return not any(named)


def _log(text: str) -> None:
    sys.stderr.write(f"{time.strftime('%H:%M:%S')} {text}\n")


def _data(args: argparse.Namespace) -> Path | None:
    """Return the folder of the shared data, None if it does not exist or was not args."""
    folder: Path | None = args.data
    if _is_default(args):
        folder = Path(os.environ.get("DATA") or ROOT.parent / "shared" / "data")
    return folder if folder is not None and folder.is_dir() else None


def _about(args: argparse.Namespace, data: Path | None, embedder: str) -> Json:
    missing = absent(data) if _is_default(args) or args.data else []
    return {
        **environment(embedder),
        "tuned on": list(TUNED_ON),
        "measured": list(EXPLANATIONS),
        "rounds": "1: a night is deterministic; intervals are 95%, from a paired bootstrap over "
        "the questions",
        "missing shared data": missing or ("nothing" if data else "not requested"),
    }


def _print_about(console: Console, about: Json) -> None:
    for name, value in about.items():
        for line in value if isinstance(value, list) else [value]:
            console.print(f"{name}: {line}", soft_wrap=True, highlight=False)


def _question_sets(args: argparse.Namespace, data: Path | None) -> Iterator[QuestionSet]:
    if args.nights or _is_default(args):
        yield from nights()
    if args.lives or _is_default(args):
        yield from lives()
    if data is not None:
        yield from shared(data)
    if args.locomo is not None:
        yield read_locomo(args.locomo)
    if args.longmemeval is not None:
        yield read_longmemeval(args.longmemeval, args.questions)


def _measure(set_: QuestionSet, embedder: CachedEmbedder, writer: Writer | None) -> Result:
    _log(f"{set_.name}: {len(set_.lines):,} memories, {len(set_.questions):,} questions")
    if writer is None and set_.recording is not None:
        writer = replaying(set_.recording)
    return measure_recall(set_, embedder, writer)


def _combined(kind: str, results: Sequence[Result]) -> list[Result]:
    """Return the combined result of a kind, if there are at least two."""
    of_kind = [result for result in results if result.name.startswith(f"{kind}: ")]
    return [combine(f"{kind}: all together", of_kind)] if len(of_kind) > 1 else []


if __name__ == "__main__":
    main()
