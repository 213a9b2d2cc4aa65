"""What is known about a night's memories, and what a file makes of it."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import replace
from pathlib import Path

from fixtures.night import Night, Told

from .files import active, rows

# What a memory tells: a fact's id and, of an update, which of its two values.
Fact = tuple[str, str]


def fact_of(told: Told) -> Fact:
    """Return what a memory is known to tell; two tell the same if it is equal."""
    return told.group, told.role if told.role in ("old", "new") else ""


def keys_of(known: Night) -> dict[Fact, list[str]]:
    """Return what must stand in an active memory for each thing that was told."""
    keys = {(item["id"], ""): item["keys"] for item in [*known.facts, *known.singles]}
    keys |= {(f"near:{near['of']}", ""): near["keys"] for near in known.nears}
    keys |= {(update["id"], "old"): update["old_keys"] for update in known.updates}
    keys |= {(update["id"], "new"): update["new_keys"] for update in known.updates}
    return keys


def lost_facts(path: Path, known: Night, told: Iterable[Told]) -> list[Fact]:
    """Return the facts that were told, all their keys by one memory, and by no active one now."""
    keys = keys_of(known)
    due = {
        fact_of(text)
        for text in told
        if fact_of(text) in keys and holds(text.text, keys[fact_of(text)])
    }
    texts = [row["content"] for row in active(path)]
    return sorted(fact for fact in due if not any(holds(text, keys[fact]) for text in texts))


def holds(text: str, keys: Sequence[str]) -> bool:
    """Whether all keys stand in a text."""
    return all(key.lower() in text.lower() for key in keys)


def mixed(path: Path, known: Night) -> list[list[str]]:
    """Return what each active memory tells that stands for two different facts.

    The old and the new value of one update belong together where an update joined them.
    """
    facts = {text.id: fact_of(text) for text in known.told}
    behind = _behind(path, {"merge", "synthesize", "update"})
    updates = _behind(path, {"update"}).keys()
    found = []
    for memory, observed in _observed_behind(path, behind).items():
        told = {facts[item] for item in observed}
        if _all_behind(memory, behind) & updates:
            told = {(group, "") for group, _ in told}
        if len(told) > 1:
            found.append(sorted(f"{group} {value}".strip() for group, value in told))
    return found


def stands_for(path: Path, operations: set[str]) -> dict[str, set[str]]:
    """Return the observed memories behind each active one that something became part of."""
    return _observed_behind(path, _behind(path, operations))


def shortened(known: Night, share: int) -> Night:
    """Return one in so many of the facts, with all that belongs to them, and of the rest."""
    facts = known.facts[: len(known.facts) // share]
    kept = {fact["id"] for fact in facts}
    return replace(
        known,
        facts=facts,
        rules=known.rules[: max(2, len(known.rules) // share)],
        nears=[near for near in known.nears if near["of"] in kept],
        updates=known.updates[: len(known.updates) // share + 1],
        singles=known.singles[: len(known.singles) // share],
    )


def _observed_behind(path: Path, behind: dict[str, set[str]]) -> dict[str, set[str]]:
    observed = {
        row["id"] for row in rows(path, "SELECT id FROM memories WHERE origin <> 'consolidation'")
    }
    standing = {row["id"] for row in active(path)} & behind.keys()
    return {item: _all_behind(item, behind) & observed for item in sorted(standing)}


def _behind(path: Path, operations: set[str]) -> dict[str, set[str]]:
    """Return what each memory was made of by these operations."""
    behind: dict[str, set[str]] = defaultdict(set)
    for edge in rows(path, "SELECT derived_id, source_id, operation FROM synthesized_from"):
        if edge["operation"] in operations:
            behind[edge["derived_id"]].add(edge["source_id"])
    return behind


def _all_behind(memory: str, behind: dict[str, set[str]]) -> set[str]:
    """Return a memory and all that became part of it, to every depth."""
    found: set[str] = set()
    waiting = [memory]
    while waiting:
        one = waiting.pop()
        if one not in found:
            found.add(one)
            waiting += behind.get(one, ())
    return found
