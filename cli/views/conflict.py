"""Pairs that a run leaves unchanged: conflicts, those for a model, equal ones that stay apart."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from slowwave.cli.terminal.output import clean, with_file
from slowwave.cli.terminal.wording import MAX_LISTED, counted, shortened_for_stdout
from slowwave.consolidation.proposals import Conflict, Refusal, Undecided
from slowwave.consolidation.reports.conflict_groups import group_conflicts
from slowwave.consolidation.thresholds import NEAR_SIMILARITY

from .memory import dated, ids_in, read_views, sort_by_time

# Why equal memories were not merged.
_REASONS = {
    "day": "their meaning depends on the day they were noted",
    "entity": "stored with different names: {}",
    "restored": "a person restored one of them",
}


def conflicts_as_json(conflicts: Sequence[Conflict]) -> list[dict[str, Any]]:
    """Return each conflict with the number of its group, and the id by which it is settled."""
    group_of = {
        memory: {"group": number, "id": group.id}
        for number, group in enumerate(group_conflicts(conflicts), start=1)
        for memory in group.memories
    }
    return [{**vars(conflict), **group_of[conflict.sources[0]]} for conflict in conflicts]


def conflicts_as_text(conflicts: Sequence[Conflict], path: Path, limit: int | None = None) -> str:
    """Return conflicts by group: its id, its memories by time, and how they differ.

    limit: of groups, and of values and memories in each; None shows all.
    """
    groups = group_conflicts(conflicts)
    count = len(ids_in(conflict.sources for conflict in conflicts))
    lines = [f"{counted(len(groups), 'conflict')} between {count:,} memories."]
    shown = groups[:limit]
    shows_tenants = len({conflict.tenant for conflict in conflicts}) > 1
    memories = read_views(path, ids_in(group.memories for group in shown))
    for group in shown:
        texts = [
            f"{dated(memories.get(memory_id))} ({clean(memory_id)})"
            for memory_id in sort_by_time(group.memories, memories)
        ]
        tenant = group.conflicts[0].tenant
        lines.append(clean(f"  {group.id}{f', tenant {tenant}' if shows_tenants else ''}"))
        lines += [f"    {line}" for line in _up_to(limit, texts, "more memories")]
        differences = dict.fromkeys(clean(each.disagreement) for each in group.conflicts)
        lines += [f"    ({line})" for line in _up_to(limit, list(differences), "more differences")]
    if len(shown) < len(groups):
        lines.append(with_file("  ...; all of them: slowwave conflicts FILE"))
    return "\n".join(lines)


def _up_to(limit: int | None, lines: Sequence[str], noun: str) -> list[str]:
    """Return lines up to a limit, and how many there are beyond it."""
    if limit is None or len(lines) <= limit:
        return list(lines)
    return [*lines[:limit], f"... and {len(lines) - limit:,} {noun}"]


def undecided_as_json(undecided: Sequence[Undecided]) -> dict[str, Any]:
    """Return what a model would be asked, what that would take, and the nearest pairs."""
    from slowwave.consolidation.planning.estimates import FOLLOW_UPS

    pairs = sorted(
        (pair for group in undecided for pair in group.examples),
        key=lambda pair: (-pair[2], pair),
    )
    read = sum(group.prompt_tokens for group in undecided)
    written = sum(group.answer_tokens for group in undecided)
    return {
        "groups": len(undecided),
        "memories": len(ids_in(group.sources for group in undecided)),
        "calls": 2 * len(undecided),
        # Rounded like the numbers of `estimate_cost`, which the same report has.
        "tokens": round(FOLLOW_UPS * read) + round(FOLLOW_UPS * written),
        "likeliest": [
            {"sources": [first, second], "similarity": similarity}
            for first, second, similarity in pairs[:MAX_LISTED]
        ],
    }


def undecided_as_text(undecided: Sequence[Undecided], path: Path) -> str:
    """Return what a model would be asked, with the nearest pairs that may be duplicates."""
    summary = undecided_as_json(undecided)
    similar_memories = counted(summary["memories"], "similar memory", "similar memories")
    shown = [pair for pair in summary["likeliest"] if pair["similarity"] >= NEAR_SIMILARITY]
    likeliest = " Pairs that it would see, most similar first:" if shown else ""
    questions = counted(len(undecided), "question")
    lines = [f"Left for a model (--model NAME): {similar_memories} in {questions}.{likeliest}"]
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
        lines.append(f"  {shortened_for_stdout(_REASONS[pair.guard].format(pair.why))}")
        lines += [
            f"    {dated(memories.get(memory_id))} ({clean(memory_id)})"
            for memory_id in pair.sources
        ]
    return "\n".join(lines)
