"""What is said twice: who leaves, for whom, and which near pairs a veto keeps apart."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from datetime import datetime
from functools import cached_property
from itertools import combinations, product
from typing import NamedTuple

from msgspec.json import Decoder

from slowwave.consolidation.clustering.pair_order import order_pairs_by_text
from slowwave.consolidation.comparison.coverage import Coverage, first_veto, may_cover
from slowwave.consolidation.proposals import Proposal, Refusal
from slowwave.consolidation.thresholds import (
    DUPLICATE_SIMILARITY,
    MOST_NEAR,
    TWIN_SIMILARITY,
)
from slowwave.store.records import UNDATED

from .tenant_planner import TenantPlanner


class _Sameness(NamedTuple):
    """What memories have in common that are duplicates, whatever a network finds."""

    form: str
    # The names that they were stored with and that their texts do not mention.
    names: frozenset[str]
    # The day of a text that means something else on another day.
    day: str


class _NearGroups(NamedTuple):
    """Two groups with texts near each other: the places of both, the one that stays first."""

    similarity: float
    staying: int
    leaving: int


_IS_SO = Decoder(bool)
_VETO = Decoder(tuple[str, str] | None)


class Duplicates:
    """The duplicates of one tenant: equal after normalising, or near and entailed.

    Each memory leaves for one that stays, says all that it says, and is trusted as much.
    """

    def __init__(self, planner: TenantPlanner) -> None:
        """Take the planner of the tenant."""
        self._planner = planner
        self._view = planner.view
        self._coverage = Coverage()

    def propose(self) -> Iterator[Proposal]:
        """Propose one merge for each memory for which others leave."""
        may_leave = self._planner.may_leave
        leaving: dict[int, list[int]] = {}
        for place, rows in enumerate(self._groups):
            survivor = self._groups[self._survivors.get(place, place)][0]
            going = [row for row in rows if row != survivor and may_leave(row)]
            if going:
                leaving.setdefault(survivor, []).extend(going)
        for survivor, rows in leaving.items():
            yield from self._merge(survivor, rows)

    def refusals(self) -> Iterator[Refusal]:
        """Yield the pairs that nearly say the same and stay two, with what keeps them apart."""
        same_form: dict[str, list[int]] = {}
        for place, rows in enumerate(self._groups):
            same_form.setdefault(self._sameness(rows[0]).form, []).append(place)
        twins = [pair for places in same_form.values() for pair in combinations(places, 2)]
        near = [
            (staying, leaving)
            for similarity, staying, leaving in self._near
            if similarity >= TWIN_SIMILARITY or self._are_taken_apart(leaving, staying)
        ]
        survivors = self._survivors
        for staying, leaving in dict.fromkeys([*twins, *near]):
            if survivors.get(staying, staying) != survivors.get(leaving, leaving):
                yield from self._refusal(self._groups[staying][0], self._groups[leaving][0])

    @cached_property
    def _groups(self) -> list[list[int]]:
        """The active rows, those with one sameness together, those that stay first.

        What somebody took apart is in two groups.
        """
        found: dict[_Sameness, list[list[int]]] = {}
        active = (row for row, one in enumerate(self._view.memories) if one.status == "active")
        for row in sorted(active, key=self._rank):
            groups = found.setdefault(self._sameness(row), [])
            for group in groups:
                if not any(self._is_taken_apart(row, member) for member in group):
                    group.append(row)
                    break
            else:
                groups.append([row])
        return sorted((group for same in found.values() for group in same), key=self._group_rank)

    @cached_property
    def _near(self) -> list[_NearGroups]:
        """The pairs of groups with texts near each other, most similar first."""
        groups_of: list[set[int]] = [set() for _ in self._view.rows_of]
        text_of = self._view.text_of.tolist()
        for place, rows in enumerate(self._groups):
            for row in rows:
                groups_of[text_of[row]].add(place)
        near = self._view.neighbours.at_least(DUPLICATE_SIMILARITY).nearest(MOST_NEAR)
        columns = near.left.tolist(), near.right.tolist(), near.similarities.tolist()
        found: dict[tuple[int, int], float] = {}
        for left, right, similarity in zip(*columns, strict=True):
            for one, other in product(groups_of[left], groups_of[right]):
                if one != other:
                    pair = min(one, other), max(one, other)
                    found[pair] = max(similarity, found.get(pair, 0.0))
        pairs = (_NearGroups(round(one, 4), *pair) for pair, one in found.items())
        return sorted(pairs, key=lambda one: (-one.similarity, one.staying, one.leaving))

    @cached_property
    def _survivors(self) -> dict[int, int]:
        """The groups that leave, by their places, each with the group that it leaves for.

        What covers a group that covers another one covers that one, too.
        """
        near = [pair for pair in self._near if self._may_leave(pair)]
        candidates: dict[int, list[_NearGroups]] = {}
        for pair, is_open in zip(near, self._open(near), strict=True):
            if is_open:
                candidates.setdefault(pair.leaving, []).append(pair)
        covering: dict[int, int] = {}
        known: set[_NearGroups] = set()
        while asked := self._nearest(candidates, covering) - known:
            known |= asked
            in_order = sorted(asked)
            for pair, covered in zip(in_order, self._covered(in_order), strict=True):
                if covered:
                    covering[pair.leaving] = pair.staying
        survivors: dict[int, int] = {}
        for leaving in sorted(covering):
            staying = survivors.get(covering[leaving], covering[leaving])
            if not self._are_taken_apart(leaving, staying):
                survivors[leaving] = staying
        return survivors

    def _nearest(
        self, candidates: Mapping[int, Sequence[_NearGroups]], covering: Collection[int]
    ) -> set[_NearGroups]:
        """Return each group that stays so far with the nearest one that stays: the network's turn.

        Of one alone, since a question takes ten milliseconds.
        """
        nearest = (
            next((pair for pair in pairs if pair.staying not in covering), None)
            for leaving, pairs in candidates.items()
            if leaving not in covering
        )
        return {pair for pair in nearest if pair is not None}

    def _open(self, pairs: Sequence[_NearGroups]) -> list[bool]:
        """Whether nothing that can be looked up keeps what leaves from being covered."""
        return self._found("open", pairs, lambda texts: [may_cover(*pair) for pair in texts])

    def _covered(self, pairs: Sequence[_NearGroups]) -> list[bool]:
        """Whether the text that stays says all that the other says."""
        return self._found("covered", pairs, self._coverage.covered)

    def _found(
        self,
        kind: str,
        pairs: Sequence[_NearGroups],
        find: Callable[[list[tuple[str, str]]], list[bool]],
    ) -> list[bool]:
        """Return what is found, or known, of the texts of pairs, the one that leaves first."""
        view = self._view
        rows = [(self._groups[one.leaving][0], self._groups[one.staying][0]) for one in pairs]

        def work_out(places: Sequence[int]) -> list[bool]:
            # What was read of a text is at hand for all of its pairs.
            left, right = (view.text_of[[rows[at][end] for at in places]] for end in (0, 1))
            order = order_pairs_by_text(left, right, len(view.rows_of)).tolist()
            texts = [
                (view.memories[leaving].content, view.memories[staying].content)
                for leaving, staying in (rows[places[at]] for at in order)
            ]
            found = dict(zip(order, find(texts), strict=True))
            return [found[at] for at in range(len(places))]

        hashes = [[view.memories[row].content_hash for row in pair] for pair in rows]
        return view.cache.compute_unknown(kind, hashes, _IS_SO, work_out)

    def _may_leave(self, pair: _NearGroups) -> bool:
        """Whether nothing but their words can keep one group from leaving for another.

        What is trusted is not left to what is trusted less; what somebody took apart stays so.
        """
        row, survivor = self._groups[pair.leaving][0], self._groups[pair.staying][0]
        one, other = self._sameness(row), self._sameness(survivor)
        return (
            self._planner.may_leave(row)
            and self._view.is_fresh(row)
            and self._view.is_fresh(survivor)
            and self._view.memories[row].trust <= self._view.memories[survivor].trust
            and one.names == other.names
            and one.day in ("", other.day)
            and not self._are_taken_apart(pair.leaving, pair.staying)
        )

    def _rank(self, row: int) -> tuple[bool, float, bool, bool, bool, float, str]:
        """Return the order in which memories stay that say the same, the first first.

        One that may not leave, else the most trusted one; of equals a human's, then one that stands
        for others already, so that lineage does not grow by a step a night; then one that is not
        announced ("User said that"); then the newest.
        """
        memory = self._view.memories[row]
        return (
            self._planner.may_leave(row),
            -memory.trust,
            memory.origin != "human",
            memory.id not in self._merged,
            self._view.features(memory).announced,
            -datetime.fromisoformat(memory.observed_at).timestamp(),
            memory.id,
        )

    def _group_rank(self, group: Sequence[int]) -> tuple[bool, float, bool, int, str, str]:
        """Return the order in which groups stay: the same tomorrow, whatever was merged meanwhile.

        As of memories, but then the one that says most.
        """
        memory = self._view.memories[group[0]]
        text = self._view.features(memory)
        return (
            self._planner.may_leave(group[0]),
            -memory.trust,
            memory.origin != "human",
            -text.richness,
            text.form,
            memory.id,
        )

    @cached_property
    def _merged(self) -> frozenset[str]:
        return frozenset(one.derived_id for one in self._view.edges if one.operation == "merge")

    def _sameness(self, row: int) -> _Sameness:
        memory = self._view.memories[row]
        text = self._view.features(memory)
        if memory.id in self._view.dense:
            # An order, a capital or a blank in front of a line means much in code.
            lines = memory.content.strip("\n").splitlines()
            return _Sameness("\n".join(line.rstrip() for line in lines), self._names(row), "dense")
        day = memory.observed_at[:10] if memory.observed_at != UNDATED else memory.id
        return _Sameness(text.form, self._names(row), day if text.deictic else "")

    def _names(self, row: int) -> frozenset[str]:
        """Return the names that a memory was stored with, and that its text does not mention."""
        memory = self._view.memories[row]
        stored = self._view.entities.get(memory.id, ())
        mentioned = {name.casefold() for name in self._view.features(memory).names}
        return frozenset(name.casefold() for name in stored) - mentioned

    def _is_taken_apart(self, row: int, other: int) -> bool:
        """Whether a person restored one of two rows from a memory made of the other."""
        ids = self._view.memories[row].id, self._view.memories[other].id
        return ids in self._view.user_separated

    def _are_taken_apart(self, leaving: int, staying: int) -> bool:
        survivor = self._groups[staying][0]
        return any(self._is_taken_apart(row, survivor) for row in self._groups[leaving])

    def _refusal(self, staying: int, leaving: int) -> Iterator[Refusal]:
        view = self._view
        there, here = view.memories[staying], view.memories[leaving]
        names, others = self._names(leaving), self._names(staying)
        if self._is_taken_apart(staying, leaving):
            why = ("restored", "restored by hand against the memory that replaced it")
        elif names != others:
            why = ("entity", f"{_listed(names - others)} against {_listed(others - names)}")
        elif here.id in view.dense or there.id in view.dense:
            why = ("letter", "what is meant to the letter differs")
        elif self._sameness(staying).form == self._sameness(leaving).form:
            why = ("day", f"{here.observed_at[:10]} against {there.observed_at[:10]}")
        else:
            hashes = [here.content_hash, there.content_hash]
            veto = view.cache.get_or_compute(
                "veto", hashes, _VETO, lambda: _veto(here.content, there.content)
            )
            if veto is None:
                return
            why = veto
        yield Refusal("merge", (here.id, there.id), *why, view.tenant)

    def _merge(self, survivor: int, leaving: Sequence[int]) -> Iterator[Proposal]:
        ids = self._planner.ids([survivor, *leaving])
        forms = {self._sameness(row).form for row in (survivor, *leaving)}
        what = "say the same" if len(forms) == 1 else "of which one says all that the others say"
        reason = f"{len(ids)} memories, {what}" if len(forms) > 1 else f"{len(ids)} memories {what}"
        yield from self._planner.propose("merge", ids, ids[1:], reason, survivor=ids[0])


def _veto(said: str, premise: str) -> tuple[str, str] | None:
    veto = first_veto(said, premise)
    return None if veto is None else (veto.kind, veto.why)


def _listed(names: frozenset[str]) -> str:
    return ", ".join(sorted(names)) or "nothing"
