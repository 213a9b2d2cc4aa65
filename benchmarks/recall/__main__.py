"""What recall finds before and after one night, compared with baselines.

    python -m benchmarks.recall
    python -m benchmarks.recall --nights
    python -m benchmarks.recall --lives
    python -m benchmarks.recall --data FOLDER
    python -m benchmarks.recall ... --replay RECORDING [--checker NAME|none]

Without options: the nights and lives of fixtures/, with the questions in fixtures/recall, and the
files of the shared data that are present. With options: only what they name. Lives are measured
with a model's recorded answers, everything else without a model, unless --replay is specified;
prompts without a recorded answer are written to RECORDING.missing.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Iterator, Sequence
from pathlib import Path

from rich.console import Console

from benchmarks.quality.bench import SHARED, make_parser, replaying
from benchmarks.speed.machine import about
from slowwave.consolidation.vectors.embedder import CachingEmbedder, SentenceEmbedder
from slowwave.consolidation.writing.writer import Writer

from .lives import lives
from .measured import Result, combine, measure_recall
from .report import EXPLANATIONS, TUNED_ON, tables
from .sets import QuestionSet, absent, nights, shared

# The width of the tables, which do not fit a narrow terminal or a pipe.
_MIN_WIDTH = 132


def main(arguments: Sequence[str] | None = None) -> None:
    """Measure the chosen files, and print tables."""
    args = _parser().parse_args(arguments)
    data = _data(args)
    embedder = CachingEmbedder(SentenceEmbedder())
    console = Console(width=max(_MIN_WIDTH, Console().width))
    for line in _notes(args, data):
        console.print(line, soft_wrap=True, highlight=False)
    writer = replaying(args.replay, checker=args.checker) if args.replay else None
    results = [_measure(set_, embedder, writer) for set_ in _question_sets(args, data)]
    results += [*_combined("night", results), *_combined("life", results)]
    console.print(*tables(results))


def _parser() -> argparse.ArgumentParser:
    parser = make_parser("benchmarks.recall", __doc__)
    parser.add_argument("--nights", action="store_true", help="the nights of fixtures/")
    parser.add_argument("--lives", action="store_true", help="the lives of fixtures/")
    parser.add_argument("--replay", type=Path, help="the recorded answers of a model")
    parser.add_argument("--checker", default="same", help="a model's name, same or none")
    parser.add_argument("--data", type=Path, help="the folder of the shared data")
    return parser


def _is_default(args: argparse.Namespace) -> bool:
    return not (args.nights or args.lives or args.data)


def _log(text: str) -> None:
    sys.stderr.write(f"{time.strftime('%H:%M:%S')} {text}\n")


def _data(args: argparse.Namespace) -> Path | None:
    """Return the folder of the shared data, None if it does not exist or was not requested."""
    folder: Path | None = args.data
    if _is_default(args):
        folder = SHARED
    return folder if folder is not None and folder.is_dir() else None


def _notes(args: argparse.Namespace, data: Path | None) -> Iterator[str]:
    """Yield what the figures were measured with, and what they mean."""
    yield about()
    yield from TUNED_ON
    yield from EXPLANATIONS
    if missing := absent(data) if _is_default(args) or args.data else []:
        yield f"Absent: {', '.join(missing)}."


def _question_sets(args: argparse.Namespace, data: Path | None) -> Iterator[QuestionSet]:
    if args.nights or _is_default(args):
        yield from nights()
    if args.lives or _is_default(args):
        yield from lives()
    if data is not None:
        yield from shared(data)


def _measure(set_: QuestionSet, embedder: CachingEmbedder, writer: Writer | None) -> Result:
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
