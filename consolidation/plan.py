"""Clusters to proposals: everything that a run will do, decided before it does anything.

A pure function of what the file holds. What was observed is clustered, whatever became of it
since: superseded memories keep their place, so that the clusters of a second run are those of
the first, and something is proposed only for active memories that are not yet part of anything.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import pairwise

from slowwave.store.records import Memory

from . import thresholds
from .clusters import find_groups, split_group
from .extractive import Source, compose_rule, compose_synthesis, tells_already
from .guards import Objection, first_conflict
from .merges import NearPair, groups_of_same, near_pairs, refusals
from .population import Population
from .proposals import OPERATIONS, Claim, Draft, Operation, Plan, Proposal, Refusal, proposal_id
from .reading import Reading
from .topics import shared_topics

PairGuard = Callable[[Reading, Reading], Objection | None]

# A token is about four characters of English. What comes on top of the texts was measured on the
# prompts and schemas in `prompts`: the instructions, and the id, date and quotes of each source.
_CHARACTERS_A_TOKEN = 4
_TOKENS_OF_INSTRUCTIONS: dict[Operation, int] = {"merge": 194, "synthesize": 325, "extract": 233}
_TOKENS_A_SOURCE = 12


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
    proposals: list[Proposal] = []
    refused: list[Refusal] = []
    for population in populations:
        planner = _Planner(population, options)
        proposals += planner.merges()
        proposals += planner.rules()
        proposals += planner.syntheses()
        proposals += planner.judgements()
        refused += planner.refused()
    unique = {one.id: one for one in proposals if one.operation in options.only}
    standing = tuple(one for key, one in unique.items() if key not in options.remembered)
    return Plan(standing, tuple(refused))


class _Planner:
    """Makes the proposals of one tenant; each memory becomes part of one at the most.

    But for the survivor of a merge: what it says may go on into a synthesis.
    """

    def __init__(self, population: Population, options: PlanOptions) -> None:
        self._population = population
        self._options = options
        self._pairs: list[NearPair] = near_pairs(population)
        # Rows that belong to a rule, rows that leave by a merge or became part of a proposal.
        self._ruled: set[int] = set()
        self._used: set[int] = set()

    def merges(self) -> Iterator[Proposal]:
        """Propose what says the same."""
        for survivor, *others in groups_of_same(self._population, self._pairs, self._may_leave):
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
        ought = [
            row for row in range(len(population.memories)) if population.reading(row).normative
        ]
        for group in self._groups(ought, thresholds.EXTRACT_SIMILARITY, _plainly_conflicting):
            if len(group) < thresholds.EXTRACT_SOURCES:
                continue
            self._ruled.update(group)
            if not any(one in population.evidence for one in self._ids(group)):
                yield from self._rule([row for row in group if self._is_open(row)])

    def syntheses(self) -> Iterator[Proposal]:
        """Propose what is about one thing and not yet one memory."""
        rows = [row for row in range(len(self._population.memories)) if row not in self._ruled]
        for group in self._groups(rows, thresholds.SYNTHESIZE_SIMILARITY, first_conflict):
            fresh = [row for row in group if self._is_open(row)]
            owner = self._owner(group)
            if owner is not None:
                yield from self._joining(owner, group, fresh)
            elif len(fresh) >= thresholds.SYNTHESIZE_SOURCES:
                for part in _even_parts(self._in_time(fresh), thresholds.MOST_SOURCES):
                    yield from self._synthesis(part)

    def judgements(self) -> Iterator[Proposal]:
        """Propose near pairs that only a model can call the same, where there is one."""
        if self._options.extractive:
            return
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
            ids = list(draft.claims[0].sources)
        self._used.update(voices)
        reason = f"{len(ids)} memories of {len(sessions)} sessions voice one rule"
        yield self._proposal("extract", ids, [], reason, draft=draft)

    def _synthesis(self, rows: list[int]) -> Iterator[Proposal]:
        topics = shared_topics(self._population, rows)
        if topics:
            self._used.update(rows)
            reason = f"{len(rows)} memories share {', '.join(topics)}"
            yield self._written_anew(self._ids(rows), self._leaving(rows), reason, topics)

    def _joining(self, owner: Memory, group: list[int], fresh: list[int]) -> Iterator[Proposal]:
        """Take fresh members into the memory that was made of the others.

        What that one tells already is merged into it, and it stays word for word. What adds
        something makes it be written anew, unless it is a copy of a copy too often already.
        """
        known = [
            row
            for row in fresh
            if self._may_leave(row) and tells_already(owner.content, self._population.source(row))
        ]
        adding = [row for row in fresh if row not in known][: thresholds.MOST_SOURCES - 1]
        self._used.update(known)
        if known:
            ids = self._ids(known)
            reason = f"{len(ids)} of the same matter, told already"
            yield self._proposal("merge", [owner.id, *ids], ids, reason, survivor=owner.id)
        if adding and owner.generation < thresholds.MOST_GENERATIONS:
            self._used.update(adding)
            ids = [owner.id, *self._ids(adding)]
            reason = f"{len(adding)} of the same matter, with something new"
            topics = shared_topics(self._population, group)
            yield self._written_anew(ids, [owner.id, *self._leaving(adding)], reason, topics)

    def _written_anew(
        self, ids: list[str], leaving: list[str], reason: str, topics: tuple[str, ...]
    ) -> Proposal:
        draft = None
        if self._options.extractive:
            draft = compose_synthesis(self._population.sources(ids))
        return self._proposal("synthesize", ids, leaving, reason, draft=draft, topics=topics)

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
        if survivor is not None:
            staying = self._population.memory(survivor).content
            draft = Draft((Claim(staying, tuple(one.id for one in sources)),))
        hashes = tuple(self._population.memory(one.id).content_hash for one in sources)
        rows = [row for row in map(self._population.row, ids) if row is not None]
        return Proposal(
            id=proposal_id(
                operation,
                self._population.tenant,
                hashes,
                self._options.prompt_hashes[operation],
                self._options.writer,
            ),
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
            estimated_tokens=_estimated_tokens(operation, survivor, sources),
            draft=draft,
        )

    def _groups(
        self, rows: list[int], similarity: float, conflict: PairGuard
    ) -> Iterator[list[int]]:
        import numpy as np

        vectors = self._population.vectors[np.array(rows, dtype=np.intp)]
        for group in find_groups(vectors, similarity):
            near = vectors[group] @ vectors[group].T
            readings = [self._population.reading(rows[at]) for at in group]
            for part in split_group(near, similarity, partial(_in_conflict, conflict, readings)):
                yield [rows[group[at]] for at in part]

    def _owner(self, group: list[int]) -> Memory | None:
        """Give the memory that was made of most of the group, if one was."""
        owners = Counter(
            self._population.owners[one]
            for one in self._ids(group)
            if one in self._population.owners
        )
        if not owners:
            return None
        return self._population.memory(min(owners, key=lambda one: (-owners[one], one)))

    def _is_open(self, row: int) -> bool:
        return row not in self._used and self._population.is_fresh(row)

    def _may_leave(self, row: int) -> bool:
        memory = self._population.memories[row]
        if memory.id in self._population.evidence:
            return False
        return self._options.include_protected or not memory.protected

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
        near = self._population.vectors[rows] @ self._population.vectors[rows].T
        order = sorted(range(len(rows)), key=lambda at: (-near[at].sum(), rows[at]))
        return sorted(rows[at] for at in order[:most])


def _in_conflict(guard: PairGuard, readings: Sequence[Reading], one: int, other: int) -> bool:
    return guard(readings[one], readings[other]) is not None


def _plainly_conflicting(left: Reading, right: Reading) -> Objection | None:
    """Give the conflict of two voices of a rule only where they are nearly the same sentence.

    "Never push untested code" and "always run the tests before a push" are one rule, though one
    denies and the other does not; "push on Fridays" and "don't push on Fridays" are two.
    """
    shared, either = left.stem_set & right.stem_set, left.stem_set | right.stem_set
    alike = len(shared) >= thresholds.ALIKE_VOICES * len(either)
    return first_conflict(left, right) if alike else None


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
    """Estimate what a model would read and write for a proposal; nothing if none is needed."""
    if survivor is not None:
        return 0
    count = len(sources)
    texts = sum(len(source.text) for source in sources) // _CHARACTERS_A_TOKEN
    asked = _TOKENS_OF_INSTRUCTIONS[operation] + texts + _TOKENS_A_SOURCE * count
    answered = {
        "merge": 5,
        "synthesize": texts + 4 + 9 * count,  # the texts again, and where each comes from
        "extract": texts // count + 7 + 2 * count,  # one sentence, and who supports it
    }
    return asked + answered[operation]
