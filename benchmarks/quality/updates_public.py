"""What becomes of facts after a later statement: overturned ones must go, all others must stand.

    python -m benchmarks.quality.updates_public [DATA ...]
    python -m benchmarks.quality.updates_public [DATA ...] --model NAME [--api-base URL]
    python -m benchmarks.quality.updates_public [DATA ...] --replay RECORDING [--checker NAME|none]
    python -m benchmarks.quality.updates_public ... [--record RECORDING] [--json] [--verbose]

DATA is a file with a store a line, by default letta-updates.jsonl of the shared data; several are
measured one by one. Every store is a tenant, and all of a file go through one night.

    {"id": "s1", "facts": ["Ana works in Rome.", "Ana has a cat."],
     "newer": "Ana works in Oslo.", "overturned": [0]}

`facts` are noted on one day, `newer` on the next; `overturned` are the places of the facts, from 0,
that no longer hold. Where all hold at once ("tea in the morning", then "coffee after lunch") it is
[]. A store with an echo has a vague line of the day after `newer`, which still has the old value in
passing, and how both values are worded; nothing else in the store has the old one:

     "echo": "Found the umbrella that Ana bought while in Rome.", "values": ["Rome", "Oslo"]

A fact went if the newer one, or an update that it is part of, took its place. Anything else stands
if it is active, or if its values, names and most words are in an active memory made of it. After an
echo the new value holds if it is in an active memory, and the old one in none without the new one
but the echo as it was noted. Prompts that a recording lacks are written to RECORDING.missing.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Literal

from pydantic import BaseModel, ConfigDict, ValidationError, model_validator

from slowwave.consolidation.errors import ConsolidationError
from slowwave.consolidation.evaluation.trial import keeps_facts
from slowwave.consolidation.facts.reading import read
from slowwave.consolidation.model.recording import open_recordings
from slowwave.consolidation.thresholds import SHARED_WORDS
from slowwave.consolidation.vectors.embedder import SentenceEmbedder
from slowwave.consolidation.writing.writer import Writer

from .bench import ROOT, Json
from .files import memory_file, night
from .known import holds
from .known_answers import Life, Lineage
from .life import active, columns, life_of, writer_of

_DAY = datetime(2026, 3, 2, 9, tzinfo=UTC)
_NO_GOLD: Json = {"facts": [], "rules": [], "updates": []}
Verdict = Literal["went", "left", "stands", "lost", "holds", "came back"]


class Store(BaseModel):
    """What is known of one tenant."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    id: str
    facts: tuple[str, ...]
    newer: str
    overturned: tuple[int, ...]
    echo: str | None = None
    # How the old and the new value are worded.
    values: tuple[str, str] | None = None

    @model_validator(mode="after")
    def _fits_together(self) -> Store:
        if not all(0 <= place < len(self.facts) for place in self.overturned):
            raise ValueError("`overturned` names a fact that is not there")
        if (self.echo is None) != (self.values is None):
            raise ValueError("`echo` and `values` go together")
        return self

    def memory(self, name: int | str) -> str:
        """Return the id of a memory: a fact's place, `newer` or `echo`."""
        return f"{self.id}/{name}"

    def lines(self) -> Iterator[str]:
        """Yield the memories for an import."""
        told: list[tuple[int | str, str | None, int]] = [
            *((place, fact, 0) for place, fact in enumerate(self.facts)),
            ("newer", self.newer, 1),
            ("echo", self.echo, 2),
        ]
        for name, text, days in told:
            if text is not None:
                line = {"id": self.memory(name), "tenant": self.id, "content": text}
                line["observed_at"] = (_DAY + timedelta(days=days)).isoformat()
                yield json.dumps(line, ensure_ascii=False)


@dataclass(frozen=True)
class Fate:
    """What became of one memory."""

    memory: str
    text: str
    # Of an overturned fact `went` or `left`, of an echo `holds` (only the new value does) or
    # `came back`, of any other memory `stands` or `lost`.
    verdict: Verdict
    # The active texts that it stands in now; of an echo those with one of the values.
    now: tuple[str, ...]
    # Whether it is left, and listed as a conflict with what overturns it.
    is_listed: bool = False


@dataclass(frozen=True)
class Measured:
    """A night on a file of stores."""

    stores: int
    # Active before and after.
    memories: tuple[int, int]
    # The tenants of windows, and of those without an answer.
    asked: tuple[str, ...]
    unanswered: tuple[str, ...]
    fates: tuple[Fate, ...]

    def of(self, verdict: Verdict) -> list[Fate]:
        """Return the memories that became this."""
        return [fate for fate in self.fates if fate.verdict == verdict]

    def share(self, right: Verdict, wrong: Verdict) -> str:
        """Return how many memories became the right one of two."""
        count, total = len(self.of(right)), len(self.of(right)) + len(self.of(wrong))
        return f"{count} of {total} ({count / total:.1%})" if total else "-"


def main(arguments: Sequence[str] | None = None) -> None:
    """Measure, and print the figures."""
    chosen = _parser().parse_args(arguments)
    missing = [str(path) for path in chosen.data if not path.is_file()]
    if missing:
        sys.exit(f"absent: {', '.join(missing)}")
    try:
        writer = _writer(chosen)
        embedder = SentenceEmbedder()
        found = {path.stem: measured(read_stores(path), embedder, writer) for path in chosen.data}
    except (ConsolidationError, ValueError) as error:
        sys.exit(str(error))
    if chosen.json:
        shown = {name: asdict(result) for name, result in found.items()}
        sys.stdout.write(json.dumps(shown, indent=1, ensure_ascii=False) + "\n")
        return
    for name, result in found.items():
        sys.stdout.writelines(f"{name}: {line}\n" for line in _cases(result, chosen.verbose))
    sys.stdout.writelines(f"{line}\n" for line in columns(found, _FIGURES))


def read_stores(path: Path) -> list[Store]:
    """Read stores, one a line. Raises `ValueError` at the first wrong line."""
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


def measured(
    stores: Sequence[Store], embedder: SentenceEmbedder, writer: Writer | None = None
) -> Measured:
    """Run a night on all stores in one file."""
    with memory_file([line for store in stores for line in store.lines()]) as path:
        before = active(path)
        outcome = night(path, embedder, writer)
        life = life_of(path, before, _NO_GOLD)
    return Measured(
        len(stores),
        (len(before), sum(memory.active for memory in life.after)),
        tuple(asked.window.tenant for asked in outcome.asked),
        tuple(asked.window.tenant for asked in outcome.asked if asked.state != "applied"),
        tuple(fates_of(stores, life)),
    )


def fates_of(stores: Sequence[Store], life: Life) -> Iterator[Fate]:
    """Yield what became of the memories of each store."""
    lineage = Lineage(life.after, life.edges)
    conflicts = {frozenset(pair) for pair in life.conflicts}
    for store in stores:
        newer = store.memory("newer")
        for place, text in enumerate(store.facts):
            memory = store.memory(place)
            if place in store.overturned:
                verdict: Verdict = "went" if _is_overturned(lineage, memory, store) else "left"
                is_listed = verdict == "left" and frozenset((memory, newer)) in conflicts
                yield Fate(memory, text, verdict, _texts_with(lineage, memory), is_listed)
            else:
                yield _other(lineage, memory, text)
        yield _other(lineage, newer, store.newer)
        if store.echo is not None and store.values is not None:
            yield _after_echo(lineage, store, store.echo, store.values)


def _texts_with(lineage: Lineage, memory: str) -> tuple[str, ...]:
    return tuple(lineage.rows[holder].content for holder in sorted(lineage.holders([memory])))


def _other(lineage: Lineage, memory: str, text: str) -> Fate:
    """Return what became of a memory that nothing overturns."""
    now = _texts_with(lineage, memory)
    stands = lineage.rows[memory].active or any(_keeps(text, held) for held in now)
    return Fate(memory, text, "stands" if stands else "lost", now)


def _keeps(told: str, text: str) -> bool:
    """Whether a text has the values, the names and most other words of what was told."""
    words = read(told).stem_set
    shared = words & read(text).stem_set
    return keeps_facts(told, text) and len(shared) >= SHARED_WORDS * len(words)


def _is_overturned(lineage: Lineage, memory: str, store: Store) -> bool:
    """Whether the newer statement, or an update that it is part of, took a memory's place."""
    row = lineage.rows[lineage.end(memory)]
    if row.id == memory or not row.active:
        return False
    is_update = lineage.is_update(row.id) and store.memory("newer") in lineage.within(row.id)
    return is_update or row.content == store.newer


def _after_echo(lineage: Lineage, store: Store, text: str, values: tuple[str, str]) -> Fate:
    """Return whether only the new one of two values holds after an echo of the old one."""
    old, new = values
    echo = store.memory("echo")
    rows = [row for row in lineage.active() if row.tenant == store.id]
    told = [row for row in rows if holds(row.content, [old]) or holds(row.content, [new])]
    with_new = [row for row in told if holds(row.content, [new])]
    only_new = with_new and all(row in with_new or row.id == echo for row in told)
    now = tuple(row.content for row in told)
    return Fate(echo, text, "holds" if only_new else "came back", now)


def _writer(chosen: argparse.Namespace) -> Writer | None:
    if not (chosen.model or chosen.replay):
        return None
    recordings = open_recordings(chosen.record, chosen.replay)
    return writer_of(chosen.model or "writer", chosen.api_base, chosen.checker, recordings)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.quality.updates_public", description=__doc__
    )
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    folder = Path(os.environ.get("DATA") or ROOT.parent / "shared" / "data")
    default = [folder / "letta-updates.jsonl"]
    parser.add_argument("data", type=Path, nargs="*", default=default, help="files of stores")
    parser.add_argument("--model", help="litellm's name of the model that is asked")
    parser.add_argument("--api-base", help="where it is reached")
    parser.add_argument("--checker", default="same", help="who checks: a model's name, same, none")
    parser.add_argument("--record", type=Path, help="append each answer to this recording")
    parser.add_argument("--replay", type=Path, help="answer from this recording")
    parser.add_argument("--json", action="store_true", help="the figures with all texts, as JSON")
    parser.add_argument("--verbose", action="store_true", help="what became of each overturned one")
    return parser


# ------------------------------------------------------------------------------------- as lines


_WRONG: dict[Verdict, str] = {
    "left": "not overturned",
    "lost": "lost, or in other words",
    "came back": "the old value came back",
}
_RIGHT: dict[Verdict, str] = {"went": "overturned", "holds": "the new value holds"}


def _cases(result: Measured, verbose: bool) -> Iterator[str]:
    """Yield what went wrong; verbose: and what overturned facts and echoes became."""
    for verdict, title in (_WRONG | _RIGHT if verbose else _WRONG).items():
        for fate in result.of(verdict):
            yield f"{title}: {fate.memory} {fate.text!r} -> {' | '.join(fate.now) or 'nothing'}"


_FIGURES: Mapping[str, Callable[[Measured], str]] = {
    "stores": lambda result: str(result.stores),
    "memories before, after": lambda result: "{}, {}".format(*result.memories),
    "windows asked, unanswered": lambda result: f"{len(result.asked)}, {len(result.unanswered)}",
    "overturned that went": lambda result: result.share("went", "left"),
    "left, but listed as conflicts": lambda result: (
        f"{sum(fate.is_listed for fate in result.fates)} of {len(result.of('left'))}"
    ),
    "others that stand": lambda result: result.share("stands", "lost"),
    "only the new value after an echo": lambda result: result.share("holds", "came back"),
}


if __name__ == "__main__":
    main()
