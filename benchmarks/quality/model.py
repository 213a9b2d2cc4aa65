"""How good a model is at a night's work: shares of drafts judged rightly, a life, and the cost.

    python -m benchmarks.quality.model --model NAME [--checker NAME|none] [--api-base URL]
    python -m benchmarks.quality.model --model NAME --data FOLDER
    python -m benchmarks.quality.model --model NAME --record PATH, then --replay PATH

Needs nothing but the repository and the model: by default it reads drafts-held-out.toml and
life-blind-a of fixtures/quality. A folder of one's own holds drafts3.jsonl (a draft a line: `case`,
`sources`, `claims`, `faithful`, `kind`), and life-lab.jsonl with life-lab.gold.json; what is absent
there is named and left out. The checker judges the drafts; both models work on the life.
"""

from __future__ import annotations

import argparse
import json
import sys
import tomllib
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from slowwave.consolidation.errors import ConsolidationError
from slowwave.consolidation.model.model_writer import ModelWriter
from slowwave.consolidation.model.objections import check_drafts
from slowwave.consolidation.model.question import Bill, Dialogue
from slowwave.consolidation.model.recording import open_recordings
from slowwave.consolidation.model.unanswered import Unanswered
from slowwave.consolidation.proposals import Usage
from slowwave.consolidation.vectors.embedder import SentenceEmbedder
from slowwave.consolidation.writing.writer import AnswerStore
from slowwave.store.file import open_writing

from . import life
from .bench import QUALITY
from .drafts import Judged, draft_of, faults_of, questions, report
from .files import NOW, memory_file
from .life import writer_of

_DRAFTS = QUALITY / "drafts-held-out.toml"
_LIFE = QUALITY / "life-blind-a.jsonl"


@dataclass(frozen=True)
class JudgedQuestion:
    """The drafts of one question; why there is no answer, or None."""

    judged: tuple[Judged, ...]
    usage: Usage
    why: str | None = None


def main(arguments: Sequence[str] | None = None) -> None:
    """Measure a model, and print the figures."""
    try:
        _measure(_parser().parse_args(arguments))
    except ConsolidationError as error:
        sys.exit(f"{error.message} {error.hint}")


def _measure(chosen: argparse.Namespace) -> None:
    recordings = open_recordings(chosen.record, chosen.replay)
    writer = writer_of(chosen.model, chosen.api_base, chosen.checker, recordings)
    folder: Path | None = chosen.data
    drafts_path = _DRAFTS if folder is None else folder / "drafts3.jsonl"
    life_path = _LIFE if folder is None else folder / "life-lab.jsonl"
    usages = []
    if _is_there(drafts_path):
        usages.append(_measure_drafts(drafts_path, writer))
    if _is_there(life_path):
        usages.append(_measure_life(life_path, writer))
    used = sum(usages, start=Usage())
    cost = "unknown" if used.cost_usd is None else f"{used.cost_usd:.4f} USD"
    _print(
        "",
        f"cost: {cost}, {used.calls} calls, {used.prompt_tokens:,} tokens read, "
        f"{used.completion_tokens:,} written",
    )


def _measure_drafts(path: Path, writer: ModelWriter) -> Usage:
    """Print the shares of drafts that were judged rightly."""
    if writer.checker is None:
        _print("no model checks, so no draft is judged")
        return Usage()
    labelled = list(labelled_drafts(path))
    with memory_file() as kept, open_writing(kept) as file:
        dialogues = (_judge(question, writer.checker) for question in questions(labelled))
        answered = [each for made in writer.ask(dialogues, AnswerStore(file, NOW)) for each in made]
    _print(*report([each for question in answered for each in question.judged]))
    _print(*_unanswered(each.why for each in answered))
    return sum((each.usage for each in answered), start=Usage())


def _judge(labelled: Sequence[dict[str, Any]], checker: str) -> Dialogue[JudgedQuestion]:
    """Ask about the drafts of one question, and yield how they were judged."""
    drafts, bill, why = [draft_of(each) for each in labelled], Bill(), None
    readings: list[tuple[str, ...] | None] = [None] * len(drafts)
    try:
        found = yield from check_drafts(checker, drafts, bill)
        readings = [(*each.reasons, *(why for _, why in each.lost)) for each in found]
    except Unanswered as error:
        why = str(error)
    judged = (
        Judged(each, draft, faults_of(draft), reading)
        for each, draft, reading in zip(labelled, drafts, readings, strict=True)
    )
    yield JudgedQuestion(tuple(judged), bill.total, why)


def labelled_drafts(path: Path) -> Iterator[dict[str, Any]]:
    """Yield the labeled drafts of a file, JSON Lines or our own TOML."""
    if path.suffix != ".toml":
        yield from map(json.loads, path.read_text("utf-8").splitlines())
        return
    for case in tomllib.loads(path.read_text("utf-8"))["case"]:
        shared = {"case": case["id"], "operation": case["operation"], "sources": case["sources"]}
        yield from (shared | draft for draft in case["draft"])


def _measure_life(path: Path, writer: ModelWriter) -> Usage:
    """Print the figures of a life."""
    source = life.source_of_files(path, path.with_name(f"{path.stem}.gold.json"))
    measured = life.measured(source, SentenceEmbedder(), writer)
    _print(*life.table({source.name: measured}))
    _print(*_unanswered(each.why for each in measured.outcome.asked if each.state != "applied"))
    return measured.outcome.usage


def _unanswered(whys: Iterable[str | None]) -> Iterator[str]:
    for why, count in Counter(filter(None, whys)).most_common():
        yield f"  ! {count} not answered: {why}"


def _is_there(path: Path) -> bool:
    _print("", f"{path.name}{'' if path.is_file() else ': absent'}")
    return path.is_file()


def _print(*lines: str) -> None:
    sys.stdout.writelines(f"{line}\n" for line in lines)
    sys.stdout.flush()


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.quality.model", description=__doc__)
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    parser.add_argument("--model", required=True, help="litellm's name of the model")
    parser.add_argument("--checker", default="same", help="who checks: a model's name, same, none")
    parser.add_argument("--api-base", help="the base URL of the model's server")
    parser.add_argument("--data", type=Path, help="a folder with drafts3.jsonl and life-lab.jsonl")
    parser.add_argument("--record", type=Path, help="append each answer to this recording")
    parser.add_argument("--replay", type=Path, help="answer from this recording")
    return parser


if __name__ == "__main__":
    main()
