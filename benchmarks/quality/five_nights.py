"""Section 6: five nights with new memories each, and a sixth one on the unchanged file."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

from rich.table import Table

from fixtures.night import Night, Told, lines_of
from slowwave.consolidation.running.outcome import Outcome

from .bench import Bench, Json
from .files import active, add, memory_file, night, picture, rows, written
from .known import fact_of, lost_facts, mixed
from .nights import flavours, known_of

NIGHTS = 5
SEED = 20_260_105

Split = Callable[[Night], list[list[Told]]]


def run(bench: Bench) -> Json:
    """Return how each flavour grows, told in two ways."""
    return {
        f"{flavour}, {name}": _measured(bench, flavour, name, split)
        for flavour in flavours(bench)
        for name, split in SPLITS.items()
    }


def tables(results: Json) -> Iterator[Table]:
    """Yield a table a way of telling."""
    for name, result in results.items():
        first, *_ = result["nights"]
        table = Table(*first, title=f"five nights, {name}")
        for row in result["nights"]:
            table.add_row(*map(str, row.values()))
        yield table


def by_facts(known: Night) -> list[list[Told]]:
    """Tell a fifth of the facts each night, with all their wordings."""
    order = {group: at for at, group in enumerate(dict.fromkeys(one.group for one in known.told))}
    return [
        [one for one in known.told if order[one.group] % NIGHTS == night_number]
        for night_number in range(NIGHTS)
    ]


def by_chance(known: Night) -> list[list[Told]]:
    """Spread the wordings at random over the nights, the same way every time."""
    told = list(known.told)
    random.Random(SEED).shuffle(told)  # noqa: S311 - a sample, no secret
    return [told[night_number::NIGHTS] for night_number in range(NIGHTS)]


SPLITS: dict[str, Split] = {
    "a fifth of the facts each night": by_facts,
    "wordings spread over the nights": by_chance,
}


def _measured(bench: Bench, flavour: str, name: str, split: Split) -> Json:
    bench.say(f"five nights: {flavour}, {name}")
    known = known_of(bench, flavour)
    told: list[Told] = []
    nights: list[Json] = []
    with memory_file() as path:
        for part in split(known):
            told += part
            add(path, lines_of(part))
            outcome = night(path, bench.embedder)
            nights.append(_row(len(nights) + 1, path, known, told, outcome))
        before = picture(path)
        last = night(path, bench.embedder)
        bench.embedder.keep()
        return {
            "nights": nights,
            "grows no faster": _grows_no_faster(nights),
            "wrong merges": len(mixed(path, known)),
            "unchanged file": {
                "proposals": len(last.plan.proposals),
                "calls": last.usage.calls,
                "rows written": written(before, picture(path)),
            },
        }


def _row(number: int, path: Path, known: Night, told: Sequence[Told], outcome: Outcome) -> Json:
    facts = len({fact_of(one) for one in told})
    standing = len(active(path))
    deepest = rows(path, "SELECT max(generation) AS generation FROM memories")
    return {
        "night": number,
        "told": len(told),
        "facts": facts,
        "active": standing,
        "active a fact": round(standing / facts, 3),
        "generation": deepest[0]["generation"],
        "lost": len(lost_facts(path, known, told)),
        "proposals": len(outcome.plan.proposals),
        "calls": outcome.usage.calls,
    }


def _grows_no_faster(nights: Sequence[Json]) -> bool:
    """Whether there are no more active memories a fact at the end than after the first night."""
    return bool(nights[-1]["active a fact"] <= nights[0]["active a fact"])
