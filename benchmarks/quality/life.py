"""One night on a life with known answers, without a model or with one: its figures, one a line.

    python -m benchmarks.quality.life FILE.jsonl GOLD.json [--json] [--verbose]
    python -m benchmarks.quality.life --night assistant|office|lab
    python -m benchmarks.quality.life --nights
    python -m benchmarks.quality.life ... --model NAME [--api-base URL]
    python -m benchmarks.quality.life ... --replay RECORDING [--checker NAME|none] [--parts 10]

A model's answers come from a recording, as of `slowwave maintain --record`; prompts that it lacks
are written to RECORDING.missing. With --parts the life comes in that many nights, by date.

What each figure counts stands in known_answers.py; the main ones are the last twelve lines.
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
from typing import Literal, TypeVar

from fixtures.night import FLAVOURS, Night, Told, lines, load
from slowwave.consolidation.model.litellm_model import Endpoint
from slowwave.consolidation.model.model_writer import ModelWriter
from slowwave.consolidation.model.recording import Recordings, open_recordings
from slowwave.consolidation.planning.conflicts import current_conflicts
from slowwave.consolidation.proposals import Usage
from slowwave.consolidation.running.outcome import Outcome
from slowwave.consolidation.vectors.embedder import Embedder, SentenceEmbedder
from slowwave.consolidation.writing.writer import Writer
from slowwave.store.file import open_reading
from slowwave.store.records import timestamp

from .bench import Json
from .files import NOW, add, memory_file, night, picture, rows, written
from .known_answers import (
    PAIRS,
    Company,
    Edge,
    Life,
    LifeFigures,
    Share,
    Sizes,
    Stored,
    gold_of,
    life_figures,
)

# What tells a near miss from its fact: these give the one thing another value. A role, a qualifier
# or a version makes it another statement.
_OTHER_VALUE = {"number", "name", "negation", "date", "time", "place", "unit"}
# The roles of memories that say something of their own.
_ALONE = ("near", "single")
# Whatever was measured of a night.
AnyNight = TypeVar("AnyNight")


@dataclass(frozen=True)
class Source:
    """A life to measure on: its lines for an import, and its gold."""

    name: str
    lines: Sequence[str]
    gold: Json


@dataclass(frozen=True)
class Measured:
    """A night on a life, and the one right after it."""

    figures: LifeFigures
    # Every text that was in the file at the end, by id.
    texts: Mapping[str, str]
    # Processor time of the first night.
    seconds: float
    # What the second night planned, and the rows that it wrote.
    again: tuple[int, int]
    outcome: Outcome


def main(arguments: Sequence[str] | None = None) -> None:
    """Measure on the lives that are named, and print the figures."""
    chosen = _parser().parse_args(arguments)
    embedder = SentenceEmbedder()
    # The model is loaded before any clock runs.
    embedder.encode(["one"])
    found = {
        life.name: measured(life, embedder, _writer(chosen), chosen.parts)
        for life in _sources(chosen)
    }
    if chosen.json:
        text = json.dumps({name: as_json(item) for name, item in found.items()}, indent=1)
        sys.stdout.write(text + "\n")
        return
    for name, item in found.items():
        sys.stdout.writelines(f"{line}\n" for line in _cases(name, item, chosen.verbose))
    sys.stdout.writelines(f"{line}\n" for line in table(found))


def measured(
    source: Source, embedder: Embedder, writer: Writer | None = None, parts: int = 1
) -> Measured:
    """Run a night on a life, or one on each of its parts, and one more, which must do nothing."""
    with memory_file(source.lines) as path:
        before = active(path)
    with memory_file() as path:
        outcomes = []
        began = time.process_time()
        for part in _parts(source.lines, parts):
            add(path, part)
            outcomes.append(night(path, embedder, writer))
        seconds = time.process_time() - began
        first = replace(
            outcomes[-1],
            results=tuple(result for outcome in outcomes for result in outcome.results),
            usage=sum((outcome.usage for outcome in outcomes), start=Usage()),
        )
        life = life_of(path, before, source.gold)
        there = picture(path)
        second = night(path, embedder, writer)
        again = len(second.plan.proposals) + len(second.asked), written(there, picture(path))
    texts = {item.id: item.content for item in [*before, *life.after]}
    return Measured(life_figures(life), texts, seconds, again, first)


def active(path: Path) -> list[Stored]:
    """Read the active memories of a file."""
    return [item for item in _stored(path) if item.active]


def life_of(path: Path, before: Sequence[Stored], gold: Json) -> Life:
    """Read what a night made of a file. before: what was active; gold: in the form of its file."""
    with open_reading(path) as file:
        conflicts = current_conflicts(file, (), timestamp(NOW))
    return Life(
        before=before,
        after=_stored(path),
        edges=_edges(path),
        conflicts=[conflict.sources for conflict in conflicts],
        gold=gold_of(gold, {item.id: item.content for item in before}),
    )


def _parts(lines: Sequence[str], count: int) -> list[list[str]]:
    """Return the lines of a life by date, in parts of equal length."""
    in_time = sorted(lines, key=lambda line: str(json.loads(line).get("observed_at", "")))
    size = -(-len(in_time) // count)
    return [in_time[start : start + size] for start in range(0, len(in_time), size)]


def replaying(recording: Path, model: str = "writer", checker: str = "checker") -> Writer:
    """Return a writer that answers from a recording; checker: a model's name, same or none."""
    return writer_of(model, None, checker, open_recordings(None, recording))


def _writer(chosen: argparse.Namespace) -> Writer | None:
    if chosen.replay:
        return replaying(chosen.replay, chosen.model or "writer", chosen.checker)
    if chosen.model:
        return writer_of(chosen.model, chosen.api_base, chosen.checker, Recordings())
    return None


def writer_of(
    model: str, api_base: str | None, checker: str, recordings: Recordings
) -> ModelWriter:
    """Return a writer that asks a model; checker: a model's name, same or none."""
    known: dict[str, Literal["same", "none"]] = {"same": "same", "none": "none"}
    checked_by = known.get(checker) or Endpoint(checker, api_base)
    return ModelWriter(Endpoint(model, api_base), recordings=recordings, checker=checked_by)


def source_of_files(path: Path, gold: Path) -> Source:
    """Read a life and its gold from two files."""
    return Source(
        path.stem, path.read_text("utf-8").splitlines(), json.loads(gold.read_text("utf-8"))
    )


def source_of_night(flavour: str) -> Source:
    """Return one of our own nights in the form of a life."""
    known = load(flavour)
    return Source(flavour, lines(known), gold_of_night(known))


def gold_of_night(known: Night) -> Json:
    """Return what is known about a night in the form of a gold file.

    A fact's keys are details, too. What voices a rule restates it: the night does not say which
    are cases. A near miss stays apart from every telling of its fact, and contradicts it if it
    gives it another value; of two facts that are twins every telling stays apart.
    """
    ids: dict[str, list[str]] = {}
    for text in known.told:
        ids.setdefault(text.group, []).append(text.id)
    return {
        "facts": [
            {
                "ids": ids[fact["id"]],
                "details": [[item] for item in [*fact["keys"], *fact.get("details", [])]],
            }
            for fact in known.facts
        ],
        "rules": [
            {"ids": ids[rule["id"]], "restates": ids[rule["id"]], "cases": []}
            for rule in known.rules
        ],
        # The old value is told before the new one.
        "updates": [{"ids": ids[update["id"]]} for update in known.updates],
        "apart": [*_nears(known, ids), *_twins(known, ids)],
        "contradictions": list(_nears(known, ids, _OTHER_VALUE)),
        "two_values": [],
        "single": [text.id for text in known.told if text.role in _ALONE],
    }


def _nears(
    known: Night, ids: Mapping[str, Sequence[str]], differing: set[str] | None = None
) -> Iterator[list[str]]:
    """Yield each near miss with each telling of its fact, of all or of those that differ so."""
    texts: dict[str, Told] = {text.text: text for text in known.told if text.role == "near"}
    for near in known.nears:
        if differing is None or near["differs"] in differing:
            yield from ([telling, texts[near["text"]].id] for telling in ids[near["of"]])


def _twins(known: Night, ids: Mapping[str, Sequence[str]]) -> Iterator[list[str]]:
    """Yield each telling of a fact with each of its twin, once."""
    for fact in known.facts:
        if fact["id"] < fact.get("twin", ""):
            yield from map(list, product(ids[fact["id"]], ids[fact["twin"]]))


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.quality.life", description=__doc__)
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    parser.add_argument("file", type=Path, nargs="?", help="the memories, as for slowwave import")
    parser.add_argument("gold", type=Path, nargs="?", help="their known answers")
    parser.add_argument("--night", choices=FLAVOURS, help="one of the nights in fixtures/")
    parser.add_argument("--nights", action="store_true", help="all of them")
    parser.add_argument("--model", help="litellm's name of the model that is asked")
    parser.add_argument("--api-base", help="where it is reached")
    parser.add_argument("--replay", type=Path, help="the recorded answers of a model")
    parser.add_argument("--checker", default="same", help="who checks: a model's name, same, none")
    parser.add_argument("--parts", type=int, default=1, help="in how many nights it comes")
    parser.add_argument("--json", action="store_true", help="the figures with all ids, as JSON")
    parser.add_argument("--verbose", action="store_true", help="the texts of what went wrong")
    return parser


def _sources(chosen: argparse.Namespace) -> list[Source]:
    flavours = FLAVOURS if chosen.nights else [chosen.night] if chosen.night else []
    found = [source_of_night(flavour) for flavour in flavours]
    if chosen.file and chosen.gold:
        absent = [str(item) for item in (chosen.file, chosen.gold) if not item.is_file()]
        if absent:
            sys.exit(f"absent: {', '.join(absent)}")
        found.insert(0, source_of_files(chosen.file, chosen.gold))
    if not found or (chosen.file and not chosen.gold):
        sys.exit("name a file and its gold, or --night FLAVOUR, or --nights; see --help")
    return found


def _stored(path: Path) -> list[Stored]:
    """Read all memories; the times all in UTC, so that they compare as texts."""
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
    found = rows(path, "SELECT derived_id, source_id, operation FROM synthesized_from")
    return [Edge(*row.values()) for row in found]


def as_json(one: Measured) -> Json:
    """Return the figures of a life, with all ids."""
    return {
        **asdict(one.figures),
        "memories removed": one.figures.memories.removed,
        "text removed": one.figures.characters.removed,
        "text grows": one.figures.text_grows,
        "processor seconds": round(one.seconds, 2),
        "second night": {"proposals": one.again[0], "rows written": one.again[1]},
    }


# ------------------------------------------------------------------------------------- as lines


def table(found: Mapping[str, Measured]) -> list[str]:
    """Return a line a figure, a column a life."""
    return columns(found, _FIGURES)


def columns(
    found: Mapping[str, AnyNight], figures: Mapping[str, Callable[[AnyNight], str]]
) -> list[str]:
    """Return a line a figure, a column for each of what was measured."""
    lines = [["", *found]]
    lines += [[label, *map(shown, found.values())] for label, shown in figures.items()]
    first = max(len(line[0]) for line in lines)
    widths = [max(map(len, column)) for column in list(zip(*lines, strict=True))[1:]]
    return [
        "  ".join([label.ljust(first), *map(str.rjust, cells, widths)]) for label, *cells in lines
    ]


def _sizes(sizes: Sizes) -> str:
    return f"{sizes.before:,}, {sizes.after:,}, {sizes.ideal:,.0f}"


def _removed(sizes: Sizes) -> str:
    return "nothing redundant" if sizes.removed is None else f"{sizes.removed:.2f}"


def _part(share: Share) -> str:
    return f"{len(share.right)} of {share.total}"


def _groups(outcome: Outcome) -> str:
    states = Counter(result.state for result in outcome.results if result.proposal.by_model)
    return f"{states['applied']}, {states['rejected']}"


def _asked(outcome: Outcome) -> str:
    used = outcome.usage
    return f"{used.calls}, {used.prompt_tokens:,}, {used.completion_tokens:,}"


def _second_night(one: Measured) -> str:
    return "nothing" if one.again == (0, 0) else "{} proposals, {} rows".format(*one.again)


# The last twelve are the main ones.
_FIGURES: dict[str, Callable[[Measured], str]] = {
    "memories before, after, ideal": lambda one: _sizes(one.figures.memories),
    "characters before, after, ideal": lambda one: _sizes(one.figures.characters),
    "text grows": lambda one: "yes" if one.figures.text_grows else "no",
    "groups of a model: applied, rejected": lambda one: _groups(one.outcome),
    "questions, tokens read and written": lambda one: _asked(one.outcome),
    "processor seconds": lambda one: f"{one.seconds:.1f}",
    "second night does": _second_night,
    "redundant memories removed": lambda one: _removed(one.figures.memories),
    "redundant text removed": lambda one: _removed(one.figures.characters),
    "details lost": lambda one: f"{len(one.figures.lost)} of {one.figures.details}",
    "joined: apart, traps, contradictions": lambda one: ", ".join(
        str(len(one.figures.joined[name])) for name in PAIRS
    ),
    "glued derived memories": lambda one: str(len(one.figures.glued)),
    "folded rightly": lambda one: str(len(one.figures.rightly)),
    "folded wrongly": lambda one: str(len(one.figures.wrongly)),
    "newest gone": lambda one: str(len(one.figures.newest_gone)),
    "facts told once": lambda one: _part(one.figures.told_once),
    "rules stated once": lambda one: _part(one.figures.stated_once),
    "updates done": lambda one: _part(one.figures.updated),
    "conflicts right of those listed": lambda one: _part(one.figures.conflicts),
}


def _cases(name: str, one: Measured, verbose: bool) -> Iterator[str]:
    """Yield the joined pairs, and where all is to be said the texts of what went wrong."""
    for kind in PAIRS:
        for pair in one.figures.joined[kind]:
            yield f"{name}: joined, {kind}: {' '.join(pair)}"
            if verbose:
                yield from _said(pair, one.texts)
    if not verbose:
        return
    yield from _companies(f"{name}: folded wrongly", one.figures.wrong_folds, one.texts)
    yield from _companies(f"{name}: glued", one.figures.glued, one.texts)
    for memory, wordings in one.figures.lost:
        yield f"{name}: detail lost: {' | '.join(wordings)}"
        yield from _said((memory,), one.texts)
    for memory in one.figures.newest_gone:
        yield f"{name}: newest gone"
        yield from _said((memory,), one.texts)
    for listed in one.figures.conflicts.wrong:
        yield f"{name}: conflict listed wrongly"
        yield from _said(listed, one.texts)


def _companies(title: str, companies: Sequence[Company], texts: Mapping[str, str]) -> Iterator[str]:
    for company in companies:
        yield f"{title}, into {company.into}"
        yield from _said(company.ids, texts)


def _said(ids: Sequence[str], texts: Mapping[str, str]) -> Iterator[str]:
    """Yield texts, each on a line of its own."""
    yield from (
        f"    {item}  {' '.join(texts.get(item, 'not in the file').split())}" for item in ids
    )


if __name__ == "__main__":
    main()
