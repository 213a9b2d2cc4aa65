"""Find duplicates: memories that are equal after normalizing; and which similar ones are not.

Whether texts that differ in more say the same is for a model to decide.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from itertools import combinations, product
from typing import NamedTuple

from msgspec.json import Decoder

from slowwave.consolidation.comparison.coverage import first_veto
from slowwave.consolidation.comparison.normal_form import exact_form
from slowwave.consolidation.proposals import Refusal
from slowwave.consolidation.snapshot.tenant_view import TenantView
from slowwave.consolidation.thresholds import MAX_NEAR
from slowwave.store.records import UNDATED, Memory


class Merge(NamedTuple):
    """The row of a memory that stays, and the rows of its duplicates, which leave."""

    survivor: int
    leaving: list[int]


class _Sameness(NamedTuple):
    """What equal memories have in common."""

    form: str
    # The names that they were stored with and that their texts do not mention.
    names: frozenset[str]
    # The day of a text that means something else on another day.
    day: str


@dataclass(frozen=True)
class _Group:
    """The rows of equal memories, the one that stays first."""

    rows: list[int]
    # The other rows that may leave.
    leaving: list[int]
    memory: Memory
    sameness: _Sameness


_VETO = Decoder(tuple[str, str] | None)


def may_be_superseded(view: TenantView, memory: Memory, include_protected: bool) -> bool:
    """Whether a memory, observed or derived, may be superseded."""
    return memory.id not in view.supported_rule and (include_protected or not memory.protected)


def find_duplicates(
    view: TenantView, include_protected: bool, with_similar: bool
) -> tuple[list[Merge], list[Refusal]]:
    """Return the merges, and the pairs that look alike and stay separate.

    with_similar: also find pairs of similar texts; with a model, they are for it to decide.
    """
    groups = _equal_groups(view, include_protected)
    merges = [Merge(group.rows[0], group.leaving) for group in groups if group.leaving]
    similar = _similar_pairs(view, groups) if with_similar else ()
    return merges, list(_refusals(view, groups, similar))


def _equal_groups(view: TenantView, include_protected: bool) -> list[_Group]:
    """Return the active memories, equal ones in one group.

    Memories that a person separated are in different groups.
    """
    merged = frozenset(edge.derived_id for edge in view.edges if edge.operation == "merge")

    def rank(row: int) -> tuple[bool, float, bool, bool, bool, float, str]:
        """Rank equal memories; the first stays.

        That is one that may not leave; of several the most trusted one; then a human's; then one
        that others were merged into, so that lineage does not grow by a step a night; then one
        without an introduction ("User said that"); then the newest.
        """
        memory = view.memories[row]
        return (
            may_be_superseded(view, memory, include_protected),
            -memory.trust,
            memory.origin != "human",
            memory.id not in merged,
            view.features(memory).announced,
            -datetime.fromisoformat(memory.observed_at).timestamp(),
            memory.id,
        )

    def may_leave(row: int) -> bool:
        return may_be_superseded(view, view.memories[row], include_protected)

    def group_of(sameness: _Sameness, rows: list[int]) -> _Group:
        leaving = list(filter(may_leave, rows[1:]))
        return _Group(rows, leaving, view.memories[rows[0]], sameness)

    found: dict[_Sameness, list[list[int]]] = {}
    active = (row for row, memory in enumerate(view.memories) if memory.status == "active")
    for row in sorted(active, key=rank):
        equal = found.setdefault(_sameness(view, view.memories[row]), [])
        rows = next((rows for rows in equal if not _are_separated(view, [row], rows)), None)
        if rows is None:
            equal.append([row])
        else:
            rows.append(row)
    groups = (group_of(sameness, rows) for sameness, equal in found.items() for rows in equal)
    return sorted(groups, key=lambda group: group.memory.id)


def _sameness(view: TenantView, memory: Memory) -> _Sameness:
    text = view.features(memory)
    mentioned = {name.casefold() for name in text.names}
    names = frozenset(map(str.casefold, view.entities.get(memory.id, ()))) - mentioned
    if memory.id in view.dense:
        return _Sameness(exact_form(memory.content), names, "dense")
    day = memory.observed_at[:10] if memory.observed_at != UNDATED else memory.id
    return _Sameness(text.form, names, day if text.deictic else "")


def _similar_pairs(view: TenantView, groups: Sequence[_Group]) -> Iterator[tuple[int, int]]:
    """Yield the places of groups whose texts, those that stay, look alike; most similar first."""
    groups_of: list[list[int]] = [[] for _ in view.rows_of]
    for place, group in enumerate(groups):
        groups_of[view.text_of[group.rows[0]]].append(place)
    near = view.neighbours.nearest(MAX_NEAR)
    columns = near.left.tolist(), near.right.tolist(), near.similarities.tolist()
    pairs = (
        (-round(similarity, 4), min(pair), max(pair))
        for left, right, similarity in zip(*columns, strict=True)
        for pair in product(groups_of[left], groups_of[right])
    )
    return ((first, second) for _, first, second in sorted(pairs))


def _are_separated(view: TenantView, rows: Sequence[int], members: Sequence[int]) -> bool:
    separated = view.user_separated
    return bool(separated) and any(
        (view.memories[row].id, view.memories[member].id) in separated
        for row, member in product(rows, members)
    )


def _refusals(
    view: TenantView, groups: Sequence[_Group], similar: Iterable[tuple[int, int]]
) -> Iterator[Refusal]:
    """Yield the pairs that look alike and stay separate, with what keeps them apart."""
    same_form: dict[str, list[int]] = {}
    for place, group in enumerate(groups):
        same_form.setdefault(group.sameness.form, []).append(place)
    twins = (pair for places in same_form.values() for pair in combinations(places, 2))
    for first, second in dict.fromkeys([*twins, *similar]):
        there, here = groups[first], groups[second]
        if (reason := _reason(view, there, here)) is not None:
            yield Refusal("merge", (here.memory.id, there.memory.id), *reason, view.tenant)


def _reason(view: TenantView, staying: _Group, leaving: _Group) -> tuple[str, str] | None:
    """Return what keeps two groups apart: its kind, and a sentence; None if only words differ."""
    here, there = leaving.memory, staying.memory
    names, needed = leaving.sameness.names, staying.sameness.names
    if _are_separated(view, staying.rows, leaving.rows):
        return "restored", "a person restored it after the other replaced it"
    if names != needed:
        return "entity", f"{_listed(names - needed)} vs. {_listed(needed - names)}"
    if here.id in view.dense or there.id in view.dense:
        return "letter", "code or quotations differ"
    if leaving.sameness.form == staying.sameness.form:
        return "day", f"{here.observed_at[:10]} vs. {there.observed_at[:10]}"

    def find(_: Sequence[int]) -> list[tuple[str, str] | None]:
        veto = first_veto(here.content, there.content)
        return [None if veto is None else (veto.kind, veto.why)]

    hashes = [here.content_hash, there.content_hash]
    found: tuple[str, str] | None
    (found,) = view.cache.compute_unknown("veto", [hashes], _VETO, find)
    return found


def _listed(names: frozenset[str]) -> str:
    return ", ".join(sorted(names)) or "nothing"
