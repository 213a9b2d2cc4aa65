"""Clusters to proposals: everything that a run will do, decided before it does anything.

A pure function of what the file holds. What was observed is clustered, whatever became of it
since: superseded memories keep their place, so that the clusters of a second run are those of
the first, and something is proposed only for active memories that are not yet part of anything.
"""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from functools import cached_property, partial
from itertools import pairwise, permutations

from slowwave.store.records import Memory

from . import thresholds
from .asking.estimates import Question, estimate_pair, estimate_writing, shared_by_each
from .clusters import find_groups, split_group
from .extractive import (
    Source,
    compose_growth,
    compose_next_update,
    compose_rule,
    compose_synthesis,
    compose_update,
    supports,
    tells_already,
    voices,
)
from .guards import Objection, certain_conflict, first_conflict
from .language.reading import Reading, read
from .merges import NearPair, by_rank, groups_of_same, near_pairs, refusals
from .population import Population
from .proposals import (
    OPERATIONS,
    Claim,
    Draft,
    Operation,
    Plan,
    Proposal,
    Refusal,
    Suspicion,
    TooLong,
    proposal_id,
)
from .replacing.search import NOTHING, Search
from .replacing.told import Told, told_of
from .replacing.updates import Found, Replacement, Stage, find_updates
from .topics import shared_topics

PairGuard = Callable[[Reading, Reading], Objection | None]


@dataclass(frozen=True)
class PlanOptions:
    """What a plan depends on besides the file."""

    # The writer's name and the hash of its instructions per operation: part of every key.
    writer: str
    prompt_hashes: Mapping[Operation, str]
    # Whether the writer needs no model, so that the plan can show what it will write.
    extractive: bool
    only: frozenset[Operation] = frozenset(OPERATIONS)
    include_protected: bool = False
    # The keys of decisions that stand.
    remembered: frozenset[str] = frozenset()


def make_plan(populations: Iterable[Population], options: PlanOptions) -> Plan:
    """Decide all that is to be done, tenant by tenant, in the order in which it is to be done.

    The order of rows plays no part in it.
    """
    return joined(plan_tenant(population, options) for population in populations)


def plan_tenant(population: Population, options: PlanOptions) -> Plan:
    """Decide all that is to be done in one tenant, in the order in which it is to be done."""
    planner = _Planner(population, options)
    proposals = [
        *planner.merges(),
        *planner.rules(),
        *planner.updates(),
        *planner.syntheses(),
        *planner.judgements(),
    ]
    unique = {one.id: one for one in proposals if one.operation in options.only}
    return Plan(
        tuple(one for key, one in unique.items() if key not in options.remembered),
        tuple(planner.refused()),
        planner.found.conflicts,
        tuple(_suspicious(population)),
        tuple(TooLong(*_of(one), len(one.content)) for one in population.too_long),
        population.damaged,
    )


def joined(plans: Iterable[Plan]) -> Plan:
    """Give the plans of several tenants as one."""
    all_of = list(plans)
    return Plan(
        *(
            tuple(one for plan in all_of for one in getattr(plan, part.name))
            for part in fields(Plan)
        )
    )


class _Planner:
    """Makes the proposals of one tenant; each memory becomes part of one at the most.

    But for the survivor of a merge: what it says may go on into a synthesis.
    """

    def __init__(self, population: Population, options: PlanOptions) -> None:
        self._population = population
        self._options = options
        # Nothing in a planner refers to it: what it holds must go as soon as it does.
        self._rank = by_rank(population, partial(_may_leave, population, options))
        self._pairs: list[NearPair] = near_pairs(population, self._rank)
        # Rows that belong to a rule, rows that leave by a merge or became part of a proposal.
        self._ruled: set[int] = set()
        self._used: set[int] = set()
        # What commands its reader is never part of a group: only its duplicates become one.
        self._readable = [
            row for row, one in enumerate(population.memories) if one.id not in population.orders
        ]

    def merges(self) -> Iterator[Proposal]:
        """Propose what says the same."""
        for survivor, *others in groups_of_same(self._population, self._pairs, self._rank):
            leaving = [row for row in others if self._may_leave(row)]
            if leaving:
                self._used.update(leaving)
                yield self._proposal(
                    "merge",
                    self._ids([survivor, *leaving]),
                    self._ids(leaving),
                    f"{len(leaving) + 1} memories say the same",
                    survivor=self._ids([survivor])[0],
                )

    def rules(self) -> Iterator[Proposal]:
        """Propose what is said again and again as something that ought to be."""
        population = self._population
        ought = [row for row in self._readable if population.normative[population.text_of[row]]]
        for group in self._groups(ought, thresholds.EXTRACT_SIMILARITY, _plainly_conflicting):
            rules = Counter(
                population.evidence[one] for one in self._ids(group) if one in population.evidence
            )
            if rules:
                self._ruled.update(group)
                yield from self._more_evidence(_most_common(rules)[0], group)
            elif len(group) >= thresholds.EXTRACT_SOURCES:
                self._ruled.update(group)
                yield from self._rule([row for row in group if self._is_open(row)])

    def updates(self) -> Iterator[Proposal]:
        """Propose what gives one thing a new value, with what gave it the old one."""
        for replacement in self.found.replacements:
            yield from self._update(replacement)

    @cached_property
    def found(self) -> Found:
        """What replaces what, and what stands against each other, as far as texts tell.

        Asked for when merges and rules are planned: what became part of those is out of it.
        """
        population = self._population
        told = told_of(
            population,
            lambda row: self._is_open(row) and row not in self._ruled,
            lambda memory: population.gist(memory).sayings,
        )
        # Of two memories that were compared in an earlier night it is known.
        noted = population.memos.last("search", population.tenant)
        earlier = NOTHING if noted is None else Search.from_json(noted)
        found = find_updates(told, self._may_be_replaced, earlier)
        population.memos.note("search", population.tenant, found.search.to_json())
        return found

    @cached_property
    def _matters(self) -> list[list[int]]:
        """Groups of rows about one thing, rules aside."""
        rows = [row for row in self._readable if row not in self._ruled]
        similarity = thresholds.SYNTHESIZE_SIMILARITY
        return list(self._groups(rows, similarity, first_conflict))

    def syntheses(self) -> Iterator[Proposal]:
        """Propose what is about one thing and not yet one memory.

        What joins a memory made before does so at once, from whichever group it comes: a memory
        that grew by one proposal would make the next one stale.
        """
        joining: dict[str, list[int]] = {}
        for group in self._matters:
            fresh = self._in_time(self._agreeing([row for row in group if self._is_open(row)]))
            owners = self._owners(group)
            if owners:
                yield from self._told_already(owners, fresh)
                fresh = [row for row in fresh if self._is_open(row)]
                fresh = self._seated(owners, fresh, joining)
            if len(fresh) >= thresholds.SYNTHESIZE_SOURCES:
                for part in _even_parts(fresh, thresholds.MOST_SOURCES):
                    yield from self._synthesis(part)
        for owner in sorted(joining):
            yield self._growth(self._population.memory(owner), self._in_time(joining[owner]))

    def judgements(self) -> Iterator[Proposal]:
        """Propose near pairs that only a model can call the same, where there is one."""
        if self._options.extractive:
            return
        proposals = list(self._undecided())
        asked = sum(one.id not in self._options.remembered for one in proposals)
        for one in proposals:
            yield replace(one, estimated_tokens=one.estimated_tokens + shared_by_each(asked))

    def _undecided(self) -> Iterator[Proposal]:
        for pair in self._pairs:
            rows = [pair.left, pair.right]
            open_rows = all(self._is_open(row) and row not in self._ruled for row in rows)
            if pair.different or not open_rows or not all(map(self._may_leave, rows)):
                continue
            self._used.update(rows)
            ids = self._ids(rows)
            yield self._proposal("merge", ids, ids, "2 memories may say the same")

    def refused(self) -> list[Refusal]:
        """Give the near pairs that a guard kept apart."""
        return refusals(self._population, self._pairs)

    def _rule(self, voices: list[int]) -> Iterator[Proposal]:
        sessions = {self._session(row) for row in voices}
        enough = len(voices) >= thresholds.EXTRACT_SOURCES
        if not enough or len(sessions) < thresholds.EXTRACT_SESSIONS:
            return
        ids = self._ids(self._most_central(voices, thresholds.MOST_EVIDENCE))
        draft = None
        if self._options.extractive:
            draft = compose_rule(self._population.sources(ids))
            if draft is None:
                return
            rule, known = draft.claims[0].text, set(draft.claims[0].sources)
            rows = [row for row in voices if self._id(row) in known]
            # Else the next night would find that there is room for more.
            rows += self._voicing(rule, rows, self._in_time(list(set(voices) - set(rows))))
            ids = self._ids(sorted(rows))
            draft = Draft((Claim(rule, tuple(sorted(ids))),))
        self._used.update(voices)
        reason = f"{len(ids)} memories of {len(sessions)} sessions voice one rule"
        yield self._proposal("extract", ids, [], reason, draft=draft)

    def _more_evidence(self, rule_id: str, group: list[int]) -> Iterator[Proposal]:
        """Let a rule rest on what voices it too, in sessions that it has no voice of yet."""
        population = self._population
        waiting = self._in_time([row for row in group if self._is_open(row)])
        if not waiting or rule_id in population.orders:
            return
        rule = population.memory(rule_id)
        voicing = self._voicing(rule.content, self._evidence_of[rule_id], waiting, rule_id)
        if voicing:
            self._used.update(voicing)
            ids = [rule_id, *self._ids(voicing)]
            reason = f"{len(voicing)} more memories voice the rule"
            draft = Draft((Claim(rule.content, tuple(sorted(ids))),))
            yield self._proposal("extract", ids, [], reason, survivor=rule_id, draft=draft)

    def _voicing(
        self, rule: str, known: list[int], waiting: list[int], rule_id: str | None = None
    ) -> list[int]:
        """Give the rows that voice a rule in sessions that it has no voice of yet."""
        population = self._population
        sessions = {self._session(row) for row in known}
        # The vector of the voice that became the rule: the one by which its evidence was chosen.
        voice = next((row for row in known if voices(rule, population.source(row))), None)
        if voice is not None:
            chosen = population.source(voice)
        elif rule_id is not None:
            chosen = population.sources([rule_id])[0]
        else:
            return []
        return [
            row
            for row in waiting
            if self._session(row) not in sessions and supports(rule, chosen, population.source(row))
        ][: max(0, thresholds.MOST_EVIDENCE - len(known))]

    @cached_property
    def _evidence_of(self) -> dict[str, list[int]]:
        """The rows that each rule rests on."""
        rows: dict[str, list[int]] = {}
        for row, memory in enumerate(self._population.memories):
            if memory.id in self._population.evidence:
                rows.setdefault(self._population.evidence[memory.id], []).append(row)
        return rows

    def _update(self, replacement: Replacement) -> Iterator[Proposal]:
        owners = [
            one.memory.id
            for stage in replacement.stages
            for one in stage.told
            if one.memory.id in self._population.updates
        ]
        oldest = {one.memory.id for one in replacement.stages[-1].told}
        # What was said before it has no place in a text that stands in order of time.
        if len(owners) > 1 or not oldest.issuperset(owners):
            return
        stages = self._widened(replacement.stages)
        ids = [[memory_id for memory_id in stage if memory_id not in owners] for stage in stages]
        everyone = [memory_id for stage in stages for memory_id in stage]
        decided = self._is_decided("update", everyone)
        draft = None if decided else self._update_draft(owners, ids)
        if not decided and draft is None:
            return
        rows = map(self._population.row, everyone)
        self._used.update(row for row in rows if row is not None)
        if decided:
            return
        memories = [self._population.memory(one) for stage in ids for one in stage]
        yield self._proposal(
            "update",
            everyone,
            [memory.id for memory in memories if self._may_be_replaced(memory)],
            f"a newer {replacement.slot}: {' after '.join(replacement.values)}",
            survivor=owners[0] if owners else None,
            draft=draft,
        )

    def _agreeing(self, rows: list[int]) -> list[int]:
        """Give the rows without those that stand against each other."""
        ids = set(self._ids(rows))
        return [row for row in rows if ids.isdisjoint(self._opponents.get(self._id(row), ()))]

    @cached_property
    def _opponents(self) -> dict[str, set[str]]:
        """The memories that each one stands against."""
        opponents: dict[str, set[str]] = {}
        for conflict in self.found.conflicts:
            for one, other in permutations(conflict.sources):
                opponents.setdefault(one, set()).add(other)
        return opponents

    def _update_draft(self, owners: list[str], stages: list[list[str]]) -> Draft | None:
        """Write what is so now and what was before; None if it has no place to stand."""
        sources = [self._population.sources(stage) for stage in stages if stage]
        if not owners:
            return compose_update(sources)
        newer = self._population.sources(stages[-2])
        owner = self._population.sources(owners)[0]
        draft = compose_next_update(owner, sources, newer)
        return draft if len(read(draft.text).sentences) <= thresholds.MOST_CLAIMS else None

    def _widened(self, stages: Sequence[Stage]) -> list[list[str]]:
        """Give the ids of each value's memories, with other wordings that lie near them."""
        taken = {one.memory.id for stage in stages for one in stage.told}
        room = thresholds.MOST_SOURCES - len(taken)
        widened = []
        for number, stage in enumerate(stages):
            after = stages[number + 1].told[-1].moment if number + 1 < len(stages) else ("", "")
            until = stages[number - 1].start if number else None
            more = [
                memory_id
                for memory_id in self._wordings(stage, after, until)
                if memory_id not in taken
            ][: max(0, room)]
            taken.update(more)
            room -= len(more)
            widened.append([*(one.memory.id for one in stage.told), *more])
        return widened

    def _wordings(
        self, stage: Stage, after: tuple[str, str], until: tuple[str, str] | None
    ) -> Iterator[str]:
        """Give open memories of the same groups that say nothing else, from `after` until then."""
        rows = (self._population.row(one.memory.id) for one in stage.told)
        groups = {self._matter_of[row] for row in rows if row in self._matter_of}
        for number in sorted(groups):
            for row in filter(self._is_open, self._matters[number]):
                memory = self._population.memories[row]
                one = Told(memory, self._population.gist(memory).sayings, open=True)
                fits = after < one.moment and (until is None or one.moment < until)
                if fits and one.states_nothing_else(stage.keys):
                    yield one.memory.id

    @cached_property
    def _matter_of(self) -> dict[int | None, int]:
        """The group that each row is in."""
        return {row: number for number, group in enumerate(self._matters) for row in group}

    def _synthesis(self, rows: list[int]) -> Iterator[Proposal]:
        if self._is_decided("synthesize", self._ids(rows)):
            self._used.update(rows)
            return
        topics = shared_topics(self._population, rows)
        if topics:
            self._used.update(rows)
            reason = f"{len(rows)} memories share {', '.join(topics)}"
            ids = self._ids(rows)
            draft = None
            if self._options.extractive:
                draft = compose_synthesis(self._population.sources(ids))
            leaving = self._leaving(rows)
            yield self._proposal("synthesize", ids, leaving, reason, draft=draft, topics=topics)

    def _told_already(self, owners: list[Memory], fresh: list[int]) -> Iterator[Proposal]:
        """Merge what a memory made before tells already into it."""
        known: dict[str, list[int]] = {}
        for row in filter(self._may_leave, fresh):
            source = self._population.source(row)
            teller = next((one for one in owners if tells_already(one.content, source)), None)
            if teller is not None:
                known.setdefault(teller.id, []).append(row)
                self._used.add(row)
        for owner, rows in known.items():
            ids = self._ids(rows)
            reason = f"{len(ids)} of the same matter, told already"
            yield self._proposal("merge", [owner, *ids], ids, reason, survivor=owner)

    def _seated(
        self, owners: list[Memory], fresh: list[int], joining: dict[str, list[int]]
    ) -> list[int]:
        """Let the first memory with room take fresh members in; give those that find none."""
        waiting = []
        for row in fresh:
            home = next((one.id for one in owners if self._has_room(one, row, joining)), None)
            if home is None:
                waiting.append(row)
            else:
                joining.setdefault(home, []).append(row)
                self._used.add(row)
        return waiting

    def _has_room(self, owner: Memory, row: int, joining: dict[str, list[int]]) -> bool:
        guests = [*joining.get(owner.id, ()), row]
        # One seat is the owner's: a proposal has so many sources at the most.
        if len(guests) >= thresholds.MOST_SOURCES:
            return False
        sentences = sum(len(self._population.reading(guest).sentences) for guest in guests)
        return len(read(owner.content).sentences) + sentences <= thresholds.MOST_CLAIMS

    def _growth(self, owner: Memory, rows: list[int]) -> Proposal:
        """Let a memory made before take members in; what stands in it stays word for word."""
        ids = self._ids(rows)
        draft = None
        if self._options.extractive:
            standing = self._population.sources([owner.id])[0]
            draft = compose_growth(standing, self._population.sources(ids))
        return self._proposal(
            "synthesize",
            [owner.id, *ids],
            self._leaving(rows),
            f"{len(ids)} of the same matter, with something new",
            survivor=owner.id,
            draft=draft,
            topics=shared_topics(self._population, rows),
        )

    def _proposal(
        self,
        operation: Operation,
        ids: Sequence[str],
        leaving: Sequence[str],
        reason: str,
        survivor: str | None = None,
        draft: Draft | None = None,
        topics: tuple[str, ...] = (),
    ) -> Proposal:
        sources = self._population.sources(sorted(ids))
        lowest, mean = _similarities(sources)
        if operation == "merge" and survivor is not None:
            staying = self._population.memory(survivor).content
            draft = Draft((Claim(staying, tuple(one.id for one in sources)),))
        takes_in = operation in ("merge", "extract") and survivor is not None
        decided = operation == "update" or takes_in
        hashes = tuple(self._population.memory(one.id).content_hash for one in sources)
        rows = [row for row in map(self._population.row, ids) if row is not None]
        return Proposal(
            id=self._key(operation, ids),
            operation=operation,
            tenant=self._population.tenant,
            sources=tuple(one.id for one in sources),
            source_hashes=hashes,
            leaving=tuple(sorted(leaving)),
            survivor=survivor,
            entities=topics or shared_topics(self._population, rows),
            min_similarity=lowest,
            mean_similarity=mean,
            reason=f"{reason}, mean similarity {mean:.2f}",
            estimated_tokens=0 if decided else _estimated_tokens(operation, survivor, sources),
            draft=draft,
        )

    def _is_decided(self, operation: Operation, ids: Sequence[str]) -> bool:
        """Whether what would be proposed was decided before: it need not be written out again."""
        return self._key(operation, ids) in self._options.remembered

    def _key(self, operation: Operation, ids: Sequence[str]) -> str:
        hashes = tuple(self._population.memory(one).content_hash for one in sorted(ids))
        prompt, writer = self._options.prompt_hashes[operation], self._options.writer
        return proposal_id(operation, self._population.tenant, hashes, prompt, writer)

    def _groups(
        self, rows: Iterable[int], similarity: float, conflict: PairGuard
    ) -> Iterator[list[int]]:
        """Give groups of rows about one thing, those with one text side by side."""
        import numpy as np

        population = self._population
        chosen = np.zeros(len(population.rows_of), dtype=bool)
        chosen[population.text_of[list(rows)]] = True
        near = population.neighbours
        near = near.chosen(chosen[near.left] & chosen[near.right])
        for group in find_groups(population.text_vectors, near, similarity):
            for part in self._split(group, similarity, conflict):
                yield sorted(row for text in part for row in population.rows_of[text])

    def _split(
        self, group: list[int], similarity: float, conflict: PairGuard
    ) -> Iterator[list[int]]:
        """Split a group of texts where a guard finds a conflict."""
        population = self._population
        firsts = [population.rows_of[text][0] for text in group]
        vectors = population.text_vectors[group]

        def work_out() -> list[list[int]]:
            readings = [population.reading(row) for row in firsts]
            return split_group(
                vectors @ vectors.T, similarity, partial(_in_conflict, conflict, readings)
            )

        # How texts are split depends on where they lie, too.
        hashes = [population.memories[row].content_hash for row in firsts]
        hashes.append(hashlib.sha256(vectors.tobytes()).hexdigest())
        kind = f"split {conflict.__name__} {similarity}"
        for part in population.memos.recall(kind, hashes, work_out):
            yield [group[at] for at in part]

    def _owners(self, group: list[int]) -> list[Memory]:
        """Give the memories that were made of parts of the group, of the greatest part first.

        One that says what something was before takes in nothing else.
        """
        owners = Counter(
            self._population.owners[one]
            for one in self._ids(group)
            if one in self._population.owners
        )
        made = (self._population.memory(one) for one in _most_common(owners))
        closed = self._population.updates.union(self._population.orders)
        return [memory for memory in made if memory.id not in closed]

    def _is_open(self, row: int) -> bool:
        return row not in self._used and self._population.is_fresh(row)

    def _may_leave(self, row: int) -> bool:
        return _may_leave(self._population, self._options, row)

    def _may_be_replaced(self, memory: Memory) -> bool:
        return _may_be_replaced(self._population, self._options, memory)

    def _leaving(self, rows: list[int]) -> list[str]:
        return self._ids([row for row in rows if self._may_leave(row)])

    def _id(self, row: int) -> str:
        return self._population.memories[row].id

    def _ids(self, rows: Sequence[int]) -> list[str]:
        return [self._id(row) for row in rows]

    def _session(self, row: int) -> str:
        memory = self._population.memories[row]
        # Without a session, what was said on one day counts as one occasion.
        return memory.session or memory.observed_at[:10]

    def _in_time(self, rows: list[int]) -> list[int]:
        memories = self._population.memories
        return sorted(rows, key=lambda row: (memories[row].observed_at, memories[row].id))

    def _most_central(self, rows: list[int], most: int) -> list[int]:
        vectors = self._population.vectors(rows)
        near = vectors @ vectors.T
        order = sorted(range(len(rows)), key=lambda at: (-near[at].sum(), rows[at]))
        return sorted(rows[at] for at in order[:most])


def _may_leave(population: Population, options: PlanOptions, row: int) -> bool:
    return _may_be_replaced(population, options, population.memories[row])


def _may_be_replaced(population: Population, options: PlanOptions, memory: Memory) -> bool:
    if memory.id in population.evidence:
        return False
    return options.include_protected or not memory.protected


def _suspicious(population: Population) -> Iterator[Suspicion]:
    for memory in (*population.memories, *population.derived):
        if memory.status == "active" and memory.id in population.orders:
            yield Suspicion(*_of(memory), population.orders[memory.id][0])


def _of(memory: Memory) -> tuple[str, str]:
    return memory.id, memory.tenant


def _most_common(counts: Counter[str]) -> list[str]:
    return sorted(counts, key=lambda one: (-counts[one], one))


def _in_conflict(guard: PairGuard, readings: Sequence[Reading], one: int, other: int) -> bool:
    return guard(readings[one], readings[other]) is not None


def _plainly_conflicting(left: Reading, right: Reading) -> Objection | None:
    """Give the conflict of two voices of a rule only where they are nearly the same sentence.

    "Never push untested code" and "always run the tests before a push" are one rule, though one
    denies and the other does not; "push on Fridays" and "don't push on Fridays" are two.
    """
    shared, either = left.stem_set & right.stem_set, left.stem_set | right.stem_set
    alike = len(shared) >= thresholds.ALIKE_VOICES * len(either)
    return certain_conflict(left, right) if alike else None


def _even_parts(rows: list[int], most: int) -> list[list[int]]:
    """Cut a long row of members into parts of about the same length, none above `most`."""
    count = -(-len(rows) // most)
    cuts = [len(rows) * part // count for part in range(count + 1)]
    return [rows[start:end] for start, end in pairwise(cuts)]


def _similarities(sources: Sequence[Source]) -> tuple[float, float]:
    """Give the lowest and the mean similarity of the pairs, to four places."""
    import numpy as np

    vectors = np.stack([source.vector for source in sources])
    pairs = (vectors @ vectors.T)[np.triu_indices(len(sources), k=1)]
    return round(float(pairs.min()), 4), round(float(pairs.mean()), 4)


def _estimated_tokens(operation: Operation, survivor: str | None, sources: Sequence[Source]) -> int:
    """Estimate what a model would read and write for a proposal.

    For a pair that is to be judged, without its share of the instructions: they are for many.
    """
    if operation == "merge":
        return estimate_pair(sources).total
    if operation == "extract":
        return estimate_writing("extract", sources).total
    question: Question = "synthesize" if survivor is None else "grow"
    owner_first = sorted(sources, key=lambda source: source.id != survivor)
    return estimate_writing(question, owner_first).total
