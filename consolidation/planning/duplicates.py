"""Find duplicates: memories that are equal after normalizing; and which equal ones stay separate.

Whether texts that differ in more say the same is for a model to decide.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from itertools import combinations, product
from typing import NamedTuple
from unicodedata import is_normalized

from slowwave.consolidation.comparison.normal_form import exact_form
from slowwave.consolidation.proposals import Refusal
from slowwave.consolidation.snapshot.tenant_view import TenantView
from slowwave.consolidation.text.invisible import find_invisible
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


def may_be_superseded(view: TenantView, memory: Memory, include_protected: bool) -> bool:
    """Whether a memory, observed or derived, may be superseded."""
    return memory.id not in view.supported_rule and (include_protected or not memory.is_protected)


def find_duplicates(view: TenantView, include_protected: bool) -> tuple[list[Merge], list[Refusal]]:
    """Return the merges, and the pairs with equal texts that stay separate."""
    groups = _equal_groups(view, include_protected)
    merges = [Merge(group.rows[0], group.leaving) for group in groups if group.leaving]
    return merges, list(_refusals(view, groups))


def _equal_groups(view: TenantView, include_protected: bool) -> list[_Group]:
    """Return the active memories that share their form, equal ones in one group.

    Memories that a person separated are in different groups.
    """
    merged = frozenset(edge.derived_id for edge in view.edges if edge.operation == "merge")

    def rank(row: int) -> tuple[bool, float, bool, bool, bool, bool, bool, float, str]:
        """Rank equal memories; the first stays.

        Order: must stay, trust, human, merge target, in NFC, nothing invisible, of lines, newest.
        """
        memory = view.memories[row]
        return (
            may_be_superseded(view, memory, include_protected),
            -memory.trust,
            memory.origin != "human",
            memory.id not in merged,
            not is_normalized("NFC", memory.content),
            find_invisible(memory.content, [memory.content]) is not None,
            not memory.is_note,
            -datetime.fromisoformat(memory.observed_at).timestamp(),
            memory.id,
        )

    def separated(equal: list[int]) -> list[list[int]]:
        groups: list[list[int]] = []
        for row in sorted(equal, key=rank):
            rows = next((rows for rows in groups if not _are_separated(view, [row], rows)), None)
            if rows is None:
                groups.append([row])
            else:
                rows.append(row)
        return groups

    forms = {
        row: exact_form(memory.content) if memory.id in view.dense else view.features(memory).form
        for row, memory in enumerate(view.memories)
        if memory.status == "active"
    }
    rows_by_sameness: dict[_Sameness, list[int]] = {}
    counts = Counter(forms.values())
    for row, form in forms.items():
        if counts[form] > 1:
            rows_by_sameness.setdefault(_sameness(view, row, form), []).append(row)
    groups = (
        _Group(rows, [row for row in rows[1:] if rank(row)[0]], view.memories[rows[0]], same)
        for same, equal in rows_by_sameness.items()
        for rows in separated(equal)
    )
    return sorted(groups, key=lambda group: group.memory.id)


def _sameness(view: TenantView, row: int, form: str) -> _Sameness:
    text = view.features(memory := view.memories[row])
    names = view.added_names(memory)
    if memory.id in view.dense:
        return _Sameness(form, names, "dense")
    day = memory.observed_at[:10] if memory.observed_at != UNDATED else memory.id
    return _Sameness(form, names, day if text.is_relative else "")


def _are_separated(view: TenantView, rows: Sequence[int], members: Sequence[int]) -> bool:
    return any(
        (view.memories[row].id, view.memories[member].id) in view.user_separated
        for row, member in product(rows, members)
    )


def _refusals(view: TenantView, groups: Sequence[_Group]) -> Iterator[Refusal]:
    """Yield the pairs of groups with equal texts, with what keeps them apart."""
    same_form: dict[str, list[_Group]] = {}
    for group in groups:
        same_form.setdefault(group.sameness.form, []).append(group)
    for equal in same_form.values():
        for staying, leaving in combinations(equal, 2):
            ids = leaving.memory.id, staying.memory.id
            yield Refusal("merge", ids, *_reason(view, staying, leaving), view.tenant)


def _reason(view: TenantView, staying: _Group, leaving: _Group) -> tuple[str, str]:
    """Return what keeps two groups apart: its kind, and a sentence."""
    names, staying_names = leaving.sameness.names, staying.sameness.names
    if _are_separated(view, staying.rows, leaving.rows):
        return "restored", "a person restored it after the other replaced it"
    if names != staying_names:
        return "entity", f"{_listed(names - staying_names)} vs. {_listed(staying_names - names)}"
    return "day", f"{leaving.memory.observed_at[:10]} vs. {staying.memory.observed_at[:10]}"


def _listed(names: frozenset[str]) -> str:
    return ", ".join(sorted(names)) or "nothing"
