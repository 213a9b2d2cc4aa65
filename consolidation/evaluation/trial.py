"""Run nights on copies of a file, and search before and after them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from functools import partial
from pathlib import Path

from slowwave.consolidation.cycle import run_cycle
from slowwave.consolidation.errors import QuestionsError
from slowwave.consolidation.facts.lookup import has_specifics
from slowwave.consolidation.options import CycleOptions
from slowwave.consolidation.progress import Progress
from slowwave.consolidation.recall.index import RecallIndex, read_recallable_of
from slowwave.consolidation.recall.search import Hit, SearchQuery, demote_outdated, ranked
from slowwave.consolidation.running.outcome import Outcome
from slowwave.consolidation.running.run_in_file import NightInputs
from slowwave.consolidation.runtime.interruption import InterruptedEarly, Interruption
from slowwave.consolidation.text.tokens import content_words
from slowwave.consolidation.thresholds import SHARED_WORDS
from slowwave.consolidation.vectors.embedder import CachingEmbedder, Embedder
from slowwave.consolidation.writing.writer import Writer
from slowwave.store.backup import copied_to_try
from slowwave.store.file import open_any_version, open_reading
from slowwave.store.lineage import read_source_texts
from slowwave.store.memories import select_tenants
from slowwave.store.memory_filter import Filter
from slowwave.store.records import timestamp

from .measures import LOOKED_AT, MANY, MeasuredHit, Measures, measure
from .questions import RecallQuestion


@dataclass(frozen=True)
class SearchResults:
    """The hits and measures of each question, in the order of the questions."""

    # The number of active memories.
    memories: int
    # The first hits.
    hits: Sequence[Sequence[Hit]]
    # By the texts of hits, and by lineage.
    by_text: Sequence[Measures]
    by_lineage: Sequence[Measures]


class Trials:
    """Nights on copies of one file, measured by the same questions. The file is never written."""

    def __init__(
        self,
        path: Path,
        questions: Sequence[RecallQuestion],
        embedder: Embedder,
        now: datetime,
        tenants: Sequence[str] = (),
        progress: Progress | None = None,
        kept_hits: int = MANY,
    ) -> None:
        """Measure the file.

        Questions without evidence in the file, or of other tenants, are omitted. kept_hits: the
        number of hits to keep per question. Raises `QuestionsError` if the file answers none of
        the questions, `StoreError` and `EmbedderError`.
        """
        with open_any_version(path) as file:
            # An unknown tenant is reported with the path of the file, not of a copy.
            select_tenants(file, tenants)
        self._kept_hits = kept_hits
        self._path = path
        self._embedder = CachingEmbedder(embedder)
        self._now = now
        self._tenants = tenants
        self._progress = progress or Progress()
        with copied_to_try(self._path) as copy:
            index = self._index(copy)
            texts = {memory.id: memory.content for memory in index.memories}
            self._tenant_of = {memory.id: memory.tenant for memory in index.memories}
            with open_reading(copy) as file:
                source_texts = read_source_texts(file, sorted(_evidence(questions) - texts.keys()))
            self._texts: Mapping[str, str] = texts | source_texts
            answerable = [
                question.model_copy(update={"evidence_ids": self._known_evidence(question)})
                for question in questions
                if question.tenant is None or not tenants or question.tenant in tenants
            ]
            self.questions = [question for question in answerable if question.evidence_ids]
            self.without_evidence = len(questions) - len(self.questions)
            # Evidence ids that are not in the file, or of other tenants.
            self.unknown = len(_evidence(questions) - _evidence(self.questions))
            if questions and not self.questions:
                raise QuestionsError(
                    f"No memory in {path} answers any of the questions: "
                    f"the evidence of all {len(questions)} is missing.",
                    "Nothing was changed. Evidence must be memory ids: see 'slowwave list FILE'.",
                )
            self.before = self._searched(index)

    def night(
        self,
        options: CycleOptions,
        writer: Writer,
        interruption: Interruption | None = None,
    ) -> tuple[SearchResults, Outcome]:
        """Run a night on a copy, and measure it.

        Raises what `run_cycle` raises, and `InterruptedEarly`.
        """
        with copied_to_try(self._path) as copy:
            night = NightInputs(
                path=copy,
                # Aging would change recall, too.
                options=replace(options, expire=False, decay=False, limit=None, purge=False),
                embedder=self._embedder,
                writer=writer,
                now=self._now,
                progress=self._progress,
                interruption=interruption or Interruption(),
            )
            outcome = run_cycle(night)
            if outcome.interrupted:
                raise InterruptedEarly
            return self._searched(self._index(copy)), outcome

    def _index(self, copy: Path) -> RecallIndex:
        recallable = read_recallable_of(copy, self._tenants, self._embedder.name)
        return RecallIndex(recallable, self._embedder, self._progress)

    def _known_evidence(self, question: RecallQuestion) -> tuple[str, ...]:
        return tuple(
            memory_id
            for memory_id in question.evidence_ids
            if memory_id in self._texts
            and question.tenant in (None, self._tenant_of.get(memory_id, question.tenant))
        )

    def _searched(self, index: RecallIndex) -> SearchResults:
        now = timestamp(self._now)
        hits: list[list[Hit]] = []
        by_text: list[Measures] = []
        by_lineage: list[Measures] = []
        for question in self.questions:
            tenants = tuple(self._tenants) if question.tenant is None else (question.tenant,)
            query = SearchQuery(question.question, LOOKED_AT, Filter(tenants))
            ranking = ranked(index, query, now)
            # An outdated value moves within what an agent reads, not to the end of 200 hits.
            ranking = [*demote_outdated(ranking[:MANY]), *ranking[MANY:]]
            by_text.append(measure_hits(question, ranking, partial(self._kept_sources, question)))
            by_lineage.append(measure_hits(question, ranking, _all_sources))
            hits.append(ranking[: self._kept_hits])
            self._progress.stage("searching", len(hits), len(self.questions))
        active = sum(
            memory.status == "active" and not memory.has_expired(now) for memory in index.memories
        )
        return SearchResults(active, hits, by_text, by_lineage)

    def _kept_sources(self, question: RecallQuestion, hit: Hit) -> set[str]:
        """Return the hit and those of its sources, among the evidence, whose facts it contains."""
        sources = set(question.evidence_ids).intersection(hit.sources)
        text = hit.memory.content
        kept = (source for source in sources if keeps_facts(self._texts[source], text))
        return {hit.memory.id, *kept}


def _evidence(questions: Sequence[RecallQuestion]) -> set[str]:
    return {memory_id for question in questions for memory_id in question.evidence_ids}


def _all_sources(hit: Hit) -> set[str]:
    return {hit.memory.id, *hit.sources}


def measure_hits(
    question: RecallQuestion, hits: Iterable[Hit], contained: Callable[[Hit], set[str]]
) -> Measures:
    """Measure the hits of a question. contained: returns the ids of the memories that a hit has."""
    evidence = set(question.evidence_ids)
    measured = [
        MeasuredHit(
            hit.memory.content, frozenset(evidence & contained(hit)), is_stale(hit, question)
        )
        for hit in hits
    ]
    return measure(measured, evidence)


def is_stale(hit: Hit, question: RecallQuestion) -> bool:
    """Whether a hit presents an outdated value as current."""
    covered = _all_sources(hit)
    is_outdated = not covered.isdisjoint(question.stale_ids)
    return is_outdated and hit.rival is None and covered.isdisjoint(question.evidence_ids)


def keeps_facts(source: str, text: str) -> bool:
    """Whether a text contains the facts of a source: its values, names and most other words."""
    if source == text:
        return True
    words = content_words(source)
    is_most = len(words & content_words(text)) >= SHARED_WORDS * len(words)
    return is_most and has_specifics(text, source)
