"""Proposals to synthesize: what is about one thing and not yet one memory."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import pairwise

from msgspec import Struct
from msgspec.json import Decoder

from slowwave.consolidation import thresholds
from slowwave.consolidation.proposals import Claim, Draft, Proposal, Source, Undecided
from slowwave.store.records import Memory

from .composition import (
    Composition,
    already_says,
    compose_growth,
    compose_synthesis,
    is_shorter,
)
from .estimates import estimate_undecided
from .merges import propose_covered
from .tenant_planner import TenantPlanner, most_common, similarities
from .topic_groups import TopicGroups
from .topics import shared_topics


class _Composed(Struct, array_like=True):
    """A composition by the places of its sources in the order of time."""

    # Each claim with the sources that it cites.
    claims: list[tuple[str, list[int]]]
    # Per source of which no sentence was kept, those that tell its sentences.
    covered_by: list[tuple[int, list[int]]]


_COMPOSED = Decoder(_Composed)


class Syntheses:
    """What becomes one memory, or joins one that was made before."""

    def __init__(self, planner: TenantPlanner, topic_groups: TopicGroups) -> None:
        """Take the planner of the tenant, with what is planned so far."""
        self._planner = planner
        self._view = planner.view
        self._topic_groups = topic_groups
        # Rows that join a memory made before, by its id.
        self._joining: dict[str, list[int]] = {}
        # Rows of groups that look like one thing and could not be joined, after `propose`.
        self._left: list[list[int]] = []

    def propose(self) -> Iterator[Proposal]:
        """Propose new memories, and what those that there are take in.

        What joins a memory made before does so at once, from whichever group it comes: a memory
        that grew by one proposal would make the next one stale.
        """
        planner = self._planner
        for group in self._topic_groups.groups:
            # Of all, whatever became of them since: so the next night leaves out the same.
            fresh = [row for row in self._without_look_alikes(group) if planner.is_open(row)]
            fresh = planner.in_time(self._without_opponents(fresh))
            derived_memories = self._derived_of(group)
            if derived_memories:
                yield from self._propose_merges_into_derived(derived_memories, fresh)
                fresh = self._assign_to_derived(
                    derived_memories, [row for row in fresh if planner.is_open(row)]
                )
            for part in _even_parts(fresh, thresholds.MOST_SOURCES):
                yield from self._propose_for_group(part)
        for derived in sorted(self._joining):
            rows = planner.in_time(self._joining[derived])
            yield from self._propose_growth(self._view.memory(derived), rows)

    def undecided(self) -> Iterator[Undecided]:
        """Yield what looks like one thing and cannot be joined without a model."""
        for rows in self._left:
            still = [row for row in rows if self._planner.is_open(row)]
            if len(still) > 1:
                yield self._undecided(still)

    def _undecided(self, rows: Sequence[int]) -> Undecided:
        """Return which memories look like one thing, and what the first lacks of the second."""
        ids = self._planner.ids(rows)
        sources = self._view.sources(ids)
        _, mean = similarities(sources)
        missing = self._planner.coverage.missing(sources[0], sources[1])
        return Undecided(tuple(ids), self._view.tenant, mean, missing, estimate_undecided(sources))

    def _propose_for_group(self, rows: list[int]) -> Iterator[Proposal]:
        """Propose what tells some rows once: a memory of which others say no more, or a new one.

        Merges leave fewer rows, of which a synthesis may then be worth it: so the next night finds
        nothing left to do.
        """
        planner = self._planner
        while len(rows) > 1:
            if self._is_decided(rows):
                planner.used.update(rows)
                return
            composed = self._compose(rows)
            written = list(self._propose_synthesis(rows, composed))
            yield from written
            if written:
                return
            yield from self._propose_merges(rows, composed)
            staying = [row for row in rows if planner.is_open(row)]
            if len(staying) == len(rows):
                self._left.append(rows)
                return
            rows = staying

    def _propose_merges(self, rows: list[int], composed: Composition) -> Iterator[Proposal]:
        """Merge memories into the one that tells all that they say."""
        planner = self._planner
        row_of = {planner.id(row): row for row in rows}
        into: dict[int, list[int]] = {}
        for row in filter(planner.may_leave, rows):
            covering = [row_of[one] for one in composed.covered_by.get(planner.id(row), ())]
            if len(covering) == 1 and planner.may_stand_for(covering[0], row):
                into.setdefault(covering[0], []).append(row)
        for survivor, leaving in into.items():
            yield from propose_covered(planner, survivor, leaving)

    def _without_opponents(self, rows: list[int]) -> list[int]:
        """Return the rows without those that stand against each other."""
        planner, opponents = self._planner, self._topic_groups.opponents
        ids = set(planner.ids(rows))
        return [row for row in rows if ids.isdisjoint(opponents.get(planner.id(row), ()))]

    def _without_look_alikes(self, rows: list[int]) -> list[int]:
        """Return the rows without those that look like others and differ from them in one thing."""
        pairs = self._planner.coverage.look_alikes(rows)
        while pairs:
            ((most, _),) = Counter(row for pair in pairs for row in pair).most_common(1)
            pairs = [pair for pair in pairs if most not in pair]
            rows = [row for row in rows if row != most]
        return rows

    def _derived_of(self, group: list[int]) -> list[Memory]:
        """Return the memories that were made of parts of the group, of the greatest part first.

        One that says what something was before takes in nothing else.
        """
        view = self._view
        derived_memories = Counter(
            view.derived_from[one] for one in self._planner.ids(group) if one in view.derived_from
        )
        made = (view.memory(one) for one in most_common(derived_memories))
        closed = view.updates.union(view.kept_as_is)
        return [memory for memory in made if memory.id not in closed]

    def _propose_merges_into_derived(
        self, derived_memories: list[Memory], fresh: list[int]
    ) -> Iterator[Proposal]:
        """Merge what a memory made before tells already into it."""
        planner = self._planner
        known: dict[str, list[int]] = {}
        for row in filter(planner.may_leave, fresh):
            source = self._view.source(row)
            covering = next((one for one in derived_memories if self._covers(one, source)), None)
            if covering is not None and not self._was_taken_out(covering.id, row):
                known.setdefault(covering.id, []).append(row)
                planner.used.add(row)
        for derived, rows in known.items():
            ids = planner.ids(rows)
            reason = f"{len(ids)} of the same matter, told already"
            yield from planner.propose("merge", [derived, *ids], ids, reason, survivor=derived)

    def _covers(self, derived: Memory, source: Source) -> bool:
        (derived_source,) = self._view.sources([derived.id])
        return already_says(derived_source, source, self._planner.coverage.find_covering)

    def _was_taken_out(self, survivor: str, row: int) -> bool:
        """Whether someone took a memory out again of the one that it would be merged into."""
        return (survivor, self._planner.id(row)) in self._view.taken_apart

    def _assign_to_derived(self, derived_memories: list[Memory], fresh: list[int]) -> list[int]:
        """Add fresh members to the first memory with room; return those that found none."""
        waiting = []
        for row in fresh:
            target = next((one.id for one in derived_memories if self._has_room(one, row)), None)
            if target is None:
                waiting.append(row)
            else:
                self._joining.setdefault(target, []).append(row)
                self._planner.used.add(row)
        return waiting

    def _has_room(self, derived: Memory, row: int) -> bool:
        joining = [*self._joining.get(derived.id, ()), row]
        # The derived memory counts, too: a proposal has so many sources at the most.
        if len(joining) >= thresholds.MOST_SOURCES:
            return False
        # What is told already takes no room; otherwise a second night would find some.
        (derived_source,) = self._view.sources([derived.id])
        sources = self._view.sources(self._planner.ids(joining))
        grown = compose_growth(derived_source, sources, self._planner.coverage.find_covering)
        return len(grown.claims) <= thresholds.MOST_CLAIMS

    def _propose_growth(self, derived: Memory, rows: list[int]) -> Iterator[Proposal]:
        """Propose that an earlier derived memory takes members in; its text stays word for word."""
        planner, view = self._planner, self._view
        ids = planner.ids(rows)
        derived_source, sources = view.sources([derived.id])[0], view.sources(ids)
        quoted = compose_growth(derived_source, sources, planner.coverage.find_covering)
        leaving = view.sources(planner.leaving(rows))
        if not _adds_little(quoted, derived_source, leaving):
            planner.used.difference_update(rows)
            return
        yield from planner.propose(
            "synthesize",
            [derived.id, *ids],
            planner.leaving(rows),
            f"{len(ids)} of the same matter, with something new",
            survivor=derived.id,
            draft=quoted,
            topics=shared_topics(view, rows),
        )

    def _compose(self, rows: list[int]) -> Composition:
        """Compose what some rows tell, in order of time; what an earlier night composed stands."""
        planner, view = self._planner, self._view
        ids, memories = planner.ids(rows), [view.memories[row] for row in rows]

        def work_out() -> _Composed:
            places = {one: at for at, one in enumerate(ids)}
            made = compose_synthesis(view.sources(ids), planner.coverage.find_covering)
            return _Composed(
                [(one.text, [places[id_] for id_ in one.sources]) for one in made.draft.claims],
                sorted(
                    (places[one], sorted(places[id_] for id_ in by))
                    for one, by in made.covered_by.items()
                ),
            )

        # A sentence that speaks of a day has that in front.
        said = [f"{one.content_hash} {one.observed_at}" for one in memories]
        found = view.cache.get_or_compute("composition", said, _COMPOSED, work_out)
        claims = (Claim(text, tuple(sorted(ids[at] for at in by))) for text, by in found.claims)
        covered_by = {ids[one]: frozenset(ids[at] for at in by) for one, by in found.covered_by}
        return Composition(Draft(tuple(claims)), covered_by)

    def _is_decided(self, rows: list[int]) -> bool:
        """Whether a synthesis of these rows was decided before: it is not composed again."""
        enough = len(rows) >= thresholds.SYNTHESIZE_SOURCES
        return enough and self._planner.is_decided("synthesize", self._planner.ids(rows))

    def _propose_synthesis(self, rows: list[int], composed: Composition) -> Iterator[Proposal]:
        planner, view = self._planner, self._view
        ids = planner.ids(rows)
        if len(rows) < thresholds.SYNTHESIZE_SOURCES:
            return
        leaving = planner.leaving(rows)
        if not is_shorter(composed.draft, view.sources(leaving)):
            return
        if len(set(ids) - composed.covered_by.keys()) < 2:
            return
        topics = shared_topics(view, rows)
        if topics:
            planner.used.update(rows)
            reason = f"{len(rows)} memories share {', '.join(topics)}"
            yield from planner.propose(
                "synthesize",
                ids,
                leaving,
                reason,
                draft=composed.draft,
                topics=topics,
            )


def _adds_little(draft: Draft, derived_source: Source, leaving: Sequence[Source]) -> bool:
    """Whether what a memory takes in is enough shorter than what goes for it."""
    added = len(draft.text) - len(derived_source.text)
    return added <= thresholds.SHORTER * sum(len(source.text) for source in leaving)


def _even_parts(rows: list[int], most: int) -> list[list[int]]:
    """Cut a long row of members into parts of about the same length, none above `most`."""
    count = max(1, -(-len(rows) // most))
    cuts = [len(rows) * part // count for part in range(count + 1)]
    return [rows[start:end] for start, end in pairwise(cuts)]
