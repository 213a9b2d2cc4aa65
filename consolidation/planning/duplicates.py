"""Find duplicates: which memory replaces which, and which similar pairs are not merged.

A pipeline: texts that are equal after normalizing are grouped; near groups are candidates; most of
these are ruled out by what can be looked up (`vetoes.py`); the network decides on the rest
(`entailment.py`). Each memory leaves for one that says all that it says and is trusted as much.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from itertools import combinations, islice, product
from typing import TYPE_CHECKING, NamedTuple

from msgspec.json import Decoder

from slowwave.consolidation.comparison.coverage import are_open, covered, first_veto
from slowwave.consolidation.proposals import Refusal
from slowwave.consolidation.snapshot.tenant_view import TenantView
from slowwave.consolidation.thresholds import DUPLICATE_SIMILARITY, MAX_NEAR, TWIN_SIMILARITY
from slowwave.store.records import UNDATED, Memory

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


class Merge(NamedTuple):
    """The row of a memory that stays, and the rows that leave for it."""

    survivor: int
    leaving: list[int]
    # Whether all of them are equal after normalizing.
    is_equal: bool


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
    may_leave: bool
    # Whether it may leave for another text, or another one for it.
    is_open: bool


class _Pair(NamedTuple):
    """Two near groups, by their places: one that stays, and one that may leave for it."""

    similarity: float
    staying: int
    leaving: int


_Survivors = Mapping[int, int]
_IS_SO = Decoder(bool)
_VETO = Decoder(tuple[str, str] | None)


def may_be_superseded(view: TenantView, memory: Memory, include_protected: bool) -> bool:
    """Whether a memory, observed or derived, may be superseded."""
    return memory.id not in view.supported_rule and (include_protected or not memory.protected)


def find_duplicates(
    view: TenantView, include_protected: bool, equal_only: bool
) -> tuple[list[Merge], list[Refusal]]:
    """Return the merges, and the pairs that nearly say the same and stay separate.

    equal_only: leave pairs that are not equal after normalizing to a model.
    """
    groups = _equal_groups(view, include_protected)
    pairs = [] if equal_only else _near_pairs(view, groups)
    survivors = _find_survivors(view, groups, pairs)
    return _merges(groups, survivors), list(_refusals(view, groups, pairs, survivors))


def _equal_groups(view: TenantView, include_protected: bool) -> list[_Group]:
    """Return the active memories, equal ones in one group, groups that stay before others.

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

    def group_rank(group: _Group) -> tuple[bool, float, bool, int, str, str]:
        """Rank groups likewise, but then by how much they say, not by earlier merges."""
        memory, text = group.memory, view.features(group.memory)
        human = memory.origin != "human"
        return group.may_leave, -memory.trust, human, -text.richness, text.form, memory.id

    def may_leave(row: int) -> bool:
        return may_be_superseded(view, view.memories[row], include_protected)

    def group_of(sameness: _Sameness, rows: list[int]) -> _Group:
        memory, leaving = view.memories[rows[0]], list(filter(may_leave, rows[1:]))
        absorbed = [view.memories[row] for row in leaving]
        # A sentence of a note may hold only below its heading.
        is_open = view.is_fresh(rows[0], absorbed) and not memory.is_note
        return _Group(rows, leaving, memory, sameness, may_leave(rows[0]), is_open)

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
    return sorted(groups, key=group_rank)


def _sameness(view: TenantView, memory: Memory) -> _Sameness:
    text = view.features(memory)
    mentioned = {name.casefold() for name in text.names}
    names = frozenset(map(str.casefold, view.entities.get(memory.id, ()))) - mentioned
    if memory.id in view.dense:
        # An order, a capital or a blank in front of a line means much in code.
        lines = memory.content.strip("\n").splitlines()
        return _Sameness("\n".join(line.rstrip() for line in lines), names, "dense")
    day = memory.observed_at[:10] if memory.observed_at != UNDATED else memory.id
    return _Sameness(text.form, names, day if text.deictic else "")


def _near_pairs(view: TenantView, groups: Sequence[_Group]) -> list[_Pair]:
    """Return the pairs of groups with texts near each other, most similar first.

    Only the texts that stay count, as they do once the others have left.
    """
    groups_of: list[list[int]] = [[] for _ in view.rows_of]
    for place, group in enumerate(groups):
        groups_of[view.text_of[group.rows[0]]].append(place)
    near = view.neighbours.at_least(DUPLICATE_SIMILARITY).nearest(MAX_NEAR)
    columns = near.left.tolist(), near.right.tolist(), near.similarities.tolist()
    pairs = (
        _Pair(round(similarity, 4), min(pair), max(pair))
        for left, right, similarity in zip(*columns, strict=True)
        for pair in product(groups_of[left], groups_of[right])
    )
    return sorted(pairs, key=lambda pair: (-pair.similarity, pair.staying, pair.leaving))


def _find_survivors(
    view: TenantView, groups: Sequence[_Group], pairs: Sequence[_Pair]
) -> dict[int, int]:
    """Return the groups that leave, each with the group that it leaves for, by their places.

    A group that covers another one also covers what that one covers. The network is asked in
    rounds, about each group and the nearest one that stays so far: a question takes 10 ms. The last
    round leaves nothing to ask among those that stay, so that the next night finds nothing.
    """
    allowed = [pair for pair in pairs if _may_leave(groups[pair.leaving], groups[pair.staying])]
    is_open = _ask(view, groups, "open", allowed, are_open)
    candidates: dict[int, list[_Pair]] = {}
    for pair, passed in zip(allowed, is_open, strict=True):
        if passed:
            candidates.setdefault(pair.leaving, []).append(pair)
    covering: dict[int, int] = {}
    # The rows of each group and of those that leave for it.
    rows = [group.rows for group in groups]
    known: set[_Pair] = set()
    while asked := _nearest_staying(view, candidates, covering, rows) - known:
        known |= asked
        in_order = sorted(asked, key=lambda pair: pair.leaving)
        answers = _ask(view, groups, "covered", in_order, covered)
        for (_, near, leaving), is_covered in zip(in_order, answers, strict=True):
            staying = covering.get(near, near)
            if is_covered and not _are_separated(view, rows[leaving], rows[staying]):
                covering[leaving] = staying
                rows[staying] = rows[staying] + rows[leaving]
    survivors: dict[int, int] = {}
    for leaving in sorted(covering):
        survivors[leaving] = survivors.get(covering[leaving], covering[leaving])
    return survivors


def _may_leave(leaving: _Group, staying: _Group) -> bool:
    """Whether only their texts, or a person, can keep a group from leaving for another one.

    A memory does not leave for a less trusted one.
    """
    return (
        leaving.may_leave
        and leaving.is_open
        and staying.is_open
        and leaving.memory.trust <= staying.memory.trust
        and leaving.sameness.names == staying.sameness.names
        and leaving.sameness.day in ("", staying.sameness.day)
    )


def _nearest_staying(
    view: TenantView,
    candidates: Mapping[int, Sequence[_Pair]],
    covering: Mapping[int, int],
    rows: Sequence[Sequence[int]],
) -> set[_Pair]:
    """Return each group that stays so far with the nearest that does and may be joined with it.

    rows: of each group and of those that leave for it.
    """
    found = (
        (
            pair
            for pair in pairs
            if pair.staying not in covering
            and not _are_separated(view, rows[leaving], rows[pair.staying])
        )
        for leaving, pairs in candidates.items()
        if leaving not in covering
    )
    return {pair for staying in found for pair in islice(staying, 1)}


def _ask(
    view: TenantView,
    groups: Sequence[_Group],
    kind: str,
    pairs: Sequence[_Pair],
    find: Callable[[list[tuple[str, str]]], list[bool]],
) -> list[bool]:
    """Return the finding for the texts of each pair, (leaving, staying); kept ones are reused."""
    memories = [(groups[pair.leaving].memory, groups[pair.staying].memory) for pair in pairs]
    hashes = [[leaving.content_hash, staying.content_hash] for leaving, staying in memories]

    def find_unknown(places: Sequence[int]) -> list[bool]:
        ends = [
            (groups[pairs[at].leaving].rows[0], groups[pairs[at].staying].rows[0]) for at in places
        ]
        left, right = (view.text_of[list(rows)] for rows in zip(*ends, strict=True))
        order = _by_text(left, right).tolist()
        texts = [
            (leaving.content, staying.content)
            for leaving, staying in (memories[places[at]] for at in order)
        ]
        found = dict(zip(order, find(texts), strict=True))
        return [found[at] for at in range(len(places))]

    return view.cache.compute_unknown(kind, hashes, _IS_SO, find_unknown)


def _by_text(left: NDArray[np.int32], right: NDArray[np.int32]) -> NDArray[np.intp]:
    """Return an order of pairs of texts, shape (pairs,): those of one text are near.

    Readings of texts are cached for a while; in the order of rows, a large file would have each
    text read again for each of its pairs. The texts are numbered by reverse Cuthill-McKee (1969,
    "Reducing the bandwidth of sparse symmetric matrices"), which keeps the numbers of a pair close.
    """
    import numpy as np
    from scipy.sparse import coo_array
    from scipy.sparse.csgraph import reverse_cuthill_mckee

    texts, places = np.unique([left, right], return_inverse=True)
    count = len(texts)
    graph = coo_array((np.ones(len(left), np.int8), tuple(places)), shape=(count, count))
    order = reverse_cuthill_mckee((graph + graph.T).tocsr(), symmetric_mode=True)
    number = np.empty(count, dtype=np.int32)
    number[order] = np.arange(count, dtype=np.int32)
    ends = np.sort(number[places], axis=0)
    return np.lexsort((ends[1], ends[0]))


def _are_separated(view: TenantView, rows: Sequence[int], members: Sequence[int]) -> bool:
    separated = view.user_separated
    return bool(separated) and any(
        (view.memories[row].id, view.memories[member].id) in separated
        for row, member in product(rows, members)
    )


def _merges(groups: Sequence[_Group], survivors: _Survivors) -> list[Merge]:
    """Return one merge for each memory for which others leave."""
    leaving: dict[int, list[int]] = {}
    forms: dict[int, set[str]] = {}
    for place, group in enumerate(groups):
        staying = groups[survivors.get(place, place)]
        survivor = staying.rows[0]
        rows = group.leaving if group is staying else [group.rows[0], *group.leaving]
        if rows:
            leaving.setdefault(survivor, []).extend(rows)
            forms.setdefault(survivor, {staying.sameness.form}).add(group.sameness.form)
    return [Merge(row, rows, len(forms[row]) == 1) for row, rows in leaving.items()]


def _refusals(
    view: TenantView, groups: Sequence[_Group], pairs: Sequence[_Pair], survivors: _Survivors
) -> Iterator[Refusal]:
    """Yield the pairs that nearly say the same and stay separate, with what keeps them apart."""
    same_form: dict[str, list[int]] = {}
    for place, group in enumerate(groups):
        same_form.setdefault(group.sameness.form, []).append(place)
    twins = [pair for places in same_form.values() for pair in combinations(places, 2)]
    near = [
        (staying, leaving)
        for similarity, staying, leaving in pairs
        if similarity >= TWIN_SIMILARITY
        or _are_separated(view, groups[leaving].rows, groups[staying].rows)
    ]
    for staying, leaving in dict.fromkeys([*twins, *near]):
        if survivors.get(staying, staying) != survivors.get(leaving, leaving):
            there, here = groups[staying], groups[leaving]
            reason = _reason(view, there, here)
            if reason is not None:
                ids = here.memory.id, there.memory.id
                yield Refusal("merge", ids, *reason, view.tenant)


def _reason(view: TenantView, staying: _Group, leaving: _Group) -> tuple[str, str] | None:
    """Return what keeps two groups apart: its kind, and a sentence; None if it is the network."""
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
