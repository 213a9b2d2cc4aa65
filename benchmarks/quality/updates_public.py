"""What happens to facts after a later statement: only those it overturns may be superseded.

    python -m benchmarks.quality.updates_public [DATA ...]
    python -m benchmarks.quality.updates_public [DATA ...] --model NAME [--api-base URL]
    python -m benchmarks.quality.updates_public [DATA ...] --replay RECORDING [--checker NAME|none]
    python -m benchmarks.quality.updates_public ... [--record RECORDING] [--verbose]

DATA is a file with one store per line, by default letta-updates.jsonl of the shared data; each file
is measured on its own. A store is a tenant; one night runs over all stores of a file.

    {"id": "s1", "facts": ["Ana works in Rome.", "Ana has a cat."],
     "newer": "Ana works in Oslo.", "overturned": [0]}

`facts` are noted on one day, `newer` on the next; `overturned` are the indexes of the facts that no
longer hold. It is [] if all hold at once ("tea in the morning", then "coffee after lunch"). A store
may have an echo: a vague line, one day later, that still mentions the old value. `values` are the
wordings of both values; no other line of the store mentions the old one:

     "echo": "Found the umbrella that Ana bought while in Rome.", "values": ["Rome", "Oslo"]

A fact is overturned if the newer one, or an update made from it, superseded it. Any other fact is
kept if it is active, or if an active memory made from it has its values, names and most words.
After an echo, the new value holds if an active memory has it, and only the echo itself has the old
value without it. Prompts without a recorded answer are written to RECORDING.missing.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Literal

from pydantic import BaseModel, ConfigDict, ValidationError, model_validator

from slowwave.consolidation.errors import ConsolidationError
from slowwave.consolidation.evaluation.trial import keeps_facts
from slowwave.consolidation.text.tokens import content_words
from slowwave.consolidation.vectors.embedder import SentenceEmbedder
from slowwave.consolidation.writing.writer import Writer

from .bench import SHARED, Json, add_model_options, make_parser, writer_of
from .files import memory_file, night
from .known_answers import Life, Lineage, holds
from .life import active, columns, life_of

_DAY = datetime(2026, 3, 2, 9, tzinfo=UTC)
# The share of its words that a text must have kept of a fact.
_KEPT_WORDS = 0.70
_NO_GOLD: Json = {"facts": [], "rules": [], "updates": []}
Verdict = Literal["overturned", "left", "kept", "lost", "holds", "came back"]


class Store(BaseModel):
    """The facts of a tenant, and what overturns them."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    id: str
    facts: tuple[str, ...]
    newer: str
    overturned: tuple[int, ...]
    echo: str | None = None
    # The wordings of the old and the new value.
    values: tuple[str, str] | None = None

    @model_validator(mode="after")
    def _fits_together(self) -> Store:
        if not all(0 <= index < len(self.facts) for index in self.overturned):
            raise ValueError("`overturned` has the index of a fact that does not exist")
        if (self.echo is None) != (self.values is None):
            raise ValueError("`echo` and `values` require each other")
        return self

    def memory(self, name: int | str) -> str:
        """Return the id of a memory; name: the index of a fact, `newer` or `echo`."""
        return f"{self.id}/{name}"

    def lines(self) -> Iterator[str]:
        """Yield the memories for an import."""
        memories: list[tuple[int | str, str | None, int]] = [
            *((index, fact, 0) for index, fact in enumerate(self.facts)),
            ("newer", self.newer, 1),
            ("echo", self.echo, 2),
        ]
        for name, text, days in memories:
            if text is not None:
                line = {"id": self.memory(name), "tenant": self.id, "content": text}
                line["observed_at"] = (_DAY + timedelta(days=days)).isoformat()
                yield json.dumps(line, ensure_ascii=False)


@dataclass(frozen=True)
class Fate:
    """What happened to a memory."""

    memory: str
    text: str
    # For a fact that must be overturned, `overturned` or `left`; for an echo, `holds` (only the new
    # value does) or `came back`; for any other memory, `kept` or `lost`.
    verdict: Verdict
    # The active texts that contain it; for an echo, those with either value.
    now: tuple[str, ...]
    # Whether it is `left`, but listed as a conflict with the newer statement.
    is_listed: bool = False


@dataclass(frozen=True)
class UpdateResult:
    """A night on a file of stores."""

    stores: int
    # Active memories before and after.
    memories: tuple[int, int]
    # The tenant of each window, and of each one without an answer.
    asked: tuple[str, ...]
    unanswered: tuple[str, ...]
    fates: tuple[Fate, ...]

    def with_verdict(self, verdict: Verdict) -> list[Fate]:
        """Return the memories with a verdict."""
        return [fate for fate in self.fates if fate.verdict == verdict]

    def share(self, right: Verdict, wrong: Verdict) -> str:
        """Return how many memories have the right one of two verdicts."""
        count, total = (
            len(self.with_verdict(right)),
            len(self.with_verdict(right)) + len(self.with_verdict(wrong)),
        )
        return f"{count} of {total} ({count / total:.1%})" if total else "-"


def main(arguments: Sequence[str] | None = None) -> None:
    """Measure, and print the figures."""
    args = _parser().parse_args(arguments)
    missing = [str(path) for path in args.data if not path.is_file()]
    if missing:
        sys.exit(f"absent: {', '.join(missing)}")
    try:
        writer = writer_of(args) if args.model or args.replay else None
        embedder = SentenceEmbedder()
        results = {path.stem: measure(read_stores(path), embedder, writer) for path in args.data}
    except (ConsolidationError, ValueError) as error:
        sys.exit(str(error))
    for name, result in results.items():
        sys.stdout.writelines(f"{name}: {line}\n" for line in _cases(result, args.verbose))
    sys.stdout.writelines(f"{line}\n" for line in columns(results, _FIGURES))


def read_stores(path: Path) -> list[Store]:
    """Read the stores of a file. Raises `ValueError` for the first invalid line."""
    stores = []
    for number, line in enumerate(path.read_text("utf-8").splitlines(), start=1):
        if line.strip():
            try:
                stores.append(Store.model_validate_json(line))
            except ValidationError as error:
                first = error.errors()[0]
                where = ".".join(map(str, first["loc"])) or "the line"
                raise ValueError(f"{path}, line {number}: {where}: {first['msg']}") from error
    return stores


def measure(
    stores: Sequence[Store], embedder: SentenceEmbedder, writer: Writer | None = None
) -> UpdateResult:
    """Run one night on a file with all stores."""
    with memory_file([line for store in stores for line in store.lines()]) as path:
        before = active(path)
        outcome = night(path, embedder, writer)
        life = life_of(path, before, _NO_GOLD)
    return UpdateResult(
        len(stores),
        (len(before), sum(memory.active for memory in life.after)),
        tuple(answer.window.tenant for answer in outcome.asked),
        tuple(answer.window.tenant for answer in outcome.asked if answer.state != "applied"),
        tuple(fates_of(stores, life)),
    )


def fates_of(stores: Sequence[Store], life: Life) -> Iterator[Fate]:
    """Yield what happened to the memories of each store."""
    lineage = Lineage(life.after, life.edges)
    conflicts = {frozenset(pair) for pair in life.conflicts}
    for store in stores:
        newer = store.memory("newer")
        for index, text in enumerate(store.facts):
            memory = store.memory(index)
            if index in store.overturned:
                is_overturned = _is_overturned(lineage, memory, store)
                verdict: Verdict = "overturned" if is_overturned else "left"
                is_listed = verdict == "left" and frozenset((memory, newer)) in conflicts
                yield Fate(memory, text, verdict, _texts_with(lineage, memory), is_listed)
            else:
                yield _kept(lineage, memory, text)
        yield _kept(lineage, newer, store.newer)
        if store.echo is not None and store.values is not None:
            yield _after_echo(lineage, store, store.echo, store.values)


def _texts_with(lineage: Lineage, memory: str) -> tuple[str, ...]:
    return tuple(lineage.rows[holder].content for holder in sorted(lineage.holders([memory])))


def _kept(lineage: Lineage, memory: str, text: str) -> Fate:
    """Return what happened to a memory that nothing overturns."""
    now = _texts_with(lineage, memory)
    is_kept = lineage.rows[memory].active or any(_states(current, text) for current in now)
    return Fate(memory, text, "kept" if is_kept else "lost", now)


def _states(text: str, fact: str) -> bool:
    """Whether a text has the values, the names and most other words of a fact."""
    words = content_words(fact)
    shared = words & content_words(text)
    return keeps_facts(fact, text) and len(shared) >= _KEPT_WORDS * len(words)


def _is_overturned(lineage: Lineage, memory: str, store: Store) -> bool:
    """Whether the newer statement, or an update made from it, superseded a memory."""
    row = lineage.rows[lineage.end(memory)]
    if row.id == memory or not row.active:
        return False
    is_update = lineage.is_update(row.id) and store.memory("newer") in lineage.within(row.id)
    return is_update or row.content == store.newer


def _after_echo(lineage: Lineage, store: Store, text: str, values: tuple[str, str]) -> Fate:
    """Return whether only the new value holds after an echo of the old one."""
    old, new = values
    echo = store.memory("echo")
    rows = [row for row in lineage.active() if row.tenant == store.id]
    with_new = [row for row in rows if holds(row.content, [new])]
    with_either = [row for row in rows if row in with_new or holds(row.content, [old])]
    only_new = with_new and all(row in with_new or row.id == echo for row in with_either)
    now = tuple(row.content for row in with_either)
    return Fate(echo, text, "holds" if only_new else "came back", now)


def _parser() -> argparse.ArgumentParser:
    parser = make_parser("benchmarks.quality.updates_public", __doc__)
    default = [SHARED / "letta-updates.jsonl"]
    parser.add_argument("data", type=Path, nargs="*", default=default, help="files of stores")
    add_model_options(parser)
    parser.add_argument("--verbose", action="store_true", help="print what is right, too")
    return parser


_WRONG: dict[Verdict, str] = {
    "left": "not overturned",
    "lost": "lost or reworded",
    "came back": "the old value came back",
}
_RIGHT: dict[Verdict, str] = {"overturned": "overturned", "holds": "the new value holds"}


def _cases(result: UpdateResult, verbose: bool) -> Iterator[str]:
    """Yield what went wrong. verbose: also what happened to overturned facts and echoes."""
    for verdict, title in (_WRONG | _RIGHT if verbose else _WRONG).items():
        for fate in result.with_verdict(verdict):
            yield f"{title}: {fate.memory} {fate.text!r} -> {' | '.join(fate.now) or 'nothing'}"


_FIGURES: Mapping[str, Callable[[UpdateResult], str]] = {
    "stores": lambda result: str(result.stores),
    "memories before, after": lambda result: "{}, {}".format(*result.memories),
    "windows asked, unanswered": lambda result: f"{len(result.asked)}, {len(result.unanswered)}",
    "overturned facts superseded": lambda result: result.share("overturned", "left"),
    "left, but listed as conflicts": lambda result: (
        f"{sum(fate.is_listed for fate in result.fates)} of {len(result.with_verdict('left'))}"
    ),
    "other facts kept": lambda result: result.share("kept", "lost"),
    "only the new value after an echo": lambda result: result.share("holds", "came back"),
}


if __name__ == "__main__":
    main()
