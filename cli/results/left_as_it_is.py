"""What a run leaves as it is: conflicts, what only a model could decide, what it keeps apart."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import chain, islice, zip_longest
from typing import TYPE_CHECKING, Any

from slowwave.cli.terminal.output import clean
from slowwave.cli.terminal.wording import counted, shortened_for_stdout
from slowwave.consolidation.proposals import group_numbers

from .memory_texts import MemoryTexts, dated, in_time, memories_of, said

if TYPE_CHECKING:
    from slowwave.consolidation.proposals import Conflict, Refusal, Undecided

# How many of each kind a report shows, unless it is to show all.
MOST_SHOWN = 10


def conflicts_as_json(conflicts: Sequence[Conflict]) -> list[dict[str, Any]]:
    """Return each pair with the number of the group that it is in."""
    numbers = group_numbers(conflicts)
    return [{**vars(one), "group": number} for one, number in zip(conflicts, numbers, strict=True)]


def conflicts_as_text(
    conflicts: Sequence[Conflict], memory_texts: MemoryTexts, most: int | None = None
) -> str:
    """Return conflicts for people: each thing once, with its memories.

    most: how many things, and of each how many values and memories; None shows all.
    """
    groups: dict[int, list[Conflict]] = {}
    for number, conflict in zip(group_numbers(conflicts), conflicts, strict=True):
        groups.setdefault(number, []).append(conflict)
    involved = memories_of([one.sources for one in conflicts])
    about = f"{len(involved):,} memories about {counted(len(groups), 'thing', 'things')}"
    lines = [f"In conflict, and left as they are: {about}."]
    shown = list(groups.items())[:most]
    memories = memory_texts.memories(
        memories_of([one.sources for _, group in shown for one in group])
    )
    for number, group in shown:
        first, *others = _up_to(most, _differing(group), "more that differ so")
        lines += [f"  {number}. {first}", *(f"     {one}" for one in others)]
        told = [
            f"{dated(memories.get(memory_id))} ({clean(memory_id)})"
            for memory_id in in_time(memories_of([one.sources for one in group]), memories)
        ]
        lines += [f"     {one}" for one in _up_to(most, told, "more memories")]
    if len(shown) < len(groups):
        lines.append("  ... all of them with: slowwave conflicts")
    return "\n".join(lines)


def _differing(group: Sequence[Conflict]) -> list[str]:
    """Return what the memories of a group disagree about: each value against all that it meets."""
    against: dict[tuple[str, str, str], dict[str, None]] = {}
    told: set[frozenset[str]] = set()
    for one in group:
        if frozenset(one.values) not in told:
            told.add(frozenset(one.values))
            value, other = one.values
            against.setdefault((one.slot, value, one.why), {})[other] = None
    return [
        clean(f"{slot}: {value} against {', '.join(others)}; {why}")
        for (slot, value, why), others in against.items()
    ]


def _up_to(most: int | None, lines: Sequence[str], what: str) -> list[str]:
    """Return lines, or as many as are to be shown and how many `what` there are."""
    if most is None or len(lines) <= most:
        return list(lines)
    return [*lines[:most], f"... and {len(lines) - most:,} {what}"]


def undecided_as_json(undecided: Sequence[Undecided]) -> dict[str, Any]:
    """Return what a model would be asked, what that would take, and the nearest pairs."""
    from slowwave.consolidation.planning.estimates import FOLLOW_UPS

    return {
        "groups": len(undecided),
        "memories": len(memories_of([each.sources for each in undecided])),
        "calls": 2 * len(undecided),
        "tokens": round(FOLLOW_UPS * sum(each.tokens for each in undecided)),
        "likeliest": [
            {"sources": [left, right], "similarity": similarity}
            for left, right, similarity in _nearest_pairs(undecided)
        ],
    }


def undecided_as_text(undecided: Sequence[Undecided], memory_texts: MemoryTexts) -> str:
    """Say what a model would be shown and what that would take, and show the nearest pairs."""
    found = undecided_as_json(undecided)
    shown = counted(found["memories"], "memory", "memories")
    pairs = _nearest_pairs(undecided)
    lines = [
        f"A model would be shown {shown} that lie near others, in "
        f"{counted(len(undecided), 'question', 'questions')}; with checking that takes about "
        f"{found['tokens']:,} tokens (--model NAME). The nearest pairs:"
    ]
    memories = memory_texts.memories([each for left, right, _ in pairs for each in (left, right)])
    for left, right, similarity in pairs:
        lines.append(f"  similarity {similarity:.2f}:")
        lines += [f"    {dated(memories.get(each))}" for each in in_time([left, right], memories)]
    return "\n".join(lines)


def _nearest_pairs(undecided: Sequence[Undecided]) -> list[tuple[str, str, float]]:
    pairs = [pair for each in undecided for pair in each.examples]
    return sorted(pairs, key=lambda pair: (-pair[2], pair))[:MOST_SHOWN]


def refused_as_text(refused: Sequence[Refusal], memory_texts: MemoryTexts, everything: bool) -> str:
    """Say how many pairs look alike and were kept apart, and show the most telling or all."""
    lines = [f"Kept apart, though they look alike: {counted(len(refused), 'pair', 'pairs')}."]
    shown = refused if everything else _most_telling(refused)
    if len(shown) < len(refused):
        lines[0] += f" {len(shown)} of them (--verbose shows all):"
    memories = memory_texts.memories(memories_of([one.sources for one in shown]))
    for one in shown:
        lines.append(f"  {shortened_for_stdout(f'{one.guard}: {one.why}')}")
        lines += [f"    {said(memories.get(memory_id))}" for memory_id in one.sources]
    return "\n".join(lines)


def _most_telling(refused: Sequence[Refusal]) -> list[Refusal]:
    """Return the nearest pair of each kind of difference, then the next nearest; no memory twice.

    They come with the nearest first, and the nearest of all are often one line of a log many times.
    """
    by_guard: dict[str, list[Refusal]] = {}
    seen: set[str] = set()
    for one in refused:
        if seen.isdisjoint(one.sources):
            seen.update(one.sources)
            by_guard.setdefault(one.guard, []).append(one)
    in_turn = chain.from_iterable(zip_longest(*by_guard.values()))
    return list(islice((one for one in in_turn if one is not None), MOST_SHOWN))
