"""Section 3: one night on each flavour of the 1,000 memories, and a second one right after it."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

from rich.table import Table

from fixtures.night import FLAVOURS, Night, lines, load
from slowwave.consolidation.running.outcome import Outcome
from slowwave.store.memories import Counts

from .bench import Bench, Json
from .files import active, memory_file, night, picture, written
from .known import fact_of, keys_of, lost_facts, mixed, shortened, stands_for

# In a quick run: one in so many of the facts.
_QUICK_SHARE = 10
# The share of a rule's evidence that must voice one and the same planted rule.
_AGREEMENT = 0.9


def run(bench: Bench) -> Json:
    """Return what a night makes of each flavour."""
    return {flavour: _measured(bench, flavour) for flavour in flavours(bench)}


def tables(results: Json) -> Iterator[Table]:
    """Yield one table, a column a flavour; which facts were lost or mixed is in the JSON."""
    yield table_of(results, "one night without a model")


def table_of(results: Json, title: str) -> Table:
    """Return the numbers of some nights, a column a flavour."""
    table = Table("", *results, title=title)
    for name, value in next(iter(results.values())).items():
        if not isinstance(value, list | dict):
            table.add_row(name, *(str(result[name]) for result in results.values()))
    return table


def flavours(bench: Bench) -> tuple[str, ...]:
    """Return the flavours to measure on."""
    return FLAVOURS[:1] if bench.quick else FLAVOURS


def known_of(bench: Bench, flavour: str) -> Night:
    """Return a flavour, or a small part of it in a quick run."""
    known = load(flavour)
    return shortened(known, _QUICK_SHARE) if bench.quick else known


def findings(path: Path, known: Night, outcome: Outcome, characters: int) -> Json:
    """Return what a night kept, mixed up and found; `characters`: of what was active before."""
    lost = lost_facts(path, known, known.told)
    details = [detail for fact in known.facts for detail in fact.get("details", [])]
    texts = [row["content"] for row in active(path)]
    missing = [one for one in details if not any(one in text for text in texts)]
    after = sum(map(len, texts))
    return {
        "facts": len(keys_of(known)),
        "facts kept": len(keys_of(known)) - len(lost),
        "facts lost": [" ".join(fact).strip() for fact in lost],
        "details": len(details),
        "details kept": len(details) - len(missing),
        "wrong merges": len(mixed(path, known)),
        "mixed": mixed(path, known),
        **_rules(path, known),
        "active before": outcome.before.active,
        "active after": outcome.after.active,
        "stable": _layer(outcome.after, "stable"),
        "core": _layer(outcome.after, "core"),
        "compression, memories": round(outcome.before.active / outcome.after.active, 2),
        "compression, characters": round(characters / after, 2),
        "tokens": outcome.usage.prompt_tokens + outcome.usage.completion_tokens,
        "not applied": sum(one.state != "applied" for one in outcome.results),
    }


def characters_of(path: Path) -> int:
    """Count the characters of the active memories."""
    return sum(len(row["content"]) for row in active(path))


def _measured(bench: Bench, flavour: str) -> Json:
    bench.say(f"nights: {flavour}")
    known = known_of(bench, flavour)
    with memory_file(lines(known)) as path:
        characters = characters_of(path)
        began = time.monotonic()
        outcome = night(path, bench.embedder)
        seconds = time.monotonic() - began
        found = findings(path, known, outcome, characters)
        before = picture(path)
        second = night(path, bench.embedder)
        bench.embedder.keep()
        return {
            **found,
            "seconds": round(seconds, 1),
            "second run: proposals": len(second.plan.proposals),
            "second run: rows written": written(before, picture(path)),
        }


def _rules(path: Path, known: Night) -> Json:
    """Judge the rules found as those that were voiced; one that was found twice counts once."""
    facts = {one.id: fact_of(one)[0] for one in known.told}
    planted = {rule["id"] for rule in known.rules}
    # A rule's evidence is what it was made of, and what was merged into that.
    found = [
        _voiced(Counter(facts[one] for one in evidence)) for evidence in _evidence(path).values()
    ]
    right = planted & set(found)
    return {
        "rules planted": len(planted),
        "rules found": len(found),
        "rules right": len(right),
        "precision": round(len(right) / len(found), 3) if found else 0.0,
        "recall": round(len(right) / len(planted), 3) if planted else 1.0,
    }


def _evidence(path: Path) -> dict[str, set[str]]:
    core = {row["id"] for row in active(path) if row["layer"] == "core"}
    behind = stands_for(path, {"extract", "merge"})
    return {one: evidence for one, evidence in behind.items() if one in core}


def _voiced(groups: Counter[str]) -> str:
    group, count = groups.most_common(1)[0]
    return group if count >= _AGREEMENT * groups.total() else "mixed"


def _layer(counts: Counts, layer: str) -> int:
    return counts.layers.get(layer, 0)
