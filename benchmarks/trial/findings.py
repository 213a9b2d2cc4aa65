"""What a night with a model left in a file, and whether each text of the model's is true."""

from __future__ import annotations

import json
import re
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from benchmarks.quality.bench import Json
from benchmarks.quality.files import Row, rows
from benchmarks.quality.known_answers import PAIRS, LifeFigures

# What agents see of a file: an undo gives it back.
_AGENTS_TABLES = ("memories", "embeddings", "entities", "memory_entities", "synthesized_from")
# The day on which a source was said, which slowwave puts before a sentence of "yesterday".
_DAY = re.compile(r"\[\d{4}-\d\d-\d\d\] ")
_ENDS = " .!?"
# What a reason quotes, so that reasons of one kind count as one.
_QUOTED = re.compile(r"'[^']*'")
_EXAMPLES = 3


@dataclass(frozen=True)
class Check:
    """Something that must be so, and what speaks against it: nothing if it is."""

    name: str
    against: tuple[str, ...] = ()


@dataclass(frozen=True)
class Made:
    """A text that a model made, or had other memories folded into, as the file keeps it."""

    id: str
    operation: str
    content: str
    # Each claim with the texts that it cites.
    claims: tuple[tuple[str, tuple[str, ...]], ...]
    # Ids that a claim cites although the text was not made from them.
    strangers: tuple[str, ...]

    @property
    def own_words(self) -> Iterator[tuple[str, tuple[str, ...]]]:
        """Yield the claims that no source says word for word."""
        for text, cited in self.claims:
            said = _DAY.sub("", text).rstrip(_ENDS)
            if not any(said in item for item in cited):
                yield text, cited


def made_by_the_model(path: Path) -> list[Made]:
    """Read what a model had made."""
    texts: dict[str, str] = {
        row["id"]: row["content"] for row in rows(path, "SELECT id, content FROM memories")
    }
    behind: dict[str, set[str]] = defaultdict(set)
    for row in rows(path, "SELECT derived_id, source_id FROM synthesized_from"):
        behind[row["derived_id"]].add(row["source_id"])
    found = rows(path, "SELECT * FROM derivations WHERE writer = 'model' ORDER BY memory_id")
    return [_made(row, texts, behind) for row in found]


def _made(row: Row, texts: Mapping[str, str], behind: Mapping[str, set[str]]) -> Made:
    claims = json.loads(row["claims"])
    # A memory that others were folded into is one of its own sources.
    own = behind[row["memory_id"]] | {row["memory_id"]}
    return Made(
        id=row["memory_id"],
        operation=row["operation"],
        content=texts[row["memory_id"]],
        claims=tuple(
            (claim["text"], tuple(texts[id_] for id_ in claim["sources"] if id_ in texts))
            for claim in claims
        ),
        strangers=tuple(id_ for claim in claims for id_ in claim["sources"] if id_ not in own),
    )


def checks_of_claims(made: Sequence[Made]) -> list[Check]:
    """Hold what a model made against the sources that the file names."""
    uncited = [text for item in made for text, cited in item.claims if not cited]
    absent = [text for item in made for text, _ in item.claims if text not in item.content]
    unclaimed = [item.content for item in made if _rest(item)]
    strangers = [f"{item.id} cites {id_}" for item in made for id_ in item.strangers]
    return [
        Check("each claim of the model's cites a source", tuple(uncited)),
        Check("each cites only memories that its text was made from", tuple(strangers)),
        Check("each claim stands in its memory", tuple(absent)),
        Check("each such memory says nothing but its claims", tuple(unclaimed)),
    ]


def _rest(made: Made) -> str:
    rest = made.content
    for text, _ in sorted(made.claims, key=lambda claim: -len(claim[0])):
        rest = rest.replace(text, "")
    return rest.strip()


def checks_of_answers(figures: LifeFigures) -> list[Check]:
    """Hold a night against the known answers."""
    return [
        *(
            Check(f"no pair is joined: {name}", tuple(map(" and ".join, figures.joined[name])))
            for name in PAIRS
        ),
        Check(
            "no memory tells two things",
            tuple(f"{item.into}: {_ids(item.ids)}" for item in figures.glued),
        ),
        Check(
            "no memory went into one that tells another thing",
            tuple(f"{fold.into}: {_ids(fold.ids)}" for fold in figures.wrong_folds),
        ),
        Check(
            "no detail is lost", tuple(f"{item}: {' | '.join(all_)}" for item, all_ in figures.lost)
        ),
        Check("no newest value is gone", figures.newest_gone),
    ]


def _ids(ids: Sequence[str]) -> str:
    return " ".join(ids)


def what_agents_see(path: Path) -> dict[str, list[str]]:
    """Return every row of the tables that an undo gives back."""
    return {
        table: sorted(str(row) for row in rows(path, f"SELECT * FROM {table}"))  # noqa: S608 - ours
        for table in _AGENTS_TABLES
    }


def turned_down(report: Json) -> Iterator[str]:
    """Say of how much of what the model said nothing came, why, and a few examples of each."""
    why: dict[str, list[str]] = defaultdict(list)
    for reason in _reasons(report):
        why[_QUOTED.sub("'...'", reason.partition(":")[0])].append(reason)
    counts = Counter({reason: len(told) for reason, told in why.items()})
    for reason, count in counts.most_common():
        yield f"{count:5}  {reason}"
        examples = dict.fromkeys(item for item in why[reason] if item != reason)
        yield from (
            f"         {' '.join(example.split())[:200]}" for example in list(examples)[:_EXAMPLES]
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
