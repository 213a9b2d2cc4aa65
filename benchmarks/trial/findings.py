"""Checks of the texts that a model made in a night."""

from __future__ import annotations

import json
import re
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from benchmarks.quality.bench import Json
from benchmarks.quality.files import Row, rows
from benchmarks.quality.known_answers import PAIRS, LifeFigures

# The tables that agents read, which an undo restores.
_AGENTS_TABLES = ("memories", "embeddings", "entities", "memory_entities", "synthesized_from")
# The date of a source, which slowwave puts before a sentence with a word like "yesterday".
_DAY = re.compile(r"\[\d{4}-\d\d-\d\d\] ")
_ENDS = " .!?"
# Quotations in reasons, so that reasons that differ only in them are counted together.
_QUOTED = re.compile(r"'[^']*'")
_MAX_EXAMPLES = 3


@dataclass(frozen=True)
class Check:
    """Something that must be true, and the faults that were found: none if it is."""

    name: str
    faults: tuple[str, ...] = ()


@dataclass(frozen=True)
class Made:
    """A memory that a model wrote, or folded other memories into."""

    id: str
    operation: str
    content: str
    # Each claim with the texts that it cites.
    claims: tuple[tuple[str, tuple[str, ...]], ...]
    # Cited ids that are not sources of the memory.
    foreign_ids: tuple[str, ...]

    @property
    def reworded(self) -> Iterator[tuple[str, tuple[str, ...]]]:
        """Yield the claims that are not verbatim in a source."""
        for text, cited in self.claims:
            sentence = _DAY.sub("", text).rstrip(_ENDS)
            if not any(sentence in source for source in cited):
                yield text, cited


def read_made(path: Path) -> list[Made]:
    """Read the memories that a model made."""
    texts: dict[str, str] = {
        row["id"]: row["content"] for row in rows(path, "SELECT id, content FROM memories")
    }
    sources: dict[str, set[str]] = defaultdict(set)
    for row in rows(path, "SELECT derived_id, source_id FROM synthesized_from"):
        sources[row["derived_id"]].add(row["source_id"])
    sql = "SELECT * FROM derivations WHERE writer = 'model' ORDER BY memory_id"
    return [_made(row, texts, sources) for row in rows(path, sql)]


def _made(row: Row, texts: Mapping[str, str], sources: Mapping[str, set[str]]) -> Made:
    claims = json.loads(row["claims"])
    # A memory that others were folded into is one of its own sources.
    own = sources[row["memory_id"]] | {row["memory_id"]}
    return Made(
        id=row["memory_id"],
        operation=row["operation"],
        content=texts[row["memory_id"]],
        claims=tuple(
            (claim["text"], tuple(texts[id] for id in claim["sources"] if id in texts))
            for claim in claims
        ),
        foreign_ids=tuple(id for claim in claims for id in claim["sources"] if id not in own),
    )


def checks_of_claims(made: Sequence[Made]) -> list[Check]:
    """Check the memories that a model made against their sources."""
    uncited = [text for memory in made for text, cited in memory.claims if not cited]
    absent = [text for memory in made for text, _ in memory.claims if text not in memory.content]
    unclaimed = [memory.content for memory in made if _unclaimed(memory)]
    foreign = [f"{memory.id} cites {id}" for memory in made for id in memory.foreign_ids]
    return [
        Check("each claim of the model cites a source", tuple(uncited)),
        Check("each claim cites only sources of its memory", tuple(foreign)),
        Check("each claim is in its memory", tuple(absent)),
        Check("each memory contains nothing but its claims", tuple(unclaimed)),
    ]


def _unclaimed(made: Made) -> str:
    rest = made.content
    for text, _ in sorted(made.claims, key=lambda claim: -len(claim[0])):
        rest = rest.replace(text, "")
    return rest.strip()


def checks_of_answers(figures: LifeFigures) -> list[Check]:
    """Check a night against the known answers."""
    return [
        *(
            Check(f"no pair is joined: {name}", tuple(map(" and ".join, figures.joined[name])))
            for name in PAIRS
        ),
        Check(
            "no memory mixes facts",
            tuple(f"{fold.into}: {' '.join(fold.ids)}" for fold in figures.mixed),
        ),
        Check(
            "no memory was folded into one with another fact",
            tuple(f"{fold.into}: {' '.join(fold.ids)}" for fold in figures.wrong_folds),
        ),
        Check(
            "no detail is lost",
            tuple(f"{memory}: {' | '.join(wordings)}" for memory, wordings in figures.lost),
        ),
        Check("no newest value is lost", figures.newest_lost),
    ]


def read_tables(path: Path) -> dict[str, list[str]]:
    """Return every row of the tables that an undo restores."""
    return {
        table: sorted(str(row) for row in rows(path, f"SELECT * FROM {table}"))  # noqa: S608 - ours
        for table in _AGENTS_TABLES
    }


def rejections(report: Json) -> Iterator[str]:
    """Yield the reasons why parts of answers were rejected: their numbers, and a few examples."""
    by_kind: dict[str, list[str]] = defaultdict(list)
    for reason in _reasons(report):
        by_kind[_QUOTED.sub("'...'", reason.partition(":")[0])].append(reason)
    for kind, reasons in sorted(by_kind.items(), key=lambda entry: -len(entry[1])):
        yield f"{len(reasons):5}  {kind}"
        examples = dict.fromkeys(reason for reason in reasons if reason != kind)
        yield from (
            f"         {' '.join(example.split())[:200]}"
            for example in list(examples)[:_MAX_EXAMPLES]
        )


def _reasons(report: Json) -> Iterator[str]:
    """Yield each reason of each group, and of each question without a usable answer."""
    for proposal in report["proposals"]:
        if proposal["by_model"] and proposal["why"]:
            yield from proposal["why"].split("; ")
    for question in report["questions"]:
        yield from question["turned_down"]
        if question["why"]:
            yield f"question not answered: {question['why']}"
