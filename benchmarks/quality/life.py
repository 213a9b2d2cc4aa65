"""The figures of one night on a life with known answers, with or without a model.

    python -m benchmarks.quality.life FILE.jsonl GOLD.json [--verbose]
    python -m benchmarks.quality.life ... --model NAME [--api-base URL]
    python -m benchmarks.quality.life ... --replay RECORDING [--checker NAME|none] [--parts 10]

A recording of a model's answers is what `slowwave maintain --record` writes; prompts without an
answer are written to RECORDING.missing. With --parts the life is imported in that many parts, by
date, with a night after each.

known_answers.py defines what each figure counts; the main ones are the last twelve lines.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from itertools import product
from pathlib import Path
from typing import TypeVar

from fixtures.night import Night
from slowwave.consolidation.planning.conflicts import current_conflicts
from slowwave.consolidation.proposals import Usage
from slowwave.consolidation.running.outcome import Outcome
from slowwave.consolidation.vectors.embedder import Embedder, SentenceEmbedder
from slowwave.consolidation.writing.writer import Writer
from slowwave.store.file import open_reading
from slowwave.store.records import timestamp

from .bench import Json, add_model_options, make_parser, writer_of
from .files import NOW, add, all_rows, count_changed, memory_file, night, rows
from .known_answers import (
    PAIRS,
    Edge,
    Fold,
    Life,
    LifeFigures,
    Share,
    Sizes,
    Stored,
    gold_of,
    life_figures,
)

# Differences between a near miss and its fact that give the same subject another value. A role, a
# qualifier or a version makes it a different statement.
_VALUE_DIFFERENCES = {"number", "name", "negation", "date", "time", "place", "unit"}
# The roles of memories that belong to no fact, rule or update.
_SINGLE_ROLES = ("near", "single")
ResultT = TypeVar("ResultT")


@dataclass(frozen=True)
class Source:
    """A life: its memories, as lines for an import, and its gold."""

    name: str
    lines: Sequence[str]
    gold: Json


@dataclass(frozen=True)
class LifeResult:
    """A night on a life, and a second one right after it."""

    figures: LifeFigures
    # Every text in the file after the night, by id.
    texts: Mapping[str, str]
    # Processor time of the first night, in seconds.
    seconds: float
    # The number of proposals and questions of the second night, and of rows that it wrote.
    second_night: tuple[int, int]
    outcome: Outcome


def main(arguments: Sequence[str] | None = None) -> None:
    """Measure a life, and print the figures."""
    args = _parser().parse_args(arguments)
    if absent := [str(path) for path in (args.file, args.gold) if not path.is_file()]:
        sys.exit(f"absent: {', '.join(absent)}")
    embedder = SentenceEmbedder()
    embedder.encode(["loads the model before the clock starts"])
    life = source_of_files(args.file, args.gold)
    writer = writer_of(args) if args.model or args.replay else None
    result = measure(life, embedder, writer, args.parts)
    sys.stdout.writelines(f"{line}\n" for line in _cases(life.name, result, args.verbose))
    sys.stdout.writelines(f"{line}\n" for line in table({life.name: result}))


def measure(
    source: Source, embedder: Embedder, writer: Writer | None = None, parts: int = 1
) -> LifeResult:
    """Run a night on a life, or on each of its parts, and another one, which must do nothing."""
    with memory_file(source.lines) as path:
        before = active(path)
    with memory_file() as path:
        outcomes = []
        start = time.process_time()
        for part in _parts(source.lines, parts):
            add(path, part)
            outcomes.append(night(path, embedder, writer))
        seconds = time.process_time() - start
        first = replace(
            outcomes[-1],
            results=tuple(result for outcome in outcomes for result in outcome.results),
            usage=sum((outcome.usage for outcome in outcomes), start=Usage()),
        )
        life = life_of(path, before, source.gold)
        rows_before = all_rows(path)
        second = night(path, embedder, writer)
        second_night = (
            len(second.plan.proposals) + len(second.asked),
            count_changed(rows_before, all_rows(path)),
        )
    texts = {memory.id: memory.content for memory in [*before, *life.after]}
    return LifeResult(life_figures(life), texts, seconds, second_night, first)


def active(path: Path) -> list[Stored]:
    """Read the active memories of a file."""
    return [memory for memory in _stored(path) if memory.active]


def life_of(path: Path, before: Sequence[Stored], gold: Json) -> Life:
    """Read a file after a night. before: the active memories; gold: the content of its file."""
    with open_reading(path) as file:
        conflicts = current_conflicts(file, (), timestamp(NOW))
    return Life(
        before=before,
        after=_stored(path),
        edges=_edges(path),
        conflicts=[conflict.sources for conflict in conflicts],
        gold=gold_of(gold, {memory.id: memory.content for memory in before}),
    )


def _parts(lines: Sequence[str], count: int) -> list[list[str]]:
    """Split the lines of a life, ordered by date, into parts of equal length."""
    ordered = sorted(lines, key=lambda line: str(json.loads(line).get("observed_at", "")))
    size = -(-len(ordered) // count)
    return [ordered[start : start + size] for start in range(0, len(ordered), size)]


def source_of_files(path: Path, gold: Path) -> Source:
    """Read a life and its gold from two files."""
    return Source(
        path.stem, path.read_text("utf-8").splitlines(), json.loads(gold.read_text("utf-8"))
    )


def gold_of_night(planted: Night) -> Json:
    """Return what is known about a night in the form of a gold file.

    The keys of a fact are details, too. Every memory of a rule restates it: the night does not mark
    cases. A near miss stays apart from every statement of its fact, and contradicts it if it gives
    it another value. All statements of two twin facts stay apart.
    """
    ids: dict[str, list[str]] = {}
    for memory in planted.memories:
        ids.setdefault(memory.group, []).append(memory.id)
    return {
        "facts": [
            {
                "ids": ids[fact["id"]],
                "details": [[detail] for detail in [*fact["keys"], *fact.get("details", [])]],
            }
            for fact in planted.facts
        ],
        "rules": [
            {"ids": ids[rule["id"]], "restates": ids[rule["id"]], "cases": []}
            for rule in planted.rules
        ],
        # The night lists the old value before the new result.
        "updates": [{"ids": ids[update["id"]]} for update in planted.updates],
        "apart": [*_nears(planted, ids), *_twins(planted, ids)],
        "contradictions": list(_nears(planted, ids, _VALUE_DIFFERENCES)),
        "two_values": [],
        "single": [memory.id for memory in planted.memories if memory.role in _SINGLE_ROLES],
    }


def _nears(
    planted: Night, ids: Mapping[str, Sequence[str]], differing: set[str] | None = None
) -> Iterator[list[str]]:
    """Yield each near miss with each statement of its fact. differing: only these differences."""
    near_ids = {memory.text: memory.id for memory in planted.memories if memory.role == "near"}
    for near in planted.nears:
        if differing is None or near["differs"] in differing:
            yield from ([memory, near_ids[near["text"]]] for memory in ids[near["of"]])


def _twins(planted: Night, ids: Mapping[str, Sequence[str]]) -> Iterator[list[str]]:
    """Yield each statement of a fact with each one of its twin, once."""
    for fact in planted.facts:
        if fact["id"] < fact.get("twin", ""):
            yield from map(list, product(ids[fact["id"]], ids[fact["twin"]]))


def _parser() -> argparse.ArgumentParser:
    parser = make_parser("benchmarks.quality.life", __doc__)
    parser.add_argument("file", type=Path, help="memories, as for slowwave import")
    parser.add_argument("gold", type=Path, help="the known answers")
    add_model_options(parser)
    parser.add_argument("--parts", type=int, default=1, help="the number of nights")
    parser.add_argument("--verbose", action="store_true", help="print the texts of what went wrong")
    return parser


def _stored(path: Path) -> list[Stored]:
    """Read all memories; times are in UTC, so that they compare as strings."""
    sql = "SELECT *, datetime(observed_at) AS moment FROM memories ORDER BY moment, id"
    return [
        Stored(
            id=row["id"],
            tenant=row["tenant"],
            content=row["content"],
            observed_at=row["moment"],
            active=row["status"] == "active",
            derived=row["origin"] == "consolidation",
            superseded_by=row["superseded_by"],
        )
        for row in rows(path, sql)
    ]


def _edges(path: Path) -> list[Edge]:
    sql = "SELECT derived_id, source_id, operation FROM synthesized_from"
    return [Edge(*row.values()) for row in rows(path, sql)]


def as_json(result: LifeResult) -> Json:
    """Return the figures of a life, with all ids."""
    return {
        **asdict(result.figures),
        "memories removed": result.figures.memories.removed,
        "text removed": result.figures.characters.removed,
        "text grows": result.figures.text_grows,
        "processor seconds": round(result.seconds, 2),
        "second night": dict(zip(("proposals", "rows written"), result.second_night, strict=True)),
    }


def table(results: Mapping[str, LifeResult]) -> list[str]:
    """Return a line per figure, with a column per life."""
    return columns(results, _FIGURES)


def columns(
    results: Mapping[str, ResultT], figures: Mapping[str, Callable[[ResultT], str]]
) -> list[str]:
    """Return a line per figure, with a column per result."""
    lines = [["", *results]]
    lines += [[label, *map(shown, results.values())] for label, shown in figures.items()]
    first = max(len(line[0]) for line in lines)
    widths = [max(map(len, column)) for column in list(zip(*lines, strict=True))[1:]]
    return [
        "  ".join([label.ljust(first), *map(str.rjust, cells, widths)]) for label, *cells in lines
    ]


def _sizes(sizes: Sizes) -> str:
    return f"{sizes.before:,}, {sizes.after:,}, {sizes.ideal:,.0f}"


def _removed(sizes: Sizes) -> str:
    return "nothing redundant" if sizes.removed is None else f"{sizes.removed:.2f}"


def _ratio(share: Share) -> str:
    return f"{len(share.right)} of {share.total}"


def _groups(outcome: Outcome) -> str:
    states = Counter(result.state for result in outcome.results if result.proposal.by_model)
    return f"{states['applied']}, {states['rejected']}"


def _asked(outcome: Outcome) -> str:
    used = outcome.usage
    return f"{used.calls}, {used.prompt_tokens:,}, {used.completion_tokens:,}"


def _second_night(result: LifeResult) -> str:
    if result.second_night == (0, 0):
        return "nothing"
    return "{} proposals, {} rows".format(*result.second_night)


# The last twelve are the main ones.
_FIGURES: dict[str, Callable[[LifeResult], str]] = {
    "memories before, after, ideal": lambda result: _sizes(result.figures.memories),
    "characters before, after, ideal": lambda result: _sizes(result.figures.characters),
    "text grows": lambda result: "yes" if result.figures.text_grows else "no",
    "groups of a model: applied, rejected": lambda result: _groups(result.outcome),
    "questions, tokens read and written": lambda result: _asked(result.outcome),
    "processor seconds": lambda result: f"{result.seconds:.1f}",
    "second night does": _second_night,
    "redundant memories removed": lambda result: _removed(result.figures.memories),
    "redundant text removed": lambda result: _removed(result.figures.characters),
    "details lost": lambda result: f"{len(result.figures.lost)} of {result.figures.details}",
    "joined: apart, traps, contradictions": lambda result: ", ".join(
        str(len(result.figures.joined[name])) for name in PAIRS
    ),
    "memories that mix facts": lambda result: str(len(result.figures.mixed)),
    "folded rightly": lambda result: str(len(result.figures.folded_rightly)),
    "folded wrongly": lambda result: str(len(result.figures.folded_wrongly)),
    "newest values lost": lambda result: str(len(result.figures.newest_lost)),
    "facts stated once": lambda result: _ratio(result.figures.facts_once),
    "rules stated once": lambda result: _ratio(result.figures.rules_once),
    "updates done": lambda result: _ratio(result.figures.updated),
    "conflicts right of those listed": lambda result: _ratio(result.figures.conflicts),
}


def _cases(name: str, result: LifeResult, verbose: bool) -> Iterator[str]:
    """Yield the joined pairs. verbose: also everything else that went wrong, with texts."""
    for kind in PAIRS:
        for pair in result.figures.joined[kind]:
            yield f"{name}: joined, {kind}: {' '.join(pair)}"
            if verbose:
                yield from _texts(pair, result.texts)
    if not verbose:
        return
    yield from _folds(f"{name}: folded wrongly", result.figures.wrong_folds, result.texts)
    yield from _folds(f"{name}: mixes facts", result.figures.mixed, result.texts)
    for memory, wordings in result.figures.lost:
        yield f"{name}: detail lost: {' | '.join(wordings)}"
        yield from _texts((memory,), result.texts)
    for memory in result.figures.newest_lost:
        yield f"{name}: newest value lost"
        yield from _texts((memory,), result.texts)
    for listed in result.figures.conflicts.wrong:
        yield f"{name}: conflict listed wrongly"
        yield from _texts(listed, result.texts)


def _folds(title: str, folds: Sequence[Fold], texts: Mapping[str, str]) -> Iterator[str]:
    for fold in folds:
        yield f"{title}, into {fold.into}"
        yield from _texts(fold.ids, texts)


def _texts(ids: Sequence[str], texts: Mapping[str, str]) -> Iterator[str]:
    for memory in ids:
        yield f"    {memory}  {' '.join(texts.get(memory, 'not in the file').split())}"


if __name__ == "__main__":
    main()
