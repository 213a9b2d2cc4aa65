"""Measure what a set of questions finds before a night, after it, and with baselines."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial

from benchmarks.quality.files import NOW, memory_file
from benchmarks.quality.known_answers import Gold, are_two_values, holds
from slowwave.consolidation.evaluation.measures import (
    LOOKED_AT,
    MANY,
    Difference,
    Measures,
    difference,
    mean,
)
from slowwave.consolidation.evaluation.questions import RecallQuestion
from slowwave.consolidation.evaluation.trial import SearchResults, Trials, measure_hits
from slowwave.consolidation.options import CycleOptions
from slowwave.consolidation.recall.index import RecallIndex, read_recallable_of
from slowwave.consolidation.recall.search import Hit, SearchQuery, relevant, search
from slowwave.consolidation.thresholds import MIN_RELEVANCE
from slowwave.consolidation.vectors.embedder import Embedder
from slowwave.consolidation.writing.writer import BuiltInWriter, Writer
from slowwave.store.records import timestamp

from .baselines import Baselines
from .sets import UNRELATED, QuestionSet

AFTER = "after"
# Before the night, without hits below `min_relevance`.
RELEVANT = "before, min_relevance"
BEFORE, BY_TEXT, BY_LINEAGE = "before", f"{AFTER}, by text", f"{AFTER}, by lineage"
# Only where the keys of each answer are known.
BY_KEYS = f"{AFTER}, by known keys"
VECTORS, WORDS, RANKS = "vectors only", "BM25 only", "ranks fused"
# Comparisons: after a night with before it, and our search with baselines before it.
PAIRS = {
    "by text - before": (BY_TEXT, BEFORE),
    "by keys - before": (BY_KEYS, BEFORE),
    "min_relevance - before": (RELEVANT, BEFORE),
    "before - fused": (BEFORE, RANKS),
    "before - vectors": (BEFORE, VECTORS),
}
STALE = "stale_at_10"


@dataclass(frozen=True)
class Hint:
    """A hint that one of the first hits is older than another memory, or contradicts it."""

    # Whether a run or a person decided that the hit is older.
    is_decided: bool
    # Whether they give one subject two values; None if that is not known.
    is_right: bool | None


@dataclass(frozen=True)
class Result:
    """What the questions found with each search: one `Measures` per question, in order."""

    name: str
    # Without those that no memory answers.
    questions: Sequence[RecallQuestion]
    without_evidence: int
    memories_before: int
    memories_after: int
    searches: Mapping[str, Sequence[Measures]]
    # Before and after the night.
    hints: Mapping[str, Sequence[Hint]]
    # The number of windows of the night without an answer.
    unanswered: int
    seconds: float
    # The share of questions about the world that find nothing.
    silent: float

    def means(self, search: str) -> dict[str, float | None]:
        """Return the mean of each measure; stale@10 only over questions with an old value."""
        return vars(mean(self.searches[search])) | {STALE: self._stale(search)}

    def pairs(self) -> list[str]:
        """Return the names of the comparisons that can be made."""
        return [pair for pair, both in PAIRS.items() if set(both) <= self.searches.keys()]

    def difference(self, pair: str, name: str) -> Difference:
        """Return how much higher a measure is with the first search of a pair."""
        first, second = (self.searches[search] for search in PAIRS[pair])
        indexes = self._about_old() if name == STALE else range(len(self.questions))
        return difference(
            [getattr(second[index], name) for index in indexes],
            [getattr(first[index], name) for index in indexes],
        )

    def by_type(self, name: str) -> dict[str, dict[str, float]]:
        """Return, per type of question, their number and the mean of a measure per search."""
        kinds = [question.type or "" for question in self.questions]
        return {
            kind: {"questions": count}
            | {
                search: sum(
                    getattr(measures, name)
                    for measures, type_ in zip(self.searches[search], kinds, strict=True)
                    if type_ == kind
                )
                / count
                for search in self.searches
            }
            for kind, count in sorted(Counter(kinds).items())
        }

    def _about_old(self) -> list[int]:
        return [index for index, question in enumerate(self.questions) if question.stale_ids]

    def _stale(self, search: str) -> float | None:
        indexes = self._about_old()
        if not indexes:
            return None
        return sum(self.searches[search][index].stale_at_10 for index in indexes) / len(indexes)


def measure_recall(
    question_set: QuestionSet, embedder: Embedder, writer: Writer | None = None
) -> Result:
    """Run a night on a copy, as `slowwave eval` does, and the baselines on the original.

    writer: None for a night without a model.
    """
    start = time.monotonic()
    with memory_file(question_set.lines) as path:
        trials = Trials(path, question_set.questions, embedder, NOW, kept_hits=LOOKED_AT)
        after, outcome = trials.night(CycleOptions(), writer or BuiltInWriter())
        index = RecallIndex(read_recallable_of(path, (), embedder.name), embedder)
        plain = Baselines(index)
        searches = {VECTORS: plain.by_vectors, WORDS: plain.by_words, RANKS: plain.by_ranks}
        return Result(
            name=question_set.name,
            questions=trials.questions,
            without_evidence=trials.without_evidence,
            memories_before=trials.before.memories,
            memories_after=after.memories,
            searches={
                BEFORE: trials.before.by_text,
                RELEVANT: _relevant(trials),
                BY_TEXT: after.by_text,
                **_by_keys(question_set, trials, after),
                BY_LINEAGE: after.by_lineage,
                **{
                    name: plain.measure(trials.questions, search)
                    for name, search in searches.items()
                },
            },
            hints={
                BEFORE: list(_hints(question_set.gold, trials.before)),
                AFTER: list(_hints(question_set.gold, after)),
            },
            unanswered=sum(window.state != "applied" for window in outcome.asked),
            seconds=time.monotonic() - start,
            silent=_silent(index),
        )


def combine(name: str, results: Sequence[Result]) -> Result:
    """Combine results of different files, at least one, that have the same searches."""
    return Result(
        name=name,
        questions=[question for result in results for question in result.questions],
        without_evidence=sum(result.without_evidence for result in results),
        memories_before=sum(result.memories_before for result in results),
        memories_after=sum(result.memories_after for result in results),
        searches={
            search: [measures for result in results for measures in result.searches[search]]
            for search in results[0].searches
        },
        hints={
            time: [hint for result in results for hint in result.hints[time]]
            for time in results[0].hints
        },
        unanswered=sum(result.unanswered for result in results),
        seconds=sum(result.seconds for result in results),
        silent=sum(result.silent for result in results) / len(results),
    )


def _hints(gold: Gold | None, results: SearchResults) -> Iterator[Hint]:
    """Yield the hints about the first hits of each question."""
    sources = {hit.memory.id: hit.sources for hits in results.hits for hit in hits}
    for hits in results.hits:
        for hit in hits[:MANY]:
            if hit.rival is not None:
                older = (hit.memory.id, *hit.sources)
                later = (hit.rival.id, *sources.get(hit.rival.id, ()))
                is_right = None if gold is None else are_two_values(gold, older, later)
                is_decided = hit.later is not None
                yield Hint(is_decided, is_right)


def _relevant(trials: Trials) -> list[Measures]:
    """Measure the hits before the night that reach `min_relevance`."""
    return [
        measure_hits(question, relevant(hits, MIN_RELEVANCE), lambda hit: {hit.memory.id})
        for question, hits in zip(trials.questions, trials.before.hits, strict=True)
    ]


def _silent(index: RecallIndex) -> float:
    questions = UNRELATED.read_text("utf-8").splitlines()
    all_hits = [search(index, SearchQuery(question), timestamp(NOW)) for question in questions]
    return sum(not hits for hits in all_hits) / len(questions)


def _by_keys(
    question_set: QuestionSet, trials: Trials, after: SearchResults
) -> dict[str, list[Measures]]:
    """Measure the hits after the night by the keys of the answers, if they are known.

    A derived memory counts as all of its sources if it has the keys of the answer.
    """
    if not question_set.keys:
        return {}

    def contained(keys: Sequence[str], hit: Hit) -> set[str]:
        return {hit.memory.id, *(hit.sources if holds(hit.memory.content, keys) else ())}

    return {
        BY_KEYS: [
            measure_hits(question, hits, partial(contained, question_set.keys[question.id]))
            for question, hits in zip(trials.questions, after.hits, strict=True)
        ]
    }
