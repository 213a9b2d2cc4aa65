"""Section 5: old and new values of one thing: what becomes of both."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any, Literal

from rich.table import Table

from fixtures.night import lines
from slowwave.consolidation.text.dates import current_part
from slowwave.consolidation.text.reading import read

from .bench import Bench, Json
from .files import active, memory_file, night, rows
from .known import holds
from .nights import flavours, known_of
from .rates import rate_of, shown

SETS = ("updates-tuned", "updates-held-out")
SHARED = "shared updates"
ADVERSARIAL = "shared look-alikes"
LOCOMO = "LoCoMo memories"
PLANTED = "planted in "
# Pairs of a set, in a quick run.
_QUICK = 6

Became = Literal["replaced", "conflict", "merged", "left alone"]


@dataclass(frozen=True)
class Updates:
    """What became of an old and a new value."""

    became: Became
    # Where it was replaced: whether the memory in its place says the new value as the one of
    # today, and the old one with its days.
    new_is_told: bool = False
    old_is_kept: bool = False

    @property
    def right(self) -> bool:
        """Whether the newer value is what an agent gets, and the older one is not forgotten."""
        return self.new_is_told and self.old_is_kept


def run(bench: Bench) -> Json:
    """Return what became of each pair: in a file of its own, in its night, among observations."""
    results: Json = {name: _from_fixture(bench, name) for name in SETS}
    shared = bench.shared("updates.jsonl")
    if shared is not None:
        results[SHARED] = _from_shared(bench, shared)
    adversarial = bench.shared("adversarial-updates.jsonl")
    if adversarial is not None:
        results[ADVERSARIAL] = _from_adversarial(bench, adversarial)
    for flavour in flavours(bench):
        results[f"{PLANTED}{flavour}"] = {"newer": _planted(bench, flavour)}
    observations = bench.shared("locomo-memories.jsonl")
    if observations is not None:
        results[LOCOMO] = _among_observations(bench, observations)
    bench.embedder.keep()
    return results


def tables(results: Json) -> Iterator[Table]:
    """Yield one table of the pairs, and one of the observations."""
    table = Table(
        *("pairs", "are", "n", "replaced", "of these right"),
        *("conflict", "merged", "left alone"),
        title="updates, without a model",
    )
    for name, result in results.items():
        for kind, row in result.items() if name != LOCOMO else ():
            counts = (row[one] for one in ("conflict", "merged", "left alone"))
            rates = shown(row["replaced"]), shown(row["right"])
            table.add_row(name, kind, str(row["replaced"]["n"]), *rates, *map(str, counts))
    yield table
    if LOCOMO in results:
        observed = Table(*results[LOCOMO], title=LOCOMO)
        observed.add_row(*map(str, results[LOCOMO].values()))
        yield observed


def _from_fixture(bench: Bench, name: str) -> Json:
    bench.say(f"updates: {name}")
    found = defaultdict(list)
    pairs = bench.fixture(f"{name}.toml", "pair")
    for row in pairs[:: len(pairs) // _QUICK] if bench.quick else pairs:
        found[row["kind"]].append(_in_a_file(bench, row))
    return {kind: _counted(each) for kind, each in found.items()}


def _from_shared(bench: Bench, shared: Sequence[Json]) -> Json:
    bench.say(f"updates: {SHARED}")
    pairs = [
        {
            "old": row["old_turn"],
            "new": row["new_turn"],
            "old_date": row["old_date"],
            "new_date": row["new_date"],
        }
        for row in islice(shared, _QUICK if bench.quick else None)
    ]
    return {"newer": _counted([_in_a_file(bench, pair) for pair in pairs])}


def _from_adversarial(bench: Bench, shared: Sequence[Json]) -> Json:
    """Judge pairs without dates, some of which only look like an old and a new value."""
    bench.say(f"updates: {ADVERSARIAL}")
    found = defaultdict(list)
    for row in islice(shared, _QUICK if bench.quick else None):
        pair = {**row, "old_date": "2026-03-02", "new_date": "2026-03-16"}
        found["newer" if row["replaces"] else "different"].append(_in_a_file(bench, pair))
    return {kind: _counted(each) for kind, each in found.items()}


def _in_a_file(bench: Bench, pair: Mapping[str, str]) -> Updates:
    """Return what becomes of two memories that are all that a file holds."""
    memories = [
        {
            "id": which,
            "content": pair[which],
            "observed_at": _moment(pair[f"{which}_date"]),
            "created_at": _moment(pair[f"{which}_date"]),
            "session": pair[f"{which}_date"],
        }
        for which in ("old", "new")
    ]
    with memory_file([json.dumps(one) for one in memories]) as path:
        outcome = night(path, bench.embedder)
        conflicts = {frozenset(one.sources) for one in outcome.plan.conflicts}

        def tells(text: str, which: str) -> bool:
            return all(one.rstrip(".") in text for one in read(pair[which]).sentences)

        text = _replacing(path, "old")
        if text is None:
            return Updates(_left(path, ("old", "new"), conflicts))
        dated = f"[{pair['old_date'][:10]} until " in text
        return Updates("replaced", tells(current_part(text), "new"), dated and tells(text, "old"))


def _moment(date: str) -> str:
    """Return a day, or a moment, with an offset."""
    return f"{date}:00+00:00" if "T" in date else f"{date}T12:00:00+00:00"


def _planted(bench: Bench, flavour: str) -> Json:
    bench.say(f"updates: planted in {flavour}")
    known = known_of(bench, flavour)
    ids = {(one.group, one.role): one.id for one in known.told}
    with memory_file(lines(known)) as path:
        outcome = night(path, bench.embedder)
        conflicts = {frozenset(one.sources) for one in outcome.plan.conflicts}
        found = []
        for update in known.updates:
            pair = ids[update["id"], "old"], ids[update["id"], "new"]
            text = _replacing(path, pair[0])
            if text is None:
                found.append(Updates(_left(path, pair, conflicts)))
                continue
            told = holds(current_part(text), update["new_keys"])
            kept = holds(text, update["old_keys"]) and " until " in text
            found.append(Updates("replaced", told, kept))
        return _counted(found)


def _among_observations(bench: Bench, observations: Sequence[Json]) -> Json:
    bench.say(f"updates: {LOCOMO}")
    with memory_file([json.dumps(one) for one in observations]) as path:
        outcome = night(path, bench.embedder)
        proposed = [one for one in outcome.plan.proposals if one.operation == "update"]
        replaced = rows(path, "SELECT source_id FROM synthesized_from WHERE operation = 'update'")
        return {
            "memories": outcome.before.active,
            "updates proposed": len(proposed),
            "memories superseded by an update": len(replaced),
            "conflicts reported": len(outcome.plan.conflicts),
            "active after": outcome.after.active,
        }


def _replacing(path: Path, memory: str) -> str | None:
    """Return the text of the active memory that an update put in the place of this one."""
    by_id = {row["id"]: row for row in rows(path, "SELECT * FROM memories")}
    updated = {
        row["source_id"]
        for row in rows(path, "SELECT source_id FROM synthesized_from WHERE operation = 'update'")
    }
    found, was_updated = by_id[memory], False
    while found["superseded_by"] is not None:
        was_updated |= found["id"] in updated
        found = by_id[found["superseded_by"]]
    text: str = found["content"]
    return text if was_updated and found["status"] == "active" else None


def _left(path: Path, pair: tuple[str, str], conflicts: set[frozenset[str]]) -> Became:
    """Return what became of two of which neither was replaced."""
    standing = {row["id"] for row in active(path)}
    if frozenset(pair) in conflicts:
        return "conflict"
    apart = _stands_in(path, pair[0], standing) != _stands_in(path, pair[1], standing)
    return "left alone" if apart else "merged"


def _stands_in(path: Path, memory: str, standing: set[str]) -> Any:
    """Return the id of the active memory that stands for this one now."""
    by_id = {row["id"]: row["superseded_by"] for row in rows(path, "SELECT * FROM memories")}
    while memory not in standing and by_id[memory] is not None:
        memory = by_id[memory]
    return memory


def _counted(found: Sequence[Updates]) -> Json:
    replaced = [one for one in found if one.became == "replaced"]
    others: tuple[Became, ...] = ("conflict", "merged", "left alone")
    return {
        "replaced": rate_of(one.became == "replaced" for one in found),
        "right": rate_of(one.right for one in replaced),
        **{became: sum(one.became == became for one in found) for became in others},
    }
