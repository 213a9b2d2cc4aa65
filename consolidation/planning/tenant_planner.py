"""The planner of one tenant: what is part of the plan already, and how a proposal is made."""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial

from msgspec.json import Decoder

from slowwave.consolidation.clustering.groups import find_groups, split_group
from slowwave.consolidation.comparison.coverage import Coverage
from slowwave.consolidation.comparison.objections import Objection
from slowwave.consolidation.options import PlanOptions
from slowwave.consolidation.proposals import (
    Claim,
    Draft,
    Operation,
    Proposal,
    Source,
    Undecided,
    proposal_id,
)
from slowwave.consolidation.snapshot.tenant_view import TenantView
from slowwave.consolidation.text.reading import Reading, read
from slowwave.store.records import UNDATED, Memory, content_hash

from .composition import method_key
from .estimates import estimate_undecided
from .topics import shared_topics

# The members of each part of a group, by their places in it.
_PARTS = Decoder(list[list[int]])
# Who tells a sentence, by its place; nobody if empty.
_PLACE = Decoder(list[int])
_WHY = Decoder(str)
_LIKELIHOOD = Decoder(float)
# Pairs of texts, by their places.
_PAIRS = Decoder(list[tuple[int, int]])

# What is composed without a model, and a model may do better.
_WAITING = ("synthesize", "extract")

PairGuard = Callable[[Reading, Reading], Objection | None]


class TenantPlanner:
    """What planning knows so far; each memory becomes part of one proposal at the most.

    But for the survivor of a merge: what it says may go on into a synthesis.
    """

    def __init__(self, view: TenantView, options: PlanOptions) -> None:
        """Begin with all memories free."""
        self.view = view
        self.options = options
        self._coverage = Coverage()
        # Rows that belong to a rule, rows that leave by a merge or became part of a proposal.
        self.ruled: set[int] = set()
        self.used: set[int] = set()
        # What commands its reader, and what is meant to the letter, is never part of a group: only
        # its duplicates become one. Nor is "yesterday" of a day that nobody knows.
        self.readable = [
            row
            for row, one in enumerate(view.memories)
            if one.id not in view.kept_as_is
            and not (one.observed_at == UNDATED and view.reading(row).deictic)
        ]

    def is_open(self, row: int) -> bool:
        """Whether a memory may become part of a proposal."""
        return row not in self.used and self.view.is_fresh(row)

    def may_leave(self, row: int) -> bool:
        """Whether a memory may be superseded."""
        return self.may_be_replaced(self.view.memories[row])

    def may_be_replaced(self, memory: Memory) -> bool:
        """Whether a memory, observed or derived, may be superseded."""
        if memory.id in self.view.supported_rule:
            return False
        return self.options.include_protected or not memory.protected

    def may_stand_for(self, survivor: int, row: int) -> bool:
        """Whether a memory may take another's place, if it says as much.

        What is trusted is not left to what is trusted less; what somebody took apart stays so.
        """
        one, other = self.view.memories[survivor], self.view.memories[row]
        return one.trust >= other.trust and (one.id, other.id) not in self.view.taken_apart

    def id(self, row: int) -> str:
        """Return the id of a row."""
        return self.view.memories[row].id

    def ids(self, rows: Sequence[int]) -> list[str]:
        """Return the ids of rows."""
        return [self.id(row) for row in rows]

    def leaving(self, rows: Sequence[int]) -> list[str]:
        """Return the ids of those of the rows that may be superseded."""
        return self.ids([row for row in rows if self.may_leave(row)])

    def in_time(self, rows: Sequence[int]) -> list[int]:
        """Return rows in the order in which they were observed."""
        memories = self.view.memories
        return sorted(rows, key=lambda row: (memories[row].observed_at, memories[row].id))

    def groups(
        self, rows: Iterable[int], similarity: float, conflict: PairGuard
    ) -> Iterator[list[int]]:
        """Yield groups of rows about one thing, those with one text side by side."""
        import numpy as np

        view = self.view
        chosen = np.zeros(len(view.rows_of), dtype=bool)
        chosen[view.text_of[list(rows)]] = True
        near = view.neighbours
        near = near.chosen(chosen[near.left] & chosen[near.right])
        for group in find_groups(view.text_vectors, near, similarity):
            for part in self._split(group, similarity, conflict):
                yield sorted(row for text in part for row in view.rows_of[text])

    def _split(
        self, group: list[int], similarity: float, conflict: PairGuard
    ) -> Iterator[list[int]]:
        """Split a group of texts where a guard finds a conflict."""
        view = self.view
        firsts = [view.rows_of[text][0] for text in group]
        vectors = view.text_vectors[group]

        def work_out() -> list[list[int]]:
            readings = [view.reading(row) for row in firsts]
            return split_group(
                vectors @ vectors.T, similarity, partial(_in_conflict, conflict, readings)
            )

        # How texts are split depends on where they lie, too.
        hashes = [view.memories[row].content_hash for row in firsts]
        hashes.append(hashlib.sha256(vectors.tobytes()).hexdigest())
        kind = f"split {conflict.__name__} {similarity}"
        for part in view.cache.get_or_compute(kind, hashes, _PARTS, work_out):
            yield [group[at] for at in part]

    def find_covering(self, said: Reading, kept: Sequence[Reading]) -> int | None:
        """Find a sentence that says all that another says, by its place; None if there is none.

        What was found in an earlier night is not looked for again.
        """
        if not kept:
            return None
        hashes = [content_hash(text) for text in (said.text, *(one.text for one in kept))]
        found = self.view.cache.get_or_compute(
            "teller", hashes, _PLACE, lambda: _listed(self._coverage.find_covering(said, kept))
        )
        return found[0] if found else None

    def likelihood(self, said: str, premise: str) -> float:
        """Return how likely it is that one text says all that another says.

        What was found in an earlier night is not looked for again.
        """
        hashes = [content_hash(text) for text in (said, premise)]
        return self.view.cache.get_or_compute(
            "likelihood", hashes, _LIKELIHOOD, lambda: self._coverage.likelihood(said, premise)
        )

    def look_alikes(self, rows: Sequence[int]) -> list[tuple[int, int]]:
        """Find pairs of rows that nearly say the same and differ in one thing."""
        texts = [self.view.reading(row) for row in rows]
        hashes = [self.view.memories[row].content_hash for row in rows]
        found = self.view.cache.get_or_compute(
            "look-alikes", hashes, _PAIRS, lambda: self._coverage.look_alikes(texts)
        )
        return [(rows[one], rows[other]) for one, other in found]

    def undecided(self, rows: Sequence[int]) -> Undecided:
        """Return which memories look like one thing, and what the first lacks of the second."""
        sources = self.view.sources(self.ids(rows))
        _, mean = similarities(sources)
        return Undecided(
            tuple(self.ids(rows)),
            self.view.tenant,
            mean,
            self._lacking(sources[0], sources[1]),
            estimate_undecided(sources),
        )

    def _lacking(self, here: Source, there: Source) -> str:
        """Return what one memory says and another does not."""
        hashes = [content_hash(one.text) for one in (here, there)]
        return self.view.cache.get_or_compute(
            "lacking",
            hashes,
            _WHY,
            lambda: self._coverage.missing(read(here.text), read(there.text)),
        )

    def is_decided(self, operation: Operation, ids: Sequence[str]) -> bool:
        """Whether what would be proposed was decided before, or waits: it is not written again."""
        return self._key(operation, ids) in self.options.remembered

    def propose(
        self,
        operation: Operation,
        ids: Sequence[str],
        leaving: Sequence[str],
        reason: str,
        survivor: str | None = None,
        draft: Draft | None = None,
        topics: tuple[str, ...] = (),
    ) -> Iterator[Proposal]:
        """Yield a proposal of memories, observed or derived, of which some are to be superseded.

        What was decided before is not proposed again. A merge needs no draft: the survivor stays,
        word for word.
        """
        if self.is_decided(operation, ids):
            return
        sources = self.view.sources(sorted(ids))
        lowest, mean = similarities(sources)
        if draft is None:
            if survivor is None:
                raise ValueError(f"a {operation} without a survivor needs a draft")
            staying = self.view.memory(survivor).content
            draft = Draft((Claim(staying, tuple(one.id for one in sources)),))
        hashes = tuple(self.view.memory(one.id).content_hash for one in sources)
        rows = [row for row in map(self.view.row, ids) if row is not None]
        yield Proposal(
            id=self._key(operation, ids),
            operation=operation,
            tenant=self.view.tenant,
            sources=tuple(one.id for one in sources),
            source_hashes=hashes,
            leaving=tuple(sorted(leaving)),
            survivor=survivor,
            topics=topics or shared_topics(self.view, rows),
            min_similarity=lowest,
            mean_similarity=mean,
            reason=f"{reason}, mean similarity {mean:.2f}",
            draft=draft,
            waits=operation in _WAITING and self.options.model_key is not None,
        )

    def merge(self, survivor: int, leaving: Sequence[int]) -> Iterator[Proposal]:
        """Propose that some rows leave for one that says all that they say."""
        self.used.update(leaving)
        ids = self.ids([survivor, *leaving])
        reason = f"{len(ids)} memories, of which one says all that the others say"
        yield from self.propose("merge", ids, ids[1:], reason, survivor=ids[0])

    def _key(self, operation: Operation, ids: Sequence[str]) -> str:
        hashes = tuple(self.view.memory(one).content_hash for one in sorted(ids))
        key = method_key(operation)
        return proposal_id(operation, self.view.tenant, hashes, key, "extractive")


def _listed(place: int | None) -> list[int]:
    return [] if place is None else [place]


def most_common(counts: Counter[str]) -> list[str]:
    """Return what was counted, the most common first; of equals the first of the alphabet."""
    return sorted(counts, key=lambda one: (-counts[one], one))


def _in_conflict(guard: PairGuard, readings: Sequence[Reading], one: int, other: int) -> bool:
    return guard(readings[one], readings[other]) is not None


def similarities(sources: Sequence[Source]) -> tuple[float, float]:
    """Return the lowest and the mean similarity of the pairs, to four places."""
    import numpy as np

    vectors = np.stack([source.vector for source in sources])
    pairs = (vectors @ vectors.T)[np.triu_indices(len(sources), k=1)]
    return round(float(pairs.min()), 4), round(float(pairs.mean()), 4)
