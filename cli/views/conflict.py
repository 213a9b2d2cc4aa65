"""Pairs that a run leaves unchanged: conflicts, those for a model, equal ones that stay apart."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from slowwave.cli.terminal.output import clean, with_file
from slowwave.cli.terminal.wording import counted, shortened_for_stdout
from slowwave.consolidation.proposals import SLOTS_OF_TEXTS, Conflict, Refusal, Undecided
from slowwave.consolidation.reports.conflict_groups import group_conflicts
from slowwave.consolidation.thresholds import NEAR_SIMILARITY

from .memory import MemoryView, dated, ids_in, missing, read_views, sort_by_time, text_of

# How many of each kind a report shows, unless it shows all.
MAX_SHOWN = 10
# Why equal memories were not merged.
_APART = {
    "day": "their meaning depends on the day they were noted",
    "entity": "stored with different names: {}",
    "restored": "a person restored one of them",
}


# How many pairs of each kind a report shows.
MAX_PAIRS = 200


@dataclass(frozen=True)
class Pairs:
    """Pairs of one kind: the first of them, with their texts, and how many there are."""

    shown: list[tuple[str, list[MemoryView]]]
    count: int


def view_pairs(found: Sequence[Conflict | Refusal], path: Path) -> Pairs:
    """Return the first pairs, each as the reason why it is one and its memories."""
    shown = found[:MAX_PAIRS]
    memories = read_views(path, ids_in(pair.sources for pair in shown))
    return Pairs(
        [
            (
                _reason_of(pair),
                [memories.get(memory_id) or missing(memory_id) for memory_id in pair.sources],
            )
            for pair in shown
        ],
        len(found),
    )


def _reason_of(pair: Conflict | Refusal) -> str:
    if isinstance(pair, Refusal):
        return _APART[pair.guard].format(pair.why)
    return f"{pair.slot}: {pair.disagreement}"


def conflicts_as_json(conflicts: Sequence[Conflict]) -> list[dict[str, Any]]:
    """Return each conflict with the number of its group, and the id by which it is settled."""
    group_of = {
        memory: {"group": number, "id": group.id}
        for number, group in enumerate(group_conflicts(conflicts), start=1)
        for memory in group.memories
    }
    return [{**vars(conflict), **group_of[conflict.sources[0]]} for conflict in conflicts]


def conflicts_as_text(
    conflicts: Sequence[Conflict], path: Path, limit: int | None = None, left: str = ""
) -> str:
    """Return conflicts by group: its id, its memories by time, and how they differ.

    limit: of groups, and of values and memories in each; None shows all. left: what a run did
    with them.
    """
    groups = group_conflicts(conflicts)
    count = len(ids_in(conflict.sources for conflict in conflicts))
    number = counted(len(groups), "conflict")
    lines = [f"{number} between {count:,} memories{left}."]
    shown = groups[:limit]
    memories = read_views(path, ids_in(group.memories for group in shown))
    for group in shown:
        texts = [
            f"{dated(memories.get(memory_id))} ({clean(memory_id)})"
            for memory_id in sort_by_time(group.memories, memories)
        ]
        lines.append(f"  {group.id}")
        lines += [f"    {line}" for line in _up_to(limit, texts, "more memories")]
        differences = _differences(group.conflicts)
        lines += [f"    ({line})" for line in _up_to(limit, differences, "more differences")]
    if len(shown) < len(groups):
        lines.append(with_file("  ...; all of them: slowwave conflicts FILE"))
    return "\n".join(lines)


def _differences(group: Sequence[Conflict]) -> list[str]:
    """Return what a group disagrees about: each value vs. all that it conflicts with.

    Texts are not repeated: if they are the values, only the reason is returned.
    """
    against: dict[tuple[str, str, str], dict[str, None]] = {}
    known: set[frozenset[str]] = set()
    for conflict in group:
        if frozenset(conflict.values) not in known:
            known.add(frozenset(conflict.values))
            earlier, later = conflict.values
            against.setdefault((conflict.slot, earlier, conflict.why), {})[later] = None
    lines = (
        why if slot in SLOTS_OF_TEXTS else f"{value} vs. {', '.join(values)}; {why}"
        for (slot, value, why), values in against.items()
    )
    return list(dict.fromkeys(map(clean, lines)))


def _up_to(limit: int | None, lines: Sequence[str], what: str) -> list[str]:
    """Return lines up to a limit, and how many `what` there are."""
    if limit is None or len(lines) <= limit:
        return list(lines)
    return [*lines[:limit], f"... and {len(lines) - limit:,} {what}"]


def undecided_as_json(undecided: Sequence[Undecided]) -> dict[str, Any]:
    """Return what a model would be asked, what that would take, and the nearest pairs."""
    from slowwave.consolidation.planning.estimates import FOLLOW_UPS, split_estimate

    sizes = [split_estimate(group.tokens, len(group.sources)) for group in undecided]
    pairs = sorted(
        (pair for group in undecided for pair in group.examples),
        key=lambda pair: (-pair[2], pair),
    )
    read, written = sum(size.prompt for size in sizes), sum(size.answer for size in sizes)
    return {
        "groups": len(undecided),
        "memories": len(ids_in(group.sources for group in undecided)),
        "calls": 2 * len(undecided),
        # Rounded like the numbers of `estimate_cost`, which the same report has.
        "tokens": round(FOLLOW_UPS * read) + round(FOLLOW_UPS * written),
        "likeliest": [
            {"sources": [left, right], "similarity": similarity}
            for left, right, similarity in pairs[:MAX_SHOWN]
        ],
    }


def undecided_as_text(undecided: Sequence[Undecided], path: Path) -> str:
    """Return what a model would be asked, with the nearest pairs that may be duplicates."""
    found = undecided_as_json(undecided)
    left = counted(found["memories"], "similar memory", "similar memories")
    shown = [pair for pair in found["likeliest"] if pair["similarity"] >= NEAR_SIMILARITY]
    likeliest = " Pairs that it would see, most similar first:" if shown else ""
    questions = counted(len(undecided), "question")
    lines = [f"Left for a model (--model NAME): {left} in {questions}.{likeliest}"]
    memories = read_views(path, ids_in(pair["sources"] for pair in shown))
    for pair in shown:
        lines.append(f"  similarity {pair['similarity']:.2f}:")
        ids = sort_by_time(pair["sources"], memories)
        lines += [f"    {dated(memories.get(memory_id))}" for memory_id in ids]
    return "\n".join(lines)


def apart_as_text(apart: Sequence[Refusal], path: Path) -> str:
    """Return the equal pairs that were kept apart, each with what keeps it apart."""
    lines = [f"Equal, but kept apart: {counted(len(apart), 'pair')}."]
    memories = read_views(path, ids_in(pair.sources for pair in apart))
    for pair in apart:
        lines.append(f"  {shortened_for_stdout(_reason_of(pair))}")
        lines += [f"    {text_of(memories.get(memory_id))}" for memory_id in pair.sources]
    return "\n".join(lines)
