"""Measure how good a model is: drafts judged rightly, the figures of a life, and the cost.

    python -m benchmarks.quality.model --model NAME [--checker NAME|none] [--api-base URL]
    python -m benchmarks.quality.model --model NAME --data FOLDER
    python -m benchmarks.quality.model --model NAME --record PATH, then --replay PATH

By default it reads drafts-held-out.toml and life-blind-a of fixtures/quality. FOLDER holds
drafts3.jsonl (one draft per line: `case`, `sources`, `claims`, `faithful`, `kind`), and
life-lab.jsonl with life-lab.gold.json; files that are absent are listed and skipped. The checker
judges the drafts; both models work on the life.
"""

from __future__ import annotations

import argparse
import sys
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from slowwave.consolidation.errors import ConsolidationError
from slowwave.consolidation.model.model_writer import ModelWriter
from slowwave.consolidation.model.objections import check_drafts
from slowwave.consolidation.model.question import Bill, Dialogue
from slowwave.consolidation.model.unanswered import Unanswered
from slowwave.consolidation.proposals import Usage
from slowwave.consolidation.vectors.embedder import SentenceEmbedder
from slowwave.consolidation.writing.writer import AnswerStore
from slowwave.store.file import open_writing

from . import life
from .bench import QUALITY, add_model_options, make_parser, writer_of
from .drafts import Judged, draft_of, faults_of, labelled_drafts, questions, report
from .files import NOW, memory_file

_DRAFTS = QUALITY / "drafts-held-out.toml"
_LIFE = QUALITY / "life-blind-a.jsonl"


@dataclass(frozen=True)
class JudgedQuestion:
    """The drafts of a question. why: the reason if there was no answer."""

    judged: tuple[Judged, ...]
    usage: Usage
    why: str | None = None


def main(arguments: Sequence[str] | None = None) -> None:
    """Measure a model, and print the figures."""
    try:
        _measure(_parser().parse_args(arguments))
    except ConsolidationError as error:
        sys.exit(f"{error.message} {error.hint}")


def _measure(args: argparse.Namespace) -> None:
    writer = writer_of(args)
    folder: Path | None = args.data
    drafts_path = _DRAFTS if folder is None else folder / "drafts3.jsonl"
    life_path = _LIFE if folder is None else folder / "life-lab.jsonl"
    usages = []
    if is_present(drafts_path):
        usages.append(_measure_drafts(drafts_path, writer))
    if is_present(life_path):
        usages.append(_measure_life(life_path, writer))
    usage = sum(usages, start=Usage())
    cost = "unknown" if usage.cost_usd is None else f"{usage.cost_usd:.4f} USD"
    _print(
        "",
        f"cost: {cost}, {usage.calls} calls, {usage.prompt_tokens:,} tokens read, "
        f"{usage.completion_tokens:,} written",
    )


def _measure_drafts(path: Path, writer: ModelWriter) -> Usage:
    """Print the shares of drafts that were judged rightly; return the usage."""
    if writer.checker is None:
        _print("There is no checker, so drafts are not judged.")
        return Usage()
    labelled = list(labelled_drafts(path))
    with memory_file() as answers, open_writing(answers) as file:
        dialogues = (_judge(drafts, writer.checker) for drafts in questions(labelled))
        answered = [
            question
            for questions in writer.run_dialogues(dialogues, AnswerStore(file, NOW))
            for question in questions
        ]
    _print(*report([draft for question in answered for draft in question.judged]))
    _print(*_unanswered(question.why for question in answered))
    return sum((question.usage for question in answered), start=Usage())


def _judge(labelled: Sequence[dict[str, Any]], checker: str) -> Dialogue[JudgedQuestion]:
    """Ask the checker one question about some drafts, and yield its verdicts."""
    drafts, bill, why = [draft_of(row) for row in labelled], Bill(), None
    readings: list[tuple[str, ...] | None] = [None] * len(drafts)
    try:
        objections = yield from check_drafts(checker, drafts, bill)
        readings = [
            (*objection.reasons, *(why for _, why in objection.lost)) for objection in objections
        ]
    except Unanswered as error:
        why = str(error)
    judged = (
        Judged(row, draft, faults_of(draft), reading)
        for row, draft, reading in zip(labelled, drafts, readings, strict=True)
    )
    yield JudgedQuestion(tuple(judged), bill.total, why)


def _measure_life(path: Path, writer: ModelWriter) -> Usage:
    """Print the figures of a life; return the usage."""
    source = life.source_of_files(path, path.with_name(f"{path.stem}.gold.json"))
    outcome = (result := life.measure(source, SentenceEmbedder(), writer)).outcome
    _print(*life.table({source.name: result}))
    _print(*_unanswered(window.why for window in outcome.asked if window.state != "applied"))
    return outcome.usage


def _unanswered(reasons: Iterable[str | None]) -> Iterator[str]:
    for why, count in Counter(filter(None, reasons)).most_common():
        yield f"  ! {count} not answered: {why}"


def is_present(path: Path) -> bool:
    """Whether a file exists; prints its name."""
    _print("", f"{path.name}{'' if path.is_file() else ': absent'}")
    return path.is_file()


def _print(*lines: str) -> None:
    sys.stdout.writelines(f"{line}\n" for line in lines)
    sys.stdout.flush()


def _parser() -> argparse.ArgumentParser:
    parser = make_parser("benchmarks.quality.model", __doc__)
    add_model_options(parser, is_required=True)
    parser.add_argument("--data", type=Path, help="a folder with drafts3.jsonl and life-lab.jsonl")
    return parser


if __name__ == "__main__":
    main()
