"""From a plan to drafts that were checked: what a run writes, before it is applied."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from datetime import datetime
from itertools import zip_longest
from typing import TYPE_CHECKING

from slowwave.consolidation.errors import EmbedderError
from slowwave.consolidation.planning.extractive import in_time
from slowwave.consolidation.proposals import Draft, Plan, Proposal, Source, Written
from slowwave.consolidation.snapshot.population import Population
from slowwave.consolidation.text.reading import read
from slowwave.consolidation.vectors.embedder import BATCH, Embedder
from slowwave.consolidation.vectors.prefetch import PrefetchedVectors
from slowwave.consolidation.verification.quotes import find_unquoted
from slowwave.consolidation.verification.verify import find_distance, find_faults
from slowwave.store.file import MemoryFile
from slowwave.store.ledger import Answer, KeptAnswer, keep_answers, read_answer
from slowwave.store.records import timestamp

from .writer import (
    TOGETHER,
    Answers,
    Check,
    ExtractiveWriter,
    Job,
    Writer,
    portions,
)

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


class Drafting:
    """Has the proposals of a plan written, and checks each draft."""

    def __init__(self, embedder: Embedder, writer: Writer) -> None:
        """Take who writes, and what turns drafts into vectors."""
        self._embedder = embedder
        self._writer = writer
        # Of drafts that passed the check, by proposal: to be kept with the memory.
        self.vectors: dict[str, NDArray[np.float32]] = {}

    def written(
        self, file: MemoryFile, plan: Plan, populations: Sequence[Population], now: datetime
    ) -> Iterator[Sequence[Written]]:
        """Give each proposal with its draft, or with the reason why there is none, some at once."""
        by_tenant = {population.tenant: population for population in populations}
        drafted: list[Job] = []
        open_jobs: list[Job] = []
        as_it_stands: list[Written] = []
        for proposal in plan.proposals:
            if proposal.keeps_text:
                as_it_stands.append(Written(proposal, proposal.draft, "planned"))
                continue
            sources = by_tenant[proposal.tenant].sources(proposal.sources)
            jobs = open_jobs if proposal.needs_writer else drafted
            jobs.append(Job(proposal, tuple(in_time(sources))))
        if drafted or open_jobs:
            self._refuse_another_space((drafted or open_jobs)[0].sources[0])
        yield as_it_stands
        answers = _KeptAnswers(file, now)
        yield from self._of_the_plan(drafted, answers)
        if open_jobs:
            yield from self._writer.write(open_jobs, self._check_of_answers(open_jobs), answers)

    def _of_the_plan(self, jobs: Sequence[Job], answers: Answers) -> Iterator[Sequence[Written]]:
        """Write what the plan holds the draft of; that needs no model."""
        writer = self._writer if self._writer.model is None else ExtractiveWriter()
        ahead = PrefetchedVectors(self._embedder, BATCH)
        parts = list(portions(jobs, BATCH))
        for part, coming in zip_longest(parts, parts[1:], fillvalue=()):
            # The next ones are computed while these are looked at and applied.
            ahead.announce([*_texts(part), *_texts(coming)])
            # Before the first is looked at: what goes through together must not hang on time.
            vectors = {text: ahead.take(text) for text in _texts(part)}
            faults_of = self._faults_of(part, vectors.__getitem__)
            yield from writer.write(part, Check(faults_of, lambda _: None), answers)

    def _check_of_answers(self, jobs: Sequence[Job]) -> Check:
        # While some are computed nobody looks at what else the model answers: not for long.
        ahead = PrefetchedVectors(self._embedder, TOGETHER)
        faults_of = self._faults_of(jobs, ahead.take)

        def faults(proposal: Proposal, draft: Draft) -> list[str]:
            try:
                return faults_of(proposal, draft)
            finally:
                ahead.drop(draft.text)

        return Check(faults, lambda draft: ahead.announce([draft.text]))

    def _faults_of(
        self, jobs: Sequence[Job], vector_of: Callable[[str], NDArray[np.float32]]
    ) -> Callable[[Proposal, Draft], list[str]]:
        sources_of = {job.proposal.id: job.sources for job in jobs}

        def faults_of(proposal: Proposal, draft: Draft) -> list[str]:
            sources = sources_of[proposal.id]
            planned = draft is proposal.draft or draft is proposal.fallback
            quoting = proposal.operation == "synthesize" and planned
            if quoting:
                faults = find_unquoted(draft, sources)
            else:
                faults = [one.why for one in find_faults(draft, sources, proposal.operation)]
            faults += _left_out(proposal, draft, sources)
            if not faults:
                vector = vector_of(draft.text)
                self.vectors[proposal.id] = vector
                faults = [] if quoting else find_distance(vector, sources, proposal.operation)
            return faults

        return faults_of

    def _refuse_another_space(self, source: Source) -> None:
        """Refuse vectors that another model made, before anything is applied."""
        (vector,) = self._embedder.encode([source.text])
        if len(vector) != len(source.vector):
            raise EmbedderError(
                f"The vectors kept for '{self._embedder.name}' have {len(source.vector)} "
                f"dimensions, and the model gives {len(vector)}.",
                "Delete them from the table embeddings, or name the model that made them.",
            )


def _texts(jobs: Sequence[Job]) -> list[str]:
    """Give what the planned drafts say, each text once."""
    drafts = (job.proposal.draft for job in jobs)
    return list(dict.fromkeys(draft.text for draft in drafts if draft is not None))


def _left_out(proposal: Proposal, draft: Draft, sources: Sequence[Source]) -> list[str]:
    """Find the sentences of a memory that grows which do not stand in the draft word for word."""
    if proposal.operation != "synthesize" or proposal.survivor is None:
        return []
    owner = next(source for source in sources if source.id == proposal.survivor)
    lost = [one for one in read(owner.text).sentences if one not in draft.text]
    return [f"changes what stands already: {one}" for one in lost]


class _KeptAnswers:
    """The answers that lie in the file."""

    def __init__(self, file: MemoryFile, now: datetime) -> None:
        self._file = file
        self._now = timestamp(now)

    def find(self, key: str) -> Answer | None:
        return read_answer(self._file, key)

    def keep(self, answers: Sequence[KeptAnswer]) -> None:
        keep_answers(self._file, answers, self._now)
